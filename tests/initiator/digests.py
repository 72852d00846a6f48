"""Files that are changed together with their digests: what a test, or somebody at the machine, can do."""

from __future__ import annotations

import json
from pathlib import Path

from assistlearn.storage import FileDigests


def rewrite(folder: Path, name: str, content: bytes) -> None:
    """Change a file of a run, and the digest that is kept beside it."""
    FileDigests(folder).write({folder / name: content})


def rewrite_settings(folder: Path, settings: object) -> None:
    """Change the settings of a run, and their digest."""
    rewrite(folder, "settings.json", json.dumps(settings).encode())
