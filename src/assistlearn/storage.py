"""Files that are either whole or not there: written aside, synced, then renamed."""

from __future__ import annotations

import io
import json
import os
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from assistlearn.errors import RunError


def write_bytes(path: Path, content: bytes) -> None:
    """Write a file atomically: a crash at any instant leaves the old content or the new, never half of it."""
    path.parent.mkdir(parents=True, exist_ok=True)
    fresh = path.with_name(f".{path.name}.new")
    with fresh.open("wb") as file:
        file.write(content)
        file.flush()
        os.fsync(file.fileno())
    os.replace(fresh, path)


def write_json(path: Path, content: Any) -> None:
    """Write JSON atomically."""
    write_bytes(path, (json.dumps(content, indent=2, ensure_ascii=False) + "\n").encode())


def read_json(path: Path) -> Any:
    """Return what a JSON file says."""
    try:
        return json.loads(path.read_bytes())
    except FileNotFoundError:
        raise RunError(f"{path} is missing.") from None
    except ValueError as error:
        raise RunError(f"{path} is not readable as JSON ({error}). It was changed or damaged.") from None


def write_array(path: Path, values: NDArray[Any]) -> None:
    """Write an array atomically, in numpy's plain format."""
    buffer = io.BytesIO()
    np.save(buffer, values, allow_pickle=False)
    write_bytes(path, buffer.getvalue())


def read_array(path: Path) -> NDArray[Any]:
    """Return an array; nothing in the file is executed."""
    try:
        values: NDArray[Any] = np.load(path, allow_pickle=False)
    except FileNotFoundError:
        raise RunError(f"{path} is missing.") from None
    except ValueError as error:
        raise RunError(f"{path} is not a numpy array ({error}). It was changed or damaged.") from None
    return values
