"""One job that carries messages: submitted to the relay, connected to the command that needs it, asked, ended."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence

from assistlearn.errors import NetworkError
from assistlearn.reach.flare.carrying.command_socket import CommandSocket, Errand, Outcome, notes_folder
from assistlearn.reach.flare.carrying.control import Control
from assistlearn.reach.flare.carrying.job_definition import write_job
from assistlearn.reach.flare.provisioning.kit import Kit

LOOK = 0.5
"""Seconds between two looks at a job that is being started."""

OVER = ("FINISHED:", "FAILED_TO_RUN", "ABANDONED")
"""How FLARE's words for a job that has ended begin."""


class NotStartedError(NetworkError):
    """The job did not start."""


class Job:
    """A job with some of the other organisations; close it after use.

    Parameters
    ----------
    control : Control
        A session with the relay, in which the job is submitted and ended.
    site : Kit
        The initiator's kit.
    agents : sequence of str
        The other organisations that take part.

    Attributes
    ----------
    number : str
        What FLARE calls the job; empty until it is submitted.
    agents : list of str
        The other organisations that take part.
    sites : list of str
        All sites that take part, the initiator's first.
    """

    def __init__(self, control: Control, site: Kit, agents: Sequence[str]) -> None:
        self.number = ""
        self.agents = list(agents)
        self.sites = [site.name, *agents]
        self._control = control
        self._socket = CommandSocket(notes_folder(site.folder))

    def start(self, seconds: float) -> None:
        """Submit the job and wait until it is connected; raise where that takes longer, or the job ends before."""
        definition = write_job(self._socket.folder / "job", self._socket.name, self.sites[0], self.sites)
        self.number = self._control.submit(definition)
        until = time.monotonic() + seconds
        while not self._socket.wait(LOOK):
            status = self._control.status(self.number)
            if status.startswith(OVER) or time.monotonic() > until:
                words = f"The job with {self.agents} did not start: {status}. {self._refusals()}"
                raise NotStartedError(words.strip())

    def _refusals(self) -> str:
        """Return the words of the sites that refused the job."""
        details = self._control.facts(self.number).get("job_deploy_detail") or []
        return " ".join(str(detail) for detail in details if not str(detail).endswith(": OK"))

    def ask(self, errand: Errand) -> Iterator[Outcome]:
        """Yield the outcomes of an errand as they come; raise when the job is gone."""
        return self._socket.ask(errand)

    def close(self) -> None:
        """Hang up and end the job."""
        self._socket.close()
        if self.number:
            self._control.abort(self.number)
