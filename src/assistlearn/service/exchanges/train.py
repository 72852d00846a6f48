"""Training: the task, turns, and the end."""

from __future__ import annotations

from typing import Any

import numpy as np

from assistlearn.protocol import messages as m
from assistlearn.protocol.arrays import unpack_bits
from assistlearn.protocol.codec import Encoded
from assistlearn.service.exchanges.exchange import Demand, Exchange
from assistlearn.service.run_here import RunHere
from assistlearn.service.task import Task


class Training(Exchange):
    """``Begin``, ``TakeTurn``, ``TakeAgain`` and ``End``, and their answers."""

    requests = (m.Begin, m.TakeTurn, m.TakeAgain, m.End)
    replies = (m.Ready, m.TurnTaken, m.Ended)

    def demand(self, run: RunHere, message: Any) -> Demand | None:
        """Ask for a turn, or for none where it is done already; check how many samples a task has."""
        if isinstance(message, m.Begin):
            _check_size(run, message)
            _check_privacy(run, message)
        if isinstance(message, m.TakeTurn):
            done = run.store.has_turn(message.turn)
            task = None if run.privacy is None or done else run.part().task
            if run.privacy is not None and task is not None and task.rows is not None:
                run.privacy.check_turn(message.turn, run.part().n_told, task, run.part().told_rows(message))
            return Demand(0 if done else 1, message.turn)
        return None

    def answer(self, run: RunHere, message: Any, request: bytes) -> m.Message | Encoded:
        """Take the task, take a turn, or end."""
        if isinstance(message, m.Begin):
            return self._begin(run, message, request)
        if isinstance(message, m.TakeTurn):
            return run.part().take_turn(message, request)
        return run.part().end(message)

    def _begin(self, run: RunHere, message: m.Begin, request: bytes) -> m.Ready:
        ready = run.part().begin(message, request)
        run.aligning.pop("train", None)
        return ready


def _check_privacy(run: RunHere, message: m.Begin) -> None:
    """Refuse a task that the rules of ``[privacy]`` leave nothing to tell of; one that was taken is gone on with."""
    rows = run.store.rows()
    if run.privacy is not None and rows is not None and run.store.task() is None:
        run.privacy.check_task(Task.of(message, rows, run.own.min_effective))


def _check_size(run: RunHere, message: m.Begin) -> None:
    """Refuse a task of too many samples, or with too few people that the agent would train on."""
    if run.own.limits is None:
        return
    run.own.limits.check_samples(message.n_samples)
    rows = run.store.rows()
    if rows is None or len(rows) != message.n_samples:
        return  # no task at all, as will be said
    held = rows >= 0
    if message.holdout is not None:
        held &= ~unpack_bits(message.holdout, len(rows))
    run.own.limits.check_people(int(np.count_nonzero(held)))
