"""Replications on disk: one small JSON file each, written whole or not at all."""

from __future__ import annotations

import os
from pathlib import Path

import msgspec

from assistlearn.experiments.figures import FigureSettings
from assistlearn.experiments.replication import Replication


class Shelf:
    """The finished replications of one figure.

    Parameters
    ----------
    folder : Path
        The figure's folder. Made when the first replication is kept.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder / "replications"

    def keep(self, replication: Replication) -> None:
        """Write a replication to its file."""
        self.folder.mkdir(parents=True, exist_ok=True)
        path = self._path(replication.number)
        beside = path.with_name(f".{path.name}.{os.getpid()}")
        beside.write_bytes(msgspec.json.encode(replication) + b"\n")
        os.replace(beside, path)

    def find(self, settings: FigureSettings, number: int) -> Replication | None:
        """Return a replication that was made with these settings; None where there is none."""
        try:
            found = msgspec.json.decode(self._path(number).read_bytes(), type=Replication)
        except (FileNotFoundError, msgspec.DecodeError):  # a file that cannot be read is replaced
            return None
        same = found.settings == settings.digest() and found.number == number
        return found if same else None

    def _path(self, number: int) -> Path:
        return self.folder / f"{number:04d}.json"
