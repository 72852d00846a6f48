"""Servers on this machine: a run in a browser while it goes on, and predictions for other programs.

Everything here needs the extra ``web``; :func:`require_web` says so where it is missing.
"""

from importlib import util

from assistlearn.errors import MissingExtraError
from assistlearn.extras import install_line

__all__ = ["require_web"]


def require_web(what: str) -> None:
    """Raise ``MissingExtraError``, which begins with ``what``, where starlette or uvicorn is not installed."""
    missing = [name for name in ("starlette", "uvicorn") if util.find_spec(name) is None]
    if missing:
        raise MissingExtraError(f"{what} needs {' and '.join(missing)}, not installed here: {install_line('web')}")
