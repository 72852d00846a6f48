"""What a prediction service writes to its run's log: who was predicted when, and trouble; not every message."""

from __future__ import annotations

from assistlearn.events import Event, EventLog, JobStarted, Predicted, TroubleMet

KEPT = (Predicted, JobStarted, TroubleMet)


class ServiceLog(EventLog):
    """A run's log that takes the facts of a service.

    A trouble that lasts is written down once, not with every request.
    """

    _last: Event | None = None

    def append(self, event: Event) -> None:
        """Write a fact down, if it is one to keep."""
        if not isinstance(event, KEPT) or (isinstance(event, TroubleMet) and event == self._last):
            return
        if isinstance(event, TroubleMet):
            self._last = event
        super().append(event)
