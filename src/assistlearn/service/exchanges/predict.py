"""Prediction: an agent's votes on samples that were aligned for it."""

from __future__ import annotations

from typing import Any

from assistlearn.errors import OutOfOrderError, ProtocolError
from assistlearn.protocol import messages as m
from assistlearn.protocol.arrays import pack_bits
from assistlearn.protocol.levels import pack_levels
from assistlearn.service.exchanges.exchange import Demand, Exchange
from assistlearn.service.run_here import RunHere

MAX_PREDICTED = 1_000_000
"""The most samples whose votes go into one message."""

MAX_SCORES = 100_000_000
"""The most numbers in these votes: samples times classes."""


class Predicting(Exchange):
    """``Predict`` and ``Scores``."""

    requests = (m.Predict,)
    replies = (m.Scores,)

    def demand(self, run: RunHere, message: Any) -> Demand:
        """Return how many samples are to be voted on; none if the last answer had the same votes."""
        rows = run.rows_to_predict
        if rows is None:
            raise OutOfOrderError("The samples to predict are not aligned yet.")
        part = run.part()
        if not part.finished:
            raise OutOfOrderError(f"Run {message.run!r} is not finished here; there is nothing to predict with.")
        most = min(MAX_PREDICTED, MAX_SCORES // part.n_classes)
        if not 0 <= message.start <= message.stop <= len(rows) or message.stop - message.start > most:
            raise ProtocolError(
                f"Samples {message.start} to {message.stop} were asked for; {len(rows)} are aligned, and at most "
                f"{most:,} are answered at once."
            )
        if run.privacy is not None and part.task is not None:
            run.privacy.check_votes(rows[message.start : message.stop], len(part.agent.models), part.task)
        again = run.voted_on == (message.start, message.stop)
        return Demand(0 if again else message.stop - message.start)

    def answer(self, run: RunHere, message: Any, request: bytes) -> m.Scores:
        """Return the votes on the samples that the agent holds, of those asked for."""
        part = run.part()
        assert run.rows_to_predict is not None
        asked = run.rows_to_predict[message.start : message.stop]
        held = asked >= 0
        assert part.task is not None
        votes = part.votes(asked, None if run.privacy is None else run.privacy.voting(asked, part.task))
        said = part.task.method.told_votes(votes, part.agent.total_weight)
        if run.privacy is not None:
            run.privacy.count_votes(asked, len(part.agent.models), part.task)
        run.voted_on = (message.start, message.stop)
        return m.Scores(
            run=message.run,
            known=pack_bits(held),
            scores=pack_levels(said.levels, said.bits, said.scale),
            total_weight=part.agent.total_weight,
        )
