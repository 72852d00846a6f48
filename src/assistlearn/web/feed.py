"""Follow a run or an agent in a thread of its own, and give all watchers the newest page.

All watchers share one state of the page, the newest. A slow watcher gets the newest state when it asks for more; the
states in between are not kept. So memory grows neither with the length of a run nor with slow watchers. Nothing is
drawn while nobody watches.
"""

from __future__ import annotations

import asyncio
import errno
import logging
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from time import monotonic

from assistlearn.errors import AssistLearnError
from assistlearn.web.page_drawing import Drawing
from assistlearn.web.page_state import PageState
from assistlearn.web.watched import Watched

logger = logging.getLogger("assistlearn.web")

PASSING = (errno.EMFILE, errno.ENFILE, errno.EAGAIN, errno.EINTR)
"""Errors of the system that pass: too many files are open just now."""

AGAIN = 1.0
"""Seconds after which something is tried again that failed by such an error."""

LOOK = 0.05
"""Seconds between two looks at a log that has not grown."""


class Feed:
    """Reads news, draws the page and wakes the watchers, in a thread of its own.

    Parameters
    ----------
    watched : Watched
        A run or an agent.
    failed : callable, optional
        Called from that thread with the error that ends it.
    """

    def __init__(self, watched: Watched, failed: Callable[[BaseException], object] = lambda error: None) -> None:
        self._watched = watched
        self._failed = failed
        self._drawing = Drawing(watched)
        self._watchers = 0
        self._requests = self._fresh = 0
        self._wanted = threading.Event()
        self._over = threading.Event()
        self._loop: asyncio.AbstractEventLoop | None = None
        self._bell = asyncio.Event()
        self._thread = threading.Thread(target=self._work, name="feed", daemon=True)

    # -- in the server's loop

    def start(self) -> None:
        """Start the thread. Call this in the loop of the server."""
        self._loop = asyncio.get_running_loop()
        self._thread.start()

    def stop(self) -> None:
        """Make the thread end, and wake all watchers that wait for news."""
        self._over.set()
        self._wanted.set()
        self._ring()

    def join(self) -> None:
        """Wait until the thread has ended."""
        self._thread.join()

    @property
    def over(self) -> bool:
        """Whether there will be no more news."""
        return self._over.is_set()

    @contextmanager
    def watcher(self) -> Iterator[None]:
        """Count one more watcher inside the ``with`` block. The page is drawn only while there is a watcher."""
        self._watchers += 1
        self._wanted.set()
        try:
            yield
        finally:
            self._watchers -= 1
            if not self._watchers and not self.over:
                self._wanted.clear()

    @property
    def n_watchers(self) -> int:
        """How many watch now."""
        return self._watchers

    async def current(self, seconds: float) -> PageState:
        """Return the page as it is now. If that takes longer than ``seconds``, return the last page that was drawn."""
        self._requests = wanted = self._requests + 1
        end = monotonic() + seconds
        with self.watcher():
            while self._fresh < wanted and not self.over and (left := end - monotonic()) > 0.0:
                with suppress(TimeoutError):
                    await asyncio.wait_for(self._bell.wait(), left)
        return self._drawing.state

    async def newest(self, beyond: int, seconds: float) -> PageState:
        """Return the newest state. Wait up to ``seconds`` for a state with a higher number than ``beyond``."""
        bell = self._bell
        if self._drawing.state.number <= beyond and not self.over:
            with suppress(TimeoutError):
                await asyncio.wait_for(bell.wait(), seconds)
        return self._drawing.state

    def _ring(self) -> None:
        bell, self._bell = self._bell, asyncio.Event()
        bell.set()

    # -- in the thread

    def _work(self) -> None:
        try:
            self._follow()
        except BaseException as error:
            self._failed(error)
            self._over.set()
            self._tell()
        finally:
            self._drawing.close()

    def _follow(self) -> None:
        while not self.over:
            asked = self._requests
            try:
                more = self._watched.take_news()
                drew = self._wanted.is_set() and self._drawing.draw()
            except (OSError, AssistLearnError) as error:
                if not passes(error):
                    raise
                logger.warning("The page waits a second: %s", error)
                self._over.wait(AGAIN)
                continue
            if self._drawing.is_whole and asked != self._fresh:
                self._fresh = asked
                drew = True
            if drew:
                self._tell()
            elif not more:
                self._over.wait(LOOK)

    def _tell(self) -> None:
        if self._loop is not None and not self._loop.is_closed():
            self._loop.call_soon_threadsafe(self._ring)


def passes(error: BaseException) -> bool:
    """Return whether an error comes of one of the system that passes.

    >>> passes(OSError(errno.EMFILE, "Too many open files")), passes(OSError(errno.EIO, "Input/output error"))
    (True, False)
    """
    while True:
        if isinstance(error, OSError) and error.errno in PASSING:
            return True
        if error.__cause__ is None:
            return False
        error = error.__cause__
