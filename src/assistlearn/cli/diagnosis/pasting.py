"""Remove the home folder and the user's name from a text, so that others may read it."""

from __future__ import annotations

import getpass
import re
from collections.abc import Iterable
from pathlib import Path


def fit_to_paste(text: str, home: Path | None = None, user: str | None = None) -> str:
    r"""Return a text in which the home folder is ``~`` and a folder with the user's name is ``USER``.

    >>> fit_to_paste("/home/jane/lab.toml is not there", Path("/home/jane"), "jane")
    '~/lab.toml is not there'
    >>> fit_to_paste("/data/jane/lab.toml", Path("/home/jane"), "jane")
    '/data/USER/lab.toml'
    >>> fit_to_paste("D:\\jane\\lab.toml", Path("/home/jane"), "jane")
    'D:\\USER\\lab.toml'
    """
    for folder in _homes(home):
        text = re.sub(rf"{re.escape(folder)}(?![\w-])", "~", text)
    user = _user() if user is None else user
    return re.sub(rf"(?<=[/\\]){re.escape(user)}(?=[/\\\s]|$)", "USER", text) if user else text


def _homes(home: Path | None) -> Iterable[str]:
    """Return how the home folder may be written, the longest first."""
    try:
        folder = Path.home() if home is None else home
    except RuntimeError:  # there is none
        return []
    written = {str(folder), str(folder.resolve()), folder.as_posix()}
    return sorted((each for each in written if len(each) > 1), key=len, reverse=True)


def _user() -> str:
    try:
        return getpass.getuser()
    except (OSError, KeyError, ImportError):
        return ""
