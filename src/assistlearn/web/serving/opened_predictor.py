"""Open a predictor from a run's folder, with ways to the helpers that stay open."""

from __future__ import annotations

import logging
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path

from assistlearn.protocol import messages as m
from assistlearn.reach.opening import with_own_table
from assistlearn.reach.standing_ways import StandingWays
from assistlearn.runs.asking_consent import opening_of
from assistlearn.runs.finished_folder import FinishedFolder
from assistlearn.runs.folder_lock import locked
from assistlearn.runs.open_run import OpenRun
from assistlearn.runs.prediction import result_of
from assistlearn.runs.prediction import without as asked_without
from assistlearn.runs.training import tell_end
from assistlearn.web.serving.predictor import Predictor
from assistlearn.web.serving.service_log import ServiceLog

ANSWER = 60.0
"""Seconds that an agent on this machine has for an answer, before its process is started anew."""


def _greet(run: OpenRun, helper: str) -> None:
    """Tell a helper once more that the run is open and its training has ended, so that the helper reads its models.

    Then the first request does not have to wait for them.
    """
    run.agents[helper].ask(opening_of(run), m.Opened)
    tell_end(run, helper, result_of(run)["n_rounds"])


@contextmanager
def opened_predictor(path: Path, timeout: float = ANSWER, without: Sequence[str] = ()) -> Iterator[Predictor]:
    """Yield a predictor for a run, whose ways begin to open. At the end, answer waiting requests and close the ways.

    Parameters
    ----------
    path : path
        The run's folder.
    timeout : float
        Seconds that an agent on this machine has for an answer.
    without : sequence of str
        Helpers that are not asked.
    """
    folder = FinishedFolder(path)
    log = ServiceLog(folder.events)
    ways = StandingWays(folder.settings(), log, timeout)
    with locked(path, alone=False):
        run, _ = with_own_table(folder, ways, training=False, log=log)
        asked_without(run, without)
        predictor = Predictor(run, ways)
        ways.start(partial(_greet, run))
        try:
            predictor.start()
            yield predictor
        finally:
            predictor.stop()
            for name in ways.close():
                logging.getLogger("assistlearn.web").warning("The way to %r did not close in time.", name)
