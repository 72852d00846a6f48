"""Opening a run: who asks, what for, and how samples will be matched."""

from __future__ import annotations

from typing import Any

from assistlearn.errors import OutOfOrderError
from assistlearn.protocol import messages as m
from assistlearn.service.exchanges.exchange import Demand, Exchange
from assistlearn.service.run_here import RunHere


class Opening(Exchange):
    """``Open`` and ``Opened``."""

    requests = (m.Open,)
    replies = (m.Opened,)
    needs_open_run = False

    def demand(self, run: RunHere, message: Any) -> Demand:
        """Return a demand of one run, or of none if the run is already open here."""
        if run.store.exists and run.store.opened() != _facts(message):
            raise OutOfOrderError(
                f"Run {message.run!r} was opened here before, with other settings. Use another name for a new run."
            )
        return Demand(0 if run.store.exists else 1)

    def answer(self, run: RunHere, message: Any, request: bytes) -> m.Opened:
        """Remember the run. If it was opened before with the same facts, answer the same."""
        if not run.store.exists:
            run.store.open(_facts(message))
        return m.Opened(run=message.run, agent=run.own.name, n_rows=len(run.own.ids))


def _facts(message: m.Open) -> dict[str, Any]:
    return {name: getattr(message, name) for name in ("run", "initiator", "purpose", "alignment", "overlap")}
