"""The interface of a way to reach agents."""

from __future__ import annotations

from contextlib import AbstractContextManager
from typing import Protocol

from assistlearn.events import EventLog
from assistlearn.initiator.folder import RunSettings
from assistlearn.protocol import Transport


class Reach(Protocol):
    """Opens a transport to the helpers of a run."""

    @property
    def command(self) -> str:
        """The command that trains such runs, and resumes them."""
        ...

    @property
    def may_come_back(self) -> bool:
        """Whether an agent that cannot be reached at the very beginning may be reached later."""
        ...

    def opened(self, settings: RunSettings, log: EventLog, timeout: float) -> AbstractContextManager[Transport]:
        """Return the transport, to be opened in a ``with`` block.

        Parameters
        ----------
        settings : RunSettings
            Who takes part, and where they are.
        log : EventLog
            Gets the jobs that were started, and trouble.
        timeout : float
            Seconds to wait for an answer of an agent on this machine.
        """
        ...
