"""The transport between organisations: an agent's name and bytes in, bytes out; a broken job is started again."""

from __future__ import annotations

import hashlib
import threading
import time
from collections.abc import Sequence
from types import TracebackType
from typing import Self

from assistlearn.errors import NetworkError, UnreachableError
from assistlearn.events import EventLog, JobStarted, TroubleMet
from assistlearn.reach.flare.carrying.attendance import Attendance
from assistlearn.reach.flare.carrying.command_socket import Errand, JobGoneError
from assistlearn.reach.flare.carrying.control import Control, missing
from assistlearn.reach.flare.carrying.job import Job, NotStartedError
from assistlearn.reach.flare.provisioning.kit import Kit

STARTING = 60.0
"""Seconds that a job has to start, at the most."""

SOONEST = 30.0
"""Seconds that a job has to start, at the least: even where an organisation is given up on sooner."""

SILENCE = 30.0
"""Seconds without a sign of life after which an organisation counts as gone."""

RETRY = 2.0
"""Seconds between two tries."""


class AbsentError(NetworkError):
    """The organisation that is asked cannot be reached now."""


class FlareTransport:
    """Carries messages to the agents of other organisations.

    Use it in a ``with`` block. The job that carries the messages is started with the first of them, and again whenever
    it breaks; the asker only notices that the answer takes longer.

    Parameters
    ----------
    site, admin : Kit
        The initiator's kits.
    agents : sequence of str
        The other organisations.
    give_up_after : float, default=120
        Seconds without a sign of life of an organisation before giving up; meanwhile broken jobs are started again.
    log : EventLog, optional
        Gets the jobs that were started, and trouble.
    """

    def __init__(
        self, site: Kit, admin: Kit, agents: Sequence[str], give_up_after: float = 120.0, log: EventLog | None = None
    ) -> None:
        self._site = site
        self._attendance = Attendance(agents)
        self._give_up_after = give_up_after
        self._log = log or EventLog()
        self._control = Control(admin)
        self._job: Job | None = None
        self._heard = 0.0
        self._last_trouble = ""
        self._lock = threading.Lock()

    def ask(self, agent: str, request: bytes) -> bytes:
        """Return the agent's reply, however long its work takes: it gives a sign of life every few seconds.

        Raises
        ------
        UnreachableError
            Nothing was heard of the agent for too long.
        NetworkError
            The relay, or the initiator's own site, could not be reached for too long.
        """
        agents = self._attendance.agents
        if agent not in agents:
            raise UnreachableError(f"There is no organisation {agent!r} in this run. The organisations are {agents}.")
        errand = Errand(agent, hashlib.sha256(request).hexdigest(), min(SILENCE, self._give_up_after), request)
        # an agent that was given up on is tried only once, until it answers again
        give_up_after = RETRY if self._attendance.is_lost(agent) else self._give_up_after
        with self._lock:
            self._heard = time.monotonic()
            while True:
                try:
                    return self._try(errand)
                except NetworkError as error:
                    self._end_job()
                    left = self._heard + give_up_after - time.monotonic()
                    if left <= RETRY:
                        raise self._given_up(agent, error) from None
                    self._note_trouble(f"{error} Trying again.")
                    time.sleep(RETRY)

    def _note_trouble(self, words: str) -> None:
        """Append a trouble to the log, unless it is the same as the last one."""
        if words != self._last_trouble:
            self._log.append(TroubleMet(words))
        self._last_trouble = words

    def _given_up(self, agent: str, error: NetworkError) -> NetworkError | UnreachableError:
        self._attendance.give_up(agent)
        if isinstance(error, AbsentError | NotStartedError | JobGoneError):
            return UnreachableError(
                f"Organisation {agent!r} could not be reached for {self._give_up_after:g} seconds. {error} Ask it "
                "whether its site is running: 'assistlearn site check' there says what is wrong."
            )
        return error

    def _try(self, errand: Errand) -> bytes:
        if self._job is not None and errand.agent not in self._job.agents:
            self._end_job()
        job = self._job or self._start_job(errand.agent)
        for outcome in job.ask(errand):
            if outcome.state == "failed":
                self._attendance.failed(errand.agent)
                raise AbsentError(outcome.failure)
            self._heard = time.monotonic()
        self._attendance.answered(errand.agent)
        return outcome.content

    def _start_job(self, needed: str) -> Job:
        """Start a job with whoever is invited and connected."""
        job = Job(self._control, self._site, self._present(needed))
        self._last_trouble = ""  # later trouble is new trouble, even if the words are the same
        try:
            job.start(min(STARTING, max(self._give_up_after, SOONEST)))
        except BaseException:
            self._attendance.job_failed()
            job.close()
            raise
        self._job = job
        self._log.append(JobStarted(job.number, job.sites))
        return job

    def _present(self, needed: str) -> list[str]:
        """Return who is invited and connected; raise if the initiator's own site or ``needed`` is not connected."""
        invited = self._attendance.invited(needed)
        absent = missing([self._site.name, *invited], self._control.connected())
        if self._site.name in absent:
            raise NetworkError(
                f"The site of {self._site.name!r} itself is not connected to the relay. Start it here: "
                f"'assistlearn site start {self._site.folder}'."
            )
        if needed in absent:
            raise AbsentError(f"Organisation {needed!r} is not connected to the relay.")
        return [name for name in invited if name not in absent]

    def _end_job(self) -> None:
        job, self._job = self._job, None
        if job is not None:
            job.close()

    def close(self) -> None:
        """End the job and the session with the relay."""
        self._end_job()
        self._control.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()
