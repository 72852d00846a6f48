"""Matching samples: in two steps, for training or for prediction."""

from __future__ import annotations

from typing import Any

import numpy as np

from assistlearn.alignment import HashHelper, Helper, Minimum, PsiHelper, ids_asked
from assistlearn.alignment.matching import Rows
from assistlearn.errors import OutOfOrderError, RefusedError
from assistlearn.protocol import messages as m
from assistlearn.service.exchanges.exchange import Demand, Exchange
from assistlearn.service.holdings import Holdings
from assistlearn.service.run_here import RunHere


class Aligning(Exchange):
    """``Align`` and ``Aligned``."""

    requests = (m.Align,)
    replies = (m.Aligned,)

    def demand(self, run: RunHere, message: Any) -> Demand | None:
        """Return how many ids the first step asks about; raise before any work if they are too many or too few."""
        if message.purpose == "train" and run.store.task() is not None:
            raise OutOfOrderError("Training has begun: its samples cannot be aligned again.")
        if message.step != 1:
            return None
        n_ids = ids_asked(message.data, run.store.opened()["alignment"])
        if run.own.limits is not None:
            run.own.limits.check_samples(n_ids)
        _check_people(run, message, n_ids)
        return Demand(n_ids)

    def answer(self, run: RunHere, message: Any, request: bytes) -> m.Aligned:
        """Do a step of the alignment; raise, and tell nothing, if there are too few people to train on."""
        if message.step == 1:
            helper = helper_of(run.own, run.store.opened()["alignment"], message.purpose)
            data = helper.answer(message.data)
            _check_people(run, message, helper.n_found)
            run.aligning[message.purpose] = helper
        else:
            if message.purpose not in run.aligning:
                raise OutOfOrderError("No alignment is under way here. Start it again.")
            helper = run.aligning[message.purpose]
            data = helper.agree(message.data)
            _check_people(run, message, int(np.count_nonzero(helper.rows >= 0)))
            run.place(_in_the_table(run.own, helper.rows), message.purpose)
        return m.Aligned(run=message.run, step=message.step, data=data)


def _check_people(run: RunHere, message: m.Align, n_people: int | None) -> None:
    """Refuse training if the agent holds too few of the samples; ``n_people`` is None if it is not known yet."""
    if message.purpose != "train" or n_people is None:
        return
    if run.own.limits is not None:
        run.own.limits.check_people(n_people)
    if run.own.privacy is not None:
        run.own.privacy.check_people(n_people)


def _in_the_table(own: Holdings, rows: Rows) -> Rows:
    """Return the rows of the table from those among the people whom the agent holds; -1 stays."""
    _, held = own.held()
    return rows if held is None else np.append(held, -1)[rows]


def helper_of(own: Holdings, alignment: str, purpose: str) -> Helper:
    """Return the helper's side of an alignment. It counts the rows of the people whom the agent holds."""
    ids, _ = own.held()
    minimum = Minimum(0, 0.0) if purpose == "predict" else None
    if alignment == "psi":
        return PsiHelper(ids, minimum=minimum)
    if own.secret is None:
        raise RefusedError(
            f"Agent {own.name!r} has no secret for alignment by keyed hashes. Name one in its file (secret = ...), or "
            "align by psi."
        )
    return HashHelper(ids, own.secret, minimum)
