"""The transport between organisations: an agent's name and bytes in, bytes out; a broken job is started again."""

from __future__ import annotations

import hashlib
import tempfile
import threading
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from types import TracebackType
from typing import Self

from assistlearn.errors import NetworkError, UnreachableError
from assistlearn.reach.flare.carrying.command_socket import CommandSocket, Errand, JobGoneError, lines_folder
from assistlearn.reach.flare.carrying.control import Control, missing
from assistlearn.reach.flare.carrying.job import write_job
from assistlearn.reach.flare.provisioning.kit import Kit

STARTING = 60.0
"""Seconds that a job has to start, if patience lasts as long."""

SOONEST = 30.0
"""Seconds that it has in any case."""

SILENCE = 30.0
"""Seconds without a sign of life after which an organisation counts as gone."""

RETRY = 2.0
"""Seconds between two tries."""

OVER = ("FINISHED:", "FAILED_TO_RUN", "ABANDONED")


class AbsentError(NetworkError):
    """The organisation that is asked cannot be reached now."""


class FlareTransport:
    """Carries messages to the agents of other organisations.

    Use it in a ``with`` block. The job that carries the messages is started with the first of them, and again whenever
    it breaks; whoever asks does not notice, except by the time it takes.

    Parameters
    ----------
    site, admin : Kit
        The initiator's kits.
    agents : sequence of str
        The other organisations.
    patience : float, default=120
        Seconds without a sign of life of an organisation before giving up; meanwhile broken jobs are started again.
    tell : callable, optional
        Told of trouble, in words.
    watch : callable, optional
        Told, whenever an agent is asked, who it is and how many bytes have gone to and fro by then.
    """

    def __init__(
        self,
        site: Kit,
        admin: Kit,
        agents: Sequence[str],
        patience: float = 120.0,
        tell: Callable[[str], None] | None = None,
        watch: Callable[[str, int], None] | None = None,
    ) -> None:
        self._site = site
        self._agents = list(agents)
        self._patience = patience
        self._tell = tell or (lambda words: None)
        self._watch = watch or (lambda agent, n_bytes: None)
        self._bytes = 0
        self._control = Control(admin)
        self._line: CommandSocket | None = None
        self._job = ""
        self._heard = 0.0
        self._sites: list[str] = []
        self._lost: set[str] = set()
        self._told = ""
        self._careful = False
        self._good: set[str] = set()
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
        if agent not in self._agents:
            raise UnreachableError(f"There is no organisation {agent!r} in this run. There are {self._agents}.")
        order = Errand(agent, hashlib.sha256(request).hexdigest(), min(SILENCE, self._patience), request)
        patience = RETRY if agent in self._lost else self._patience  # once is enough, until it is heard of again
        with self._lock:
            self._bytes += len(request)
            self._watch(agent, self._bytes)
            self._heard = time.monotonic()
            while True:
                try:
                    answer = self._try(order)
                    self._bytes += len(answer)
                    self._lost.discard(agent)
                    return answer
                except NetworkError as error:
                    self._hang_up()
                    left = self._heard + patience - time.monotonic()
                    if left <= RETRY:
                        raise self._given_up(agent, error) from None
                    self._say_once(f"{error} Trying again.")
                    time.sleep(RETRY)

    def _say_once(self, words: str) -> None:
        if words != self._told:
            self._tell(words)
        self._told = words

    def _given_up(self, agent: str, error: NetworkError) -> NetworkError | UnreachableError:
        self._lost.add(agent)
        if isinstance(error, AbsentError | JobGoneError):
            return UnreachableError(
                f"Organisation {agent!r} could not be reached for {self._patience:g} seconds. {error} Ask it whether "
                "its site runs: 'assistlearn site check' there says what is wrong."
            )
        return error

    def _try(self, order: Errand) -> bytes:
        if self._line is not None and order.agent not in self._sites:
            self._hang_up()
        line = self._line or self._open(order.agent)
        for reply in line.ask(order):
            if reply.state == "failed":
                self._careful = True
                self._good.discard(order.agent)
                raise AbsentError(reply.failure)
            self._heard = time.monotonic()
        self._good.add(order.agent)
        return reply.content

    def _open(self, needed: str) -> CommandSocket:
        """Start a job with everybody who is connected; after trouble, with those only who have answered since."""
        wanted = [name for name in self._agents if name == needed or name in self._good or not self._careful]
        absent = missing([self._site.name, *wanted], self._control.connected())
        if self._site.name in absent:
            raise NetworkError(
                f"The site of {self._site.name!r} itself is not connected to the relay. Start it here: "
                f"'assistlearn site start {self._site.folder}'."
            )
        if needed in absent:
            raise AbsentError(f"Organisation {needed!r} is not connected to the relay.")
        self._sites = [name for name in wanted if name not in absent]
        line = CommandSocket(lines_folder(self._site.folder))
        try:
            self._start_job(line)
        except BaseException:
            self._careful, self._good = True, set()
            line.close()
            self._end_job()
            raise
        self._line = line
        return line

    def _start_job(self, line: CommandSocket) -> None:
        self._say_once("Starting the job.")
        with tempfile.TemporaryDirectory() as folder:
            sites = [self._site.name, *self._sites]
            self._job = self._control.submit(write_job(Path(folder) / "job", line.name, self._site.name, sites))
        until = time.monotonic() + min(STARTING, max(self._patience, SOONEST))
        while not line.wait(0.5):
            status = self._control.status(self._job)
            if status.startswith(OVER) or time.monotonic() > until:
                raise AbsentError(f"The job with {self._sites} did not start: {status}. {self._refusals()}".strip())

    def _refusals(self) -> str:
        """Return what sites said that did not take the job."""
        details = self._control.facts(self._job).get("job_deploy_detail") or []
        return " ".join(str(detail) for detail in details if not str(detail).endswith(": OK"))

    def _hang_up(self) -> None:
        if self._line is not None:
            self._line.close()
            self._line = None
        self._end_job()

    def _end_job(self) -> None:
        job, self._job = self._job, ""
        if job:
            self._control.abort(job)

    def close(self) -> None:
        """End the job and the session with the relay."""
        self._hang_up()
        self._control.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()
