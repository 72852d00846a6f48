"""Waiting for the consent of helpers' owners: ask again, now and then, until they have answered or time is up."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TYPE_CHECKING

from assistlearn.cli.output import complaints, plain, say, say_json
from assistlearn.cli.training_run import train_run
from assistlearn.errors import ConsentAwaitedError

if TYPE_CHECKING:
    from assistlearn.runs.folder import RunFolder

LONGEST_WAIT = 60 * 24 * 31
"""The most minutes that a user may choose to wait."""

TIMES = 30
"""How often owners are asked at most, even if the wait is long. Each request adds entries to two ledgers."""

SHORTEST_PAUSE = 10.0
"""Seconds between two requests, at least."""


def train_awaiting(make: Callable[[], RunFolder], wait: float | None, timeout: float, quiet: bool) -> RunFolder:
    """Train a run and return its folder. If owners must consent first, ask them again until ``wait`` minutes are over.

    Parameters
    ----------
    make : callable
        Returns the run's folder. It is called before each attempt, and makes the folder again if that was removed.
    wait : float or None
        Minutes in which to ask again. None: not at all.
    timeout : float
        Seconds to wait for an answer of an agent on this machine.
    quiet : bool
        Show nothing.
    """
    end = time.monotonic() + 60 * (wait or 0)
    while True:
        folder = make()
        try:
            train_run(folder, quiet, timeout, asks_first=wait is not None and folder.samples() is None)
            return folder
        except ConsentAwaitedError as error:
            left = end - time.monotonic()
            if wait is None:
                error.add_note("Or let it ask again by itself: --wait MINUTES. To ask no longer: --withdraw.")
            if wait is None or left <= 0:
                raise
            pause = min(max(60 * wait / TIMES, SHORTEST_PAUSE), left)
            if not quiet:
                complaints().print(f"{plain(error)} Asks again in {pause:.0f} s.")
        time.sleep(pause)


def withdrawn(folder: RunFolder, as_json: bool) -> None:
    """Withdraw the request for consent at all helpers, print what they answer, and remove the run's folder."""
    from assistlearn.reach.opening import opened_run
    from assistlearn.runs.asking_consent import withdraw

    try:
        with opened_run(folder, training=True) as (run, _):
            answers = withdraw(run)
    finally:
        folder.remove()
    states = {name: "allowed" if answer is None else answer.state for name, answer in answers.items()}
    if as_json:
        say_json({"withdrawn": [name for name, state in states.items() if state == "withdrawn"]})
        return
    for name, state in states.items():
        says = "is asked no longer" if state == "withdrawn" else "has nothing that could be withdrawn"
        say(f"{plain(name)} {says}")
