"""What judges a result: metrics, differences with their intervals, calibration, and shares of who helped.

Arrays in, figures out: it knows no run, no message and no agent but by name. What comes back are frozen dataclasses of
plain numbers, which become JSON by :func:`dataclasses.asdict`.
"""
