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
        """Return a demand of one turn, or of none if it is already done; check the size and privacy of a task."""
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
        """Accept the task, take a turn, or end training."""
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
    """Refuse a new task for which the rules of ``[privacy]`` allow no turn; a task that was accepted goes on."""
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
        return  # this is not a valid task, as the reply will say
    held = rows >= 0
    if message.holdout is not None:
        held &= ~unpack_bits(message.holdout, len(rows))
    run.own.limits.check_people(int(np.count_nonzero(held)))
