"""Starlette and uvicorn: whether they are installed."""

from __future__ import annotations

from importlib import util

from assistlearn.errors import MissingExtraError
from assistlearn.extras import install_line


def require_web(what: str) -> None:
    """Raise ``MissingExtraError`` where the packages of the extra ``web`` are not installed.

    Parameters
    ----------
    what : str
        What needs them. The error message begins with this.
    """
    missing = [name for name in ("starlette", "uvicorn") if util.find_spec(name) is None]
    if missing:
        raise MissingExtraError(f"{what} needs {' and '.join(missing)}, not installed here: {install_line('web')}")
