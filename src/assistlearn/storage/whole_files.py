"""Files that are either whole or not there: written aside, synced, then renamed.

Whatever is written here is for its owner alone: files have the mode 0600 and new folders 0700, whatever the umask.
Labels, models, rewards and ledgers are among it. Names of files that are written aside cannot be guessed, and links
are not followed: another user of the machine cannot lead what is written somewhere else.
"""

from __future__ import annotations

import errno
import io
import json
import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
from numpy.typing import NDArray

from assistlearn.errors import DiskError, RunError

NO_LINK = getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_CLOEXEC", 0) | getattr(os, "O_BINARY", 0)
"""How files are opened: not through a link, not for programs that are started, and byte by byte on Windows."""


@contextmanager
def writing(path: Path) -> Iterator[None]:
    """Turn an ``OSError`` in the block into a ``DiskError`` that names the file and what to do."""
    try:
        yield
    except OSError as error:
        why = error.strerror or str(error)
        raise DiskError(
            f"{path} cannot be written: {why}. Make room on the disk of {path.parent} or correct its access rights; "
            "then go on: what was written before is whole."
        ) from error


def write_bytes(path: Path, content: bytes) -> None:
    """Write a file atomically: a crash at any instant leaves the old content or the new, never half of it."""
    with writing(path):
        private_folder(path.parent)
        replace(path, content)


def replace(path: Path, content: bytes, *, lasting: bool = True) -> None:
    """Write a file atomically into a folder that is there; an error of the system is raised as it is.

    Parameters
    ----------
    path : path
        The file.
    content : bytes
        What it holds from now on.
    lasting : bool, default=True
        Whether to wait until the content would outlast a power cut.
    """
    number, fresh = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.", suffix=".new")  # 0600, not a link
    try:
        with os.fdopen(number, "wb") as file:
            file.write(content)
            if lasting:
                file.flush()
                os.fsync(file.fileno())
        os.replace(fresh, path)
    except BaseException:
        Path(fresh).unlink(missing_ok=True)  # half of it would only take room
        raise


def private_folder(path: Path) -> None:
    """Make a folder, and those above it that are missing; nobody but their owner can enter them.

    A folder that is there already keeps its rights.
    """
    if not path.is_dir():
        private_folder(path.parent)
        path.mkdir(mode=0o700, exist_ok=True)


def appending(path: Path) -> BinaryIO:
    """Open a file to read it and append to it; where it is not there yet, make one that only its owner can read."""
    try:
        number = os.open(path, os.O_RDWR | os.O_APPEND | os.O_CREAT | NO_LINK, 0o600)
    except OSError as error:
        if error.errno == errno.ELOOP:
            error.strerror = "it is a link, which is not followed; put the file itself in its place"
        raise
    return os.fdopen(number, "a+b")


def write_json(path: Path, content: Any) -> None:
    """Write JSON atomically."""
    write_bytes(path, json_bytes(content))


def json_bytes(content: Any) -> bytes:
    """Return a value as JSON, for people to read, too."""
    return (json.dumps(content, indent=2, ensure_ascii=False) + "\n").encode()


def read_json(path: Path) -> dict[str, Any]:
    """Return the object that a JSON file holds."""
    try:
        return json_of(path.read_bytes(), path)
    except FileNotFoundError:
        raise RunError(f"{path} is missing.") from None
    except OSError as error:
        raise RunError(f"{path} cannot be read: {error.strerror}. Restore it from a backup.") from error


def json_of(content: bytes, path: Path) -> dict[str, Any]:
    """Return the object in the content of a JSON file; ``path`` is for error messages."""
    try:
        said = json.loads(content)
    except ValueError as error:
        raise RunError(f"{path} is not readable as JSON ({error}). It was changed or damaged.") from None
    if not isinstance(said, dict):
        raise RunError(f"{path} holds no JSON object, but {type(said).__name__}. It was changed or damaged.")
    return said


def array_bytes(values: NDArray[Any]) -> bytes:
    """Return an array in numpy's plain format."""
    buffer = io.BytesIO()
    np.save(buffer, values, allow_pickle=False)
    return buffer.getvalue()


def array_of(content: bytes, path: Path) -> NDArray[Any]:
    """Return the array that a file of this content holds; nothing in it is executed."""
    try:
        values: NDArray[Any] = np.load(io.BytesIO(content), allow_pickle=False)
    except (ValueError, EOFError) as error:
        raise RunError(f"{path} is not a numpy array ({error}). It was changed or damaged.") from None
    return values
