"""Forgetting: everything that an agent keeps of a run, but for its ledger."""

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
        """Ask for nothing; but the run is no longer one that is open, and to open it again is another."""
        return Demand(0)

    def answer(self, run: RunHere, message: Any, request: bytes) -> m.Forgotten:
        """Remove the run."""
        return m.Forgotten(run=message.run, n_models=run.store.forget())
