"""From a run's folder to a predictor whose ways to the helpers are open."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from assistlearn.protocol import messages as m
from assistlearn.reach.opening import with_own_table
from assistlearn.reach.standing_ways import StandingWays
from assistlearn.runs.alignment import opening_of
from assistlearn.runs.finished_folder import FinishedFolder
from assistlearn.runs.folder_lock import locked
from assistlearn.web.serving.predictor import Predictor
from assistlearn.web.serving.service_log import ServiceLog

ANSWER = 60.0
"""Seconds that an agent on this machine has for an answer, before its process is started anew."""


@contextmanager
def opened_predictor(path: Path, timeout: float = ANSWER) -> Iterator[Predictor]:
    """Yield a predictor for a run; its ways begin to open. Afterwards it answers what waits, and closes them.

    Parameters
    ----------
    path : path
        The run's folder.
    timeout : float
        Seconds that an agent on this machine has for an answer.
    """
    folder = FinishedFolder(path)
    log = ServiceLog(folder.events)
    ways = StandingWays(folder.settings(), log, timeout)
    with locked(path, alone=False):
        run, _ = with_own_table(folder, ways, training=False, log=log)
        predictor = Predictor(run, ways)
        ways.start(lambda helper: run.agents[helper].ask(opening_of(run), m.Opened))
        try:
            predictor.start()
            yield predictor
        finally:
            predictor.stop()
            for name in ways.close():
                logging.getLogger("assistlearn.web").warning("The way to %r did not close in time.", name)
