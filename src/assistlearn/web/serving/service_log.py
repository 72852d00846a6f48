"""What a prediction service writes to its run's log: predictions, started jobs and trouble, but not every message."""

from __future__ import annotations

from assistlearn.events import Event, EventLog, JobStarted, Predicted, TroubleMet

KEPT = (Predicted, JobStarted, TroubleMet)


class ServiceLog(EventLog):
    """A run's log that takes only the events of a service.

    Trouble that lasts is written once, not with every request.
    """

    _last: Event | None = None

    def append(self, event: Event) -> None:
        """Write an event, if its kind is to be kept."""
        if not isinstance(event, KEPT) or (isinstance(event, TroubleMet) and event == self._last):
            return
        if isinstance(event, TroubleMet):
            self._last = event
        super().append(event)
