"""Opening a run: who asks, what for, and how samples will be matched."""

from __future__ import annotations

from typing import Any

from assistlearn.errors import OutOfOrderError
from assistlearn.protocol import messages as m
from assistlearn.service.exchanges.exchange import Exchange
from assistlearn.service.run_here import RunHere


class Opening(Exchange):
    """``Open`` and ``Opened``."""

    requests = (m.Open,)
    replies = (m.Opened,)
    needs_open_run = False

    def answer(self, run: RunHere, message: Any, request: bytes) -> m.Opened:
        """Remember the run; one that was opened with the same facts before is opened again."""
        facts = {name: getattr(message, name) for name in ("run", "initiator", "purpose", "alignment", "overlap")}
        if run.store.exists and run.store.opened() != facts:
            raise OutOfOrderError(f"Run {message.run!r} was opened here before, with other facts.")
        run.check_allowed(message)
        if not run.store.exists:
            run.store.open(facts)
        return m.Opened(run=message.run, agent=run.own.name, n_rows=len(run.own.ids))
