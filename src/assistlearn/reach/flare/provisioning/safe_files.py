"""Reads files of others up to a limit."""

from __future__ import annotations

from pathlib import Path

from assistlearn.errors import NetworkError

LARGEST = 1 << 20
"""Bytes of a request or a membership at the most; an honest one has about ten thousand."""


def read_small(path: Path, largest: int = LARGEST) -> bytes:
    """Return a file's content; refuse one that is too large before it is in memory.

    Raises
    ------
    NetworkError
        The file does not exist, cannot be read, or is too large.
    """
    try:
        with path.open("rb") as file:
            content = file.read(largest + 1)
    except OSError as error:
        raise NetworkError(f"{path} cannot be read: {error.strerror}. Check the path.") from None
    if len(content) > largest:
        raise NetworkError(f"{path} is too large: it has more than {largest:,} bytes, and was not read.")
    return content
