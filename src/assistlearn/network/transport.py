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
from assistlearn.network.control import Control, missing
from assistlearn.network.job import write_job
from assistlearn.network.kit import Kit
from assistlearn.network.local_line import CommandEnd, Order, lines_folder

STARTING = 60.0
"""Seconds that a job has to start."""

SILENCE = 30.0
"""Seconds without a sign of life after which an organisation counts as gone."""

RETRY = 2.0
"""Seconds between two tries."""

OVER = ("FINISHED:", "FAILED_TO_RUN", "ABANDONED")


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
        Seconds to go on trying to reach an organisation before giving up.
    tell : callable, optional
        Told what is waited for, in words.
    """

    def __init__(
        self,
        site: Kit,
        admin: Kit,
        agents: Sequence[str],
        patience: float = 120.0,
        tell: Callable[[str], None] | None = None,
    ) -> None:
        self._site = site
        self._agents = list(agents)
        self._patience = patience
        self._tell = tell or (lambda words: None)
        self._control = Control(admin)
        self._line: CommandEnd | None = None
        self._job = ""
        self._lock = threading.Lock()

    def ask(self, agent: str, request: bytes) -> bytes:
        """Return the agent's reply; raise ``UnreachableError`` when patience is at its end."""
        if agent not in self._agents:
            raise UnreachableError(f"There is no organisation {agent!r} in this run. There are {self._agents}.")
        number = hashlib.sha256(request).hexdigest()
        until = time.monotonic() + self._patience
        with self._lock:
            while True:
                try:
                    return self._try(Order(agent, number, min(SILENCE, self._patience), request))
                except NetworkError as error:
                    self._hang_up()
                    left = until - time.monotonic()
                    if left <= RETRY:
                        raise UnreachableError(self._given_up(agent, error)) from None
                    self._tell(f"{error} Trying again for {left:.0f} s.")
                    time.sleep(RETRY)

    def _given_up(self, agent: str, error: NetworkError) -> str:
        return (
            f"Organisation {agent!r} could not be reached for {self._patience:g} seconds. {error} Ask it whether its "
            "site runs ('assistlearn site check' there says what is wrong)."
        )

    def _try(self, order: Order) -> bytes:
        line = self._line or self._open(order.agent)
        reply = line.ask(order)
        if reply.failure:
            raise NetworkError(f"{reply.failure[0].upper()}{reply.failure[1:]}.")
        return reply.content

    def _open(self, needed: str) -> CommandEnd:
        """Start a job with every organisation that is connected; the one that is needed now must be among them."""
        connected = self._control.connected()
        for name in missing([self._site.name, needed], connected):
            raise NetworkError(f"Organisation {name!r} is not connected to the relay.")
        line = CommandEnd(lines_folder(self._site.folder))
        try:
            with tempfile.TemporaryDirectory() as folder:
                sites = [self._site.name, *self._agents]
                self._job = self._control.submit(write_job(Path(folder) / "job", line.name, self._site.name, sites))
            self._tell("Starting the job.")
            until = time.monotonic() + STARTING
            while not line.wait(1.0):
                status = self._control.status(self._job)
                if status.startswith(OVER) or time.monotonic() > until:
                    raise NetworkError(f"The job {self._job} did not start: {status}. {self._refusals()}")
        except BaseException:
            line.close()
            self._end_job()
            raise
        self._line = line
        return line

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
