"""Servers on this machine: a run in a browser while it goes on, and predictions for other programs.

Everything here needs the extra ``web``; :func:`~.required.require_web` says so where it is missing.
"""

from assistlearn.web.required import require_web

__all__ = ["require_web"]
