"""A way of one's own to reach agents: each in a thread of this process that takes bytes from a queue."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from queue import Queue

from assistlearn.agent.loading import holdings_of
from assistlearn.agent.service import AgentService
from assistlearn.events import EventLog, JobStarted
from assistlearn.initiator.folder import RunSettings
from assistlearn.reach import register


class Threads:
    """One thread for every helper, for as long as the transport is open."""

    command = "simulate"
    may_come_back = False

    @contextmanager
    def opened(self, settings: RunSettings, log: EventLog, timeout: float) -> Iterator[ThreadTransport]:
        """Start the threads; end them afterwards."""
        transport = ThreadTransport({name: Path(settings.files[name]) for name in settings.helpers}, timeout)
        log.append(JobStarted("threads", settings.helpers))
        try:
            yield transport
        finally:
            transport.close()


class ThreadTransport:
    """Bytes in, bytes out, by two queues for each agent."""

    def __init__(self, files: dict[str, Path], timeout: float) -> None:
        self._timeout = timeout
        self._asked: dict[str, Queue[bytes | None]] = {name: Queue() for name in files}
        self._said: dict[str, Queue[bytes]] = {name: Queue() for name in files}
        self._threads = [threading.Thread(target=self._serve, args=(name, file)) for name, file in files.items()]
        for thread in self._threads:
            thread.start()

    def ask(self, agent: str, request: bytes) -> bytes:
        """Return the agent's reply."""
        self._asked[agent].put(request)
        return self._said[agent].get(timeout=self._timeout)

    def close(self) -> None:
        """End the threads."""
        for asked in self._asked.values():
            asked.put(None)
        for thread in self._threads:
            thread.join(self._timeout)

    def _serve(self, name: str, file: Path) -> None:
        service = AgentService(holdings_of(file))
        while (request := self._asked[name].get()) is not None:
            self._said[name].put(service.answer(request))


register("threads", Threads)
