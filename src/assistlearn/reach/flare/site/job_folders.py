"""Removes the folders that FLARE leaves of every job in a kit, when the job is over."""

from __future__ import annotations

import json
import os
import shutil
import time
from collections.abc import Iterator, Set
from contextlib import suppress
from pathlib import Path

import psutil

from assistlearn.reach.flare.guard.cell_names import is_job

GRACE = 20.0
"""Seconds for which the folder of a job that has ended stays: FLARE may still look into it."""

UNKNOWN = 600.0
"""Seconds without a change after which the folder of a job that was never seen to run is removed: it may start yet."""

_PLACES = (".", "jobs", "snapshots")
"""Where in a kit FLARE has a folder for each job: at a site, and at the relay."""

_REMOVED = ".removed-"

_OVER = ("FINISHED:", "FAILED_TO_RUN", "ABANDONED")
"""How FLARE's words for a job that has ended begin."""


def jobs_below(process: int) -> set[str]:
    """Return the jobs that run in the processes below this one: its children, their children and so on."""
    found: set[str] = set()
    with suppress(psutil.NoSuchProcess):
        for below in psutil.Process(process).children(recursive=True):
            with suppress(psutil.Error):
                found |= {word for word in below.cmdline() if is_job(word)}
    return found


def sweep(kit: Path, running: Set[str], ended: Set[str]) -> list[str]:
    """Remove the folders of jobs that are over, and return their names.

    Parameters
    ----------
    kit : path
        The kit's folder.
    running : set of str
        Jobs that are not over.
    ended : set of str
        Jobs that are over.
    """
    over = [folder for folder in _folders(kit) if folder.name not in running and _idle(folder) >= _wait(folder, ended)]
    return _remove(kit, over)


def sweep_all(kit: Path) -> list[str]:
    """Remove the folders of all jobs, and return their names; only while nothing runs in this kit."""
    return _remove(kit, list(_folders(kit)))


def _folders(kit: Path) -> Iterator[Path]:
    for place in _PLACES:
        with suppress(FileNotFoundError), os.scandir(kit / place) as entries:
            for entry in entries:
                if is_job(entry.name) and entry.is_dir(follow_symlinks=False):
                    yield kit / place / entry.name


def _idle(folder: Path) -> float:
    """Return for how many seconds nothing has been written to a folder."""
    newest = 0.0
    for place, _, files in os.walk(folder):  # FLARE may remove files meanwhile
        for path in (place, *(os.path.join(place, file) for file in files)):
            with suppress(OSError):
                newest = max(newest, os.lstat(path).st_mtime)
    return time.time() - newest


def _wait(folder: Path, ended: Set[str]) -> float:
    """Return for how many seconds nothing must have been written to a folder before it is removed.

    At the relay FLARE has work to do after the end of a job, and fails without the job's record. When it is done, it
    writes to the record, and removes the job's other folder itself.
    """
    if folder.parent.name == "jobs":
        finished = _recorded_as_over(folder) and not (folder.parents[1] / folder.name).exists()
        return GRACE if finished else float("inf")
    at_a_site = not (folder.parent / "jobs").exists()
    return GRACE if at_a_site and folder.name in ended else UNKNOWN


def _recorded_as_over(folder: Path) -> bool:
    """Return whether the relay's record of a job says that it has ended."""
    try:
        record = json.loads((folder / "meta").read_bytes())
        return str(record["status"]).startswith(_OVER)
    except (OSError, ValueError, LookupError, TypeError):  # there is none, or it is being written
        return False


def _remove(kit: Path, folders: list[Path]) -> list[str]:
    """Remove folders. Each is renamed first, so that FLARE finds all of it or nothing."""
    for folder in folders:
        with suppress(OSError):
            os.replace(folder, kit / f"{_REMOVED}{folder.parent.name}-{folder.name}")
    for aside in kit.glob(f"{_REMOVED}*"):
        shutil.rmtree(aside, ignore_errors=True)
    return [folder.name for folder in folders]
