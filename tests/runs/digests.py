"""Files that are changed together with their digests: what a test, or somebody at the machine, can do."""

from __future__ import annotations

import json
from pathlib import Path

from assistlearn.runs.folder import RunFolder
from assistlearn.storage.file_digests import FileDigests


def rewrite(folder: Path, name: str, content: bytes) -> None:
    """Change a file of a run, and the digest that is kept beside it."""
    FileDigests(folder).write({folder / name: content})


def rewrite_settings(folder: Path, settings: object) -> None:
    """Change the settings of a run, and their digest."""
    rewrite(folder, "settings.json", json.dumps(settings).encode())


def completed(home: Path) -> Path:
    """Add the digests that checkouts before this one did not keep, to all runs below a folder; return the folder."""
    folders = {path.parent for name in ("settings.json", "opened.json") for path in home.rglob(name)}
    for folder in folders:
        files = FileDigests(folder)
        new = [path for path in folder.rglob("*") if path.is_file() and not files.noted(path)]
        files.write({path: path.read_bytes() for path in new if path.name not in ("digests.txt", "lock")})
        run = RunFolder(folder)
        result = run.result() if run.exists else None
        if result is not None:
            run.write_result(result)
    return home
