"""One start of a run, in processes that are forked from one that has imported everything and done nothing."""

from __future__ import annotations

import json
import multiprocessing
import os
import signal
import sys
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from assistlearn.errors import AssistLearnError
from bench.kill.processes import NOBODY, PATIENCE, Strike

FORKS = multiprocessing.get_context("forkserver")
"""Where processes are forked from one that has imported everything."""

FORKS.set_forkserver_preload(
    [
        "bench.kill",
        "sklearn.tree",
        "sklearn.naive_bayes",
        "sklearn.ensemble",
        "skops.io",
        "assistlearn.alignment.psi",
    ]
)


@dataclass
class Attempt:
    """One start of the initiator's process, which ends by itself or is killed from outside after a while."""

    work: Callable[[Path, Strike], None]
    case: Path
    strike: Strike = NOBODY
    victim: str = ""
    delay: float = 0.0

    def run(self) -> bool:
        """Return whether the work was done."""
        process = FORKS.Process(target=_quietly, args=(self.work, self.case, self.strike))
        process.start()
        if self.victim:
            process.join(self.delay)
            self._strike(process.pid or 0)
        process.join(PATIENCE)
        if process.is_alive():
            process.kill()
            raise TimeoutError(f"{self.work.__name__} in {self.case} has not ended for {PATIENCE} seconds")
        return process.exitcode == 0

    def _strike(self, initiator: int) -> None:
        pids = self.case / "pids.json"
        helpers = json.loads(pids.read_text()) if pids.exists() else {}
        victims = {"clinic": [initiator], "all": [initiator, *helpers.values()]}.get(self.victim)
        for pid in victims or [helpers.get(self.victim, 0)]:
            if pid and (pid == initiator or parent(pid) == initiator):  # none that has ended and whose number is reused
                with suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGKILL)


def parent(pid: int) -> int:
    """Return the process that has started this one; 0 where it has ended."""
    try:
        return int(Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[1])
    except (FileNotFoundError, ProcessLookupError):
        return 0


def _quietly(work: Callable[[Path, Strike], None], case: Path, strike: Strike) -> None:
    """Do one of the two kinds of work; an error of ours is what a user would see, and start again after."""
    try:
        work(case, strike)
    except AssistLearnError as error:
        (case.parent / f"{case.name}-errors.txt").open("a").write(f"{work.__name__}: {error}\n")
        sys.exit(3)


def get_ready() -> None:
    """Start the process that all others are forked from; it imports this package, so it must know where that is."""
    before = os.environ.get("PYTHONPATH")
    os.environ["PYTHONPATH"] = os.pathsep.join([str(Path(__file__).parents[2]), *([before] if before else [])])
    try:
        process = FORKS.Process(target=int)
        process.start()
        process.join()
    finally:
        os.environ.pop("PYTHONPATH")
        if before:
            os.environ["PYTHONPATH"] = before
