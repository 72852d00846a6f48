"""Follows what is watched in a thread of its own, and hands all watchers the newest page there is.

There is one story for all watchers, and one snapshot of the page, always the newest. A watcher that is slow finds the
newest when it comes back for more; what was overtaken is not kept for it. So memory does not grow with the length of
a run, nor with the slowness of watchers. Nothing is drawn while nobody watches.
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Hashable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field, replace
from time import monotonic
from types import MappingProxyType

from assistlearn.web.watched import Fragment, Standing, Watched

LOOK = 0.05
"""Seconds between two looks at a log that has not grown."""

DRAW = 0.25
"""Seconds between two drawings of the page, at least."""

SHARE = 2.0
"""After a drawing, the feed rests from drawing this many times as long as it took: a run comes first."""


@dataclass(frozen=True)
class Shown:
    """A section as it was drawn, and the place in the log at which it last changed."""

    fragment: Fragment
    changed: int


@dataclass(frozen=True)
class Snapshot:
    """The page at one time.

    Attributes
    ----------
    number : int
        Counts the snapshots.
    log : int
        Which log it is of: another one may take its place.
    place : int
        The byte in the log up to which facts are in it.
    standing : Standing
        How things stand.
    sections : mapping from str to Shown
        By key, in their order.
    """

    number: int
    log: int
    place: int
    standing: Standing
    sections: Mapping[str, Shown] = field(default_factory=lambda: MappingProxyType({}))

    def since(self, place: int) -> dict[str, Shown]:
        """Return the sections that may have changed since the page was at a place."""
        return {key: shown for key, shown in self.sections.items() if shown.changed >= place}


class Feed:
    """Reads, draws and tells, in a thread of its own.

    Parameters
    ----------
    watched : Watched
        A run or an agent.
    failed : callable, optional
        Called from that thread with an error that it ends with.
    """

    def __init__(self, watched: Watched, failed: Callable[[BaseException], object] = lambda error: None) -> None:
        self._watched = watched
        self._failed = failed
        self._snapshot = Snapshot(0, watched.generation, 0, Standing("reading", "reading", ""))
        self._watchers = 0
        self._requests = self._fresh = 0
        self._wanted = threading.Event()
        self._over = threading.Event()
        self._loop: asyncio.AbstractEventLoop | None = None
        self._bell = asyncio.Event()
        self._thread = threading.Thread(target=self._work, name="feed", daemon=True)

    # -- in the server's loop

    def start(self) -> None:
        """Begin; called in the loop of the server."""
        self._loop = asyncio.get_running_loop()
        self._thread.start()

    def stop(self) -> None:
        """End; whoever waits for news is woken."""
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
        """Be a watcher for a while: the page is drawn only while there is one."""
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

    @property
    def title(self) -> str:
        """What the page is called."""
        return self._watched.title

    async def current(self, seconds: float) -> Snapshot:
        """Return the page as it is now, if that takes no longer than so many seconds; else the last that was drawn."""
        self._requests = wanted = self._requests + 1
        end = monotonic() + seconds
        with self.watcher():
            while self._fresh < wanted and not self.over and (left := end - monotonic()) > 0.0:
                with suppress(TimeoutError):
                    await asyncio.wait_for(self._bell.wait(), left)
        return self._snapshot

    async def newest(self, beyond: int, seconds: float) -> Snapshot:
        """Return the newest snapshot: one with a higher number than that, or after so many seconds the same."""
        bell = self._bell
        if self._snapshot.number <= beyond and not self.over:
            with suppress(TimeoutError):
                await asyncio.wait_for(bell.wait(), seconds)
        return self._snapshot

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
            self._tell(self._snapshot)

    def _follow(self) -> None:
        drawn: Hashable = None
        due = 0.0
        while not self.over:
            asked, more = self._requests, self._watched.take_news()
            now, mark = monotonic(), self._watched.mark()
            if mark != drawn and self._wanted.is_set() and now >= due:
                self._draw()
                drawn, took = mark, monotonic() - now
                due = now + took + max(DRAW, SHARE * took)
                self._answer(asked)
            elif mark == drawn:
                self._answer(asked)
            if not more:
                self._over.wait(LOOK)

    def _answer(self, asked: int) -> None:
        """Let those know who have asked for the page before it was drawn."""
        if asked != self._fresh:
            self._fresh = asked
            self._tell(self._snapshot)

    def _draw(self) -> None:
        """Draw what has changed. The first section, which says how things stand, is told while others are drawn."""
        before, watched = self._snapshot, self._watched
        known = {} if before.log != watched.generation else dict(before.sections)
        page = Snapshot(0, watched.generation, watched.place, watched.standing())
        made: dict[str, Shown] = {}
        told = -DRAW
        for fragment in watched.fragments():
            shown = known.get(fragment.key)
            if shown is None or shown.fragment.version != fragment.version:
                shown = Shown(fragment, watched.place)
            made[fragment.key] = shown
            if monotonic() > told + DRAW:
                rest = {key: each for key, each in known.items() if key not in made}
                self._tell(replace(page, sections=MappingProxyType(made | rest)))
                told = monotonic()
        self._tell(replace(page, sections=MappingProxyType(made)))

    def _tell(self, snapshot: Snapshot) -> None:
        self._snapshot = replace(snapshot, number=self._snapshot.number + 1)
        if self._loop is not None and not self._loop.is_closed():
            self._loop.call_soon_threadsafe(self._ring)
