"""Pages on disk: whole or not there, and never in the place of something else."""

from __future__ import annotations

from pathlib import Path

from assistlearn.errors import SettingsError
from assistlearn.pages.rendering import MARK
from assistlearn.storage import write_bytes

_HEAD = 2_000
"""The mark of a page stands within so many of its first bytes."""


def keep_page(path: Path, html: str, *, force: bool = False) -> int:
    """Write a page and return its size in bytes; an older page is replaced, anything else only by force.

    Parameters
    ----------
    path : path
        Where.
    html : str
        The page.
    force : bool
        Whether a file that is no page of ours is replaced, too.
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
    """Return whether a file is a page of ours; one that is not there is none."""
    if not path.is_file():
        return False
    with path.open("rb") as file:
        return f'content="{MARK}'.encode() in file.read(_HEAD)
