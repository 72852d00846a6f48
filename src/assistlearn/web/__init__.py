"""What this package serves over HTTP: the live page of a run, and what every server here has in common.

Everything in it needs the extra ``web``; :func:`require_web` says so where it is missing.
"""

from assistlearn.web.required import require_web

__all__ = ["require_web"]
