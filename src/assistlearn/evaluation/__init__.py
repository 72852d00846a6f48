"""Judge a result: metrics, differences with their intervals, calibration, and each helper's share of the gain.

The functions turn arrays into figures. They use no runs and no messages, and know agents only by name. They return
frozen dataclasses of plain numbers, which :func:`dataclasses.asdict` prepares for JSON.
"""
