"""Training: the task, turns, and the end."""

from __future__ import annotations

from typing import Any

from assistlearn.errors import RefusedError
from assistlearn.protocol import messages as m
from assistlearn.protocol.codec import Encoded
from assistlearn.service.exchanges.exchange import Exchange
from assistlearn.service.run_here import RunHere


class Training(Exchange):
    """``Begin``, ``TakeTurn`` and ``End``, and their answers."""

    requests = (m.Begin, m.TakeTurn, m.End)
    replies = (m.Ready, m.TurnTaken, m.Ended)

    def answer(self, run: RunHere, message: Any, request: bytes) -> m.Message | Encoded:
        """Take the task, take a turn, or end."""
        if isinstance(message, m.Begin):
            return self._begin(run, message, request)
        if isinstance(message, m.TakeTurn):
            return run.part().take_turn(message, request)
        return run.part().end(message)

    def _begin(self, run: RunHere, message: m.Begin, request: bytes) -> m.Ready:
        limit = run.own.max_samples
        if limit is not None and message.n_samples > limit:
            raise RefusedError(
                f"Agent {run.own.name!r}: the run has {message.n_samples:,} samples; its owner allows {limit:,}."
            )
        ready = run.part().begin(message, request)
        run.aligning.pop("train", None)
        return ready
