"""A line with delay, limited speed, and cuts: a relay of bytes between two ports on loopback."""

from __future__ import annotations

import asyncio
import contextlib
import threading
import time
from collections import deque
from types import TracebackType
from typing import Self

PIECE = 16_384


class SlowLine:
    """Listens on a free port of loopback and passes bytes on to another, both ways.

    Parameters
    ----------
    target : int
        Where to.
    delay : float
        Seconds that a byte is under way.
    bits_per_second : float or None
        How many bits go through in a second, each way, all connections together; None: as many as come.
    """

    def __init__(self, target: int, delay: float = 0.0, bits_per_second: float | None = None) -> None:
        self._target = target
        self._delay = delay
        self._rate = None if bits_per_second is None else bits_per_second / 8
        self._free_at = [0.0, 0.0]
        self._loop = asyncio.new_event_loop()
        self._ready = threading.Event()
        self._cut_until = 0.0
        self._writers: set[asyncio.StreamWriter] = set()
        self.passed = [0, 0]
        self.port = 0
        self._thread = threading.Thread(target=self._run, daemon=True)

    def cut(self, seconds: float) -> None:
        """Let nothing through for so long; connections stay, as when a cable is pulled."""
        self._cut_until = time.monotonic() + seconds

    def _run(self) -> None:
        asyncio.set_event_loop(self._loop)
        server = self._loop.run_until_complete(asyncio.start_server(self._accept, "127.0.0.1", 0))
        self.port = server.sockets[0].getsockname()[1]
        self._ready.set()
        self._loop.run_forever()
        server.close()
        for writer in self._writers:
            writer.close()
        under_way = asyncio.all_tasks(self._loop)
        for task in under_way:
            task.cancel()
        self._loop.run_until_complete(asyncio.gather(*under_way, return_exceptions=True))
        self._loop.close()

    async def _accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            onward, back = await asyncio.open_connection("127.0.0.1", self._target)
        except OSError:
            writer.close()
            return
        self._writers |= {writer, back}
        with contextlib.suppress(asyncio.CancelledError):  # the line is being closed
            await asyncio.gather(self._pass(reader, back, 0), self._pass(onward, writer, 1))
        self._writers -= {writer, back}

    async def _pass(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, way: int) -> None:
        under_way: deque[tuple[float, bytes]] = deque()
        more = asyncio.Event()

        async def deliver() -> None:
            while True:
                while not under_way:
                    more.clear()
                    await more.wait()
                at, piece = under_way.popleft()
                await asyncio.sleep(max(at - time.monotonic(), 0.0))
                while time.monotonic() < self._cut_until:
                    await asyncio.sleep(0.05)
                if not piece:
                    writer.close()
                    return
                writer.write(piece)
                await writer.drain()

        delivering = asyncio.ensure_future(deliver())
        try:
            while piece := await reader.read(PIECE):
                self.passed[way] += len(piece)
                now = time.monotonic()
                if self._rate is not None:
                    self._free_at[way] = max(self._free_at[way], now) + len(piece) / self._rate
                    now = self._free_at[way]
                    await asyncio.sleep(max(now - time.monotonic(), 0.0))
                under_way.append((now + self._delay, piece))
                more.set()
        except OSError:
            pass
        under_way.append((time.monotonic() + self._delay, b""))
        more.set()
        with contextlib.suppress(OSError):
            await delivering

    def __enter__(self) -> Self:
        self._thread.start()
        self._ready.wait()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join(5)
