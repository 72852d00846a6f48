"""Forgetting: an agent removes everything that it keeps of a run, except the entries of its ledger."""

from __future__ import annotations

from typing import Any

from assistlearn.protocol import messages as m
from assistlearn.service.exchanges.exchange import Demand, Exchange
from assistlearn.service.run_here import RunHere


class Forgetting(Exchange):
    """``Forget`` and ``Forgotten``; it needs nobody's permission."""

    requests = (m.Forget,)
    replies = (m.Forgotten,)
    needs_permission = False

    def demand(self, run: RunHere, message: Any) -> Demand:
        """Return a demand of nothing. If the run is opened again after this, it counts as another run."""
        return Demand(0)

    def answer(self, run: RunHere, message: Any, request: bytes) -> m.Forgotten:
        """Remove the run; return how many models there were."""
        return m.Forgotten(run=message.run, n_models=run.store.forget())
