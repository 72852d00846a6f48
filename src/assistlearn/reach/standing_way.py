"""The way to one helper that stays open between requests, and is opened again by itself when it breaks.

It has a thread of its own, which asks the helper one thing after the other. So a helper that is slow or gone holds up
nobody: whoever asks meanwhile is told at once that the helper is away.
"""

from __future__ import annotations

import queue
import threading
import time
from collections.abc import Callable
from concurrent.futures import Future
from contextlib import AbstractContextManager, suppress
from typing import Any, Literal, TypeVar

from assistlearn.errors import NetworkError, RefusedError, UnreachableError
from assistlearn.protocol import Transport

SOONEST, LATEST = 0.2, 30.0
"""Seconds before a way that broke is opened again: at first, and at the most; they double with every failure."""

Standing = Literal["opening", "free", "busy", "closed"]
"""Whether a way is being opened, free, busy or closed. Only a free one accepts an errand."""

LEAST_WAIT, FIRST_WAIT, MOST_WAIT = 1.0, 5.0, 30.0
"""Seconds to wait for a helper: at the least; when it has not done anything yet since it was reached; and at the most,
so that a helper that answers slower and slower does not hold everybody up longer and longer."""

FORGETTING = 0.9
"""The factor by which the slowest time shrinks with every further answer."""

Result = TypeVar("Result")


class StandingWay:
    """The way to one helper.

    Parameters
    ----------
    agent : str
        The helper's name.
    opened : callable
        Opens a transport to the helper; called again whenever the way has broken.
    greet : callable
        Asks the helper something harmless over the way. The way is free once the helper has answered anything.
    soonest, latest : float
        Seconds before a broken way is opened again: at first, and at the most.

    Attributes
    ----------
    reached : bool
        Whether the way has been open; it may have broken since.
    """

    def __init__(
        self,
        agent: str,
        opened: Callable[[], AbstractContextManager[Transport]],
        greet: Callable[[], object],
        soonest: float = SOONEST,
        latest: float = LATEST,
    ) -> None:
        self.agent = agent
        self._opened = opened
        self._greet = greet
        self._soonest, self._latest = soonest, latest
        self._errands: queue.SimpleQueue[Callable[[], bool] | None] = queue.SimpleQueue()
        self._change = threading.Condition()
        self._standing: Standing = "opening"
        self._why = ""
        self._tries = 0
        self._since = time.monotonic()
        self._slowest: float | None = None
        self._transport: Transport | None = None
        self.reached = False
        self._thread = threading.Thread(target=self._live, name=f"way to {agent}", daemon=True)

    def start(self) -> None:
        """Begin to open the way, and return at once."""
        self._thread.start()

    def wait(self, seconds: float) -> str:
        """Wait until the way is open or a try has failed; return why it is not open, or an empty text."""
        with self._change:
            self._change.wait_for(lambda: self._standing != "opening" or self._tries > 0, seconds)
            return "" if self._standing in ("free", "busy") else self._away()

    def submit(self, work: Callable[[], Result]) -> Future[Result]:
        """Start some work over the way, and return the future of its result.

        Raises
        ------
        UnreachableError
            The way is not open, or the helper is busy with something else.
        """
        with self._change:
            if self._standing != "free":
                raise UnreachableError(self._away())
            self._become("busy")
        future: Future[Result] = Future()
        self._errands.put(lambda: self._do(work, future))
        return future

    def ask(self, request: bytes) -> bytes:
        """Return the helper's reply; only submitted work may call this."""
        if self._transport is None:
            raise UnreachableError(self._away())
        return self._transport.ask(self.agent, request)

    def close(self) -> None:
        """Close the way as soon as its present work has ended. Return at once: :meth:`join` waits."""
        with self._change:
            self._become("closed")
            self._change.notify_all()
        self._errands.put(None)

    def join(self, seconds: float) -> bool:
        """Wait until the way is closed; return whether it is."""
        self._thread.join(seconds)
        return not self._thread.is_alive()

    @property
    def open(self) -> bool:
        """Whether the helper can be asked now, or is being asked."""
        return self._standing in ("free", "busy")

    @property
    def waited_for(self) -> float:
        """How many seconds to wait for the helper: four times its slowest time of late, within the limits above."""
        return FIRST_WAIT if self._slowest is None else min(max(4 * self._slowest, LEAST_WAIT), MOST_WAIT)

    def _away(self) -> str:
        seconds = time.monotonic() - self._since
        if self._standing == "busy":
            return f"Agent {self.agent!r} has not answered an earlier request for {seconds:.1f} seconds."
        again = "" if self._standing == "closed" else " It is being reached again."
        return f"{self._why or f'Agent {self.agent!r} is not ready yet.'}{again}"

    def _become(self, standing: Standing) -> None:
        """Note what the way is now; a closed way stays closed."""
        if self._standing != "closed":
            self._standing, self._since = standing, time.monotonic()

    def _live(self) -> None:
        pause = self._soonest
        while self._standing != "closed":
            begun = time.monotonic()
            try:
                with self._opened() as self._transport:
                    self._say_hello()
                    self._serve()
            except Exception as error:  # of a table, a disk, a library: somebody may correct it, so try again
                self._broken(error)
            finally:
                self._transport = None
            if time.monotonic() - begun > self._latest:
                pause = self._soonest
            with self._change:
                self._change.wait_for(lambda: self._standing == "closed", pause)
            pause = min(2 * pause, self._latest)

    def _say_hello(self) -> None:
        with suppress(RefusedError):  # it can be reached, and will refuse later requests in its own words
            self._greet()
        with self._change:
            self._become("free")
            self.reached = True
            self._why, self._slowest = "", None
            self._change.notify_all()

    def _serve(self) -> None:
        """Do errands until the way breaks, or is closed."""
        while (errand := self._errands.get()) is not None:
            if not errand():
                return

    def _do(self, work: Callable[[], Any], future: Future[Any]) -> bool:
        """Do one errand; return whether the way is still open."""
        begun = time.monotonic()
        try:
            result = work()
        except (UnreachableError, NetworkError) as error:
            self._broken(error)
            future.set_exception(error)
            return False
        except BaseException as error:  # the asker must hear of it
            self._done(begun)
            future.set_exception(error)
        else:
            self._done(begun)
            future.set_result(result)
        return True

    def _done(self, begun: float) -> None:
        """Become free again, and note the time taken; a slow time of long ago counts less and less."""
        with self._change:
            self._slowest = max(time.monotonic() - begun, FORGETTING * (self._slowest or 0.0))
            self._become("free")

    def _broken(self, error: Exception) -> None:
        with self._change:
            self._why = str(error)
            self._tries += 1
            self._become("opening")
            self._change.notify_all()
