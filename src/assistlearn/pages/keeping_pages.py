"""Write pages to disk, whole or not at all. A file that is not a page is not replaced unless the caller says so."""

from __future__ import annotations

from pathlib import Path

from assistlearn.errors import SettingsError
from assistlearn.pages.rendering import MARK
from assistlearn.storage import write_bytes

_HEAD = 2_000
"""How many of a page's first bytes are searched for its mark."""


def keep_page(path: Path, html: str, *, force: bool = False) -> int:
    """Write a page and return its size in bytes. An older page is replaced, any other file only with ``force``.

    Parameters
    ----------
    path : path
        The file to write.
    html : str
        The page.
    force : bool
        Whether a file that is not a page of assistlearn is replaced, too.
    """
    if path.is_dir():
        raise SettingsError(f"{path} is a folder. Name a file for the page: --out {path / 'report.html'}")
    if path.exists() and not force and not is_page(path):
        raise SettingsError(
            f"{path} is there already, and is no page of assistlearn. Name another file (--out), or replace it with "
            "--force."
        )
    content = html.encode()
    write_bytes(path, content)
    return len(content)


def is_page(path: Path) -> bool:
    """Return whether a file exists and is a page of assistlearn."""
    if not path.is_file():
        return False
    with path.open("rb") as file:
        return f'content="{MARK}'.encode() in file.read(_HEAD)
