"""Removes files and folders, and never follows a link."""

from __future__ import annotations

import os
import shutil
from pathlib import Path


def remove_tree(path: Path) -> str | None:
    """Remove a file, a folder with all that is in it, or a link; return what is left behind, in words, or None.

    What a link points to is never touched: it may be anywhere, and others may need it.
    """
    try:
        if path.is_symlink():
            target = os.readlink(path)
            path.unlink()
            return f"{path} was a link. It is removed; what it points to, {target}, is not: remove that by hand."
        if path.is_dir():
            shutil.rmtree(path)
        else:
            path.unlink(missing_ok=True)
    except OSError as error:
        return f"{path} cannot be removed: {error.strerror or error}. Remove it by hand."
    return None
