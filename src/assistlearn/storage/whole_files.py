"""Files that are either whole or not there: written aside, synced, then renamed."""

from __future__ import annotations

import io
import json
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from assistlearn.errors import DiskError, RunError


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
    fresh = path.with_name(f".{path.name}.new")
    with writing(path):
        path.parent.mkdir(parents=True, exist_ok=True)
        try:
            with fresh.open("wb") as file:
                file.write(content)
                file.flush()
                os.fsync(file.fileno())
            os.replace(fresh, path)
        except OSError:
            fresh.unlink(missing_ok=True)  # half of it would only take room
            raise


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
