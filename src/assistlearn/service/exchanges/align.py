"""Matching samples: in two steps, for training or for prediction."""

from __future__ import annotations

from typing import Any

from assistlearn.alignment import HashHelper, Helper, Minimum, PsiHelper
from assistlearn.errors import OutOfOrderError, RefusedError
from assistlearn.protocol import messages as m
from assistlearn.service.exchanges.exchange import Exchange
from assistlearn.service.holdings import Holdings
from assistlearn.service.run_here import RunHere


class Aligning(Exchange):
    """``Align`` and ``Aligned``."""

    requests = (m.Align,)
    replies = (m.Aligned,)

    def answer(self, run: RunHere, message: Any, request: bytes) -> m.Aligned:
        """Take a step of the alignment."""
        if message.purpose == "train" and run.store.task() is not None:
            raise OutOfOrderError("Training has begun: its samples cannot be aligned again.")
        if message.step == 1:
            helper = helper_of(run.own, run.store.opened()["alignment"], message.purpose)
            data = helper.answer(message.data)
            run.aligning[message.purpose] = helper
        else:
            if message.purpose not in run.aligning:
                raise OutOfOrderError("No alignment is under way here. Start it again.")
            helper = run.aligning[message.purpose]
            data = helper.agree(message.data)
            run.place(helper.rows, message.purpose)
        return m.Aligned(run=message.run, step=message.step, data=data)


def helper_of(own: Holdings, alignment: str, purpose: str) -> Helper:
    """Return the helper's side of an alignment."""
    minimum = Minimum(0, 0.0) if purpose == "predict" else None
    if alignment == "psi":
        return PsiHelper(own.ids, minimum=minimum)
    if own.secret is None:
        raise RefusedError(
            f"Agent {own.name!r} has no secret for alignment by keyed hashes. Name one in its file (secret = ...), or "
            "align by psi."
        )
    return HashHelper(own.ids, own.secret, minimum)
