"""A disk that can really be full: a file system in memory, of some hundred kilobytes."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest


class SmallDisk:
    """A mounted file system.

    Attributes
    ----------
    path : path
        Where it is mounted.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self._ballast = path / "ballast"

    def fill(self) -> None:
        """Leave no room on it."""
        with self._ballast.open("ab", buffering=0) as file:
            size = 2**16
            while size:
                try:
                    file.write(bytes(size))
                except OSError:
                    size //= 2

    def make_room(self) -> None:
        """Remove what it was filled with."""
        self._ballast.unlink()


@contextmanager
def small_disk(path: Path, size: str) -> Iterator[SmallDisk]:
    """Mount a file system of this size, and take it away again."""
    path.mkdir()
    mounting = ["mount", "-t", "tmpfs", "-o", f"size={size}", "tmpfs", str(path)]
    if subprocess.run(mounting, capture_output=True).returncode:
        pytest.skip("needs the right to mount a file system")
    try:
        yield SmallDisk(path)
    finally:
        subprocess.run(["umount", "--lazy", str(path)], check=True)
