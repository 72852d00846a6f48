"""Draw the sections of a page: those without a picture at once, pictures one by one in a thread of their own.

There is a pause between two drawings. News is read while a picture is drawn.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, replace
from time import monotonic
from types import MappingProxyType

from assistlearn.web.page_state import Drawn, PageState
from assistlearn.web.watched import Draft, Watched

OFTEN = 0.25
"""Seconds between two drawings of sections without a picture, at least."""

REST = 3.0
"""The pause after a picture, as a multiple of the time that it took: a run on this machine comes first."""


@dataclass(frozen=True)
class _UnderWay:
    """A picture that is being drawn: of what, for which log, since when."""

    draft: Draft
    log: int
    began: float
    html: Future[str]


class Drawing:
    """The newest page of something that is watched.

    Parameters
    ----------
    watched : Watched
        A run or an agent.
    clock : callable, optional
        Returns seconds.
    """

    def __init__(self, watched: Watched, clock: Callable[[], float] = monotonic) -> None:
        self._watched = watched
        self._clock = clock
        self._mark: Hashable = None
        self._pending: dict[str, Draft] = {}
        self._order: tuple[str, ...] = ()
        self._due = self._due_picture = 0.0
        self._under_way: _UnderWay | None = None
        self._artist = ThreadPoolExecutor(max_workers=1, thread_name_prefix="pictures")
        self.state = PageState(0, watched.generation, 0, watched.standing(), watched.frame())

    @property
    def is_whole(self) -> bool:
        """Whether the page shows the newest event. Pictures may still be older."""
        return self._mark == self._watched.mark() and all(key in self.state.sections for key in self._order)

    def draw(self) -> bool:
        """Draw the sections that are due; return whether the page has changed."""
        now, mark = self._clock(), self._watched.mark()
        if mark != self._mark and now >= self._due:
            self._draw_at_once(self._watched.drafts())
            self._mark, self._due = mark, now + OFTEN
            return True
        taken = self._take_picture(now)
        if self._under_way is None:
            self._begin_picture(now)
        return taken

    def close(self) -> None:
        """End the thread that draws pictures, once its present picture is done."""
        self._artist.shutdown()

    def _draw_at_once(self, drafts: list[Draft]) -> None:
        watched, before = self._watched, self.state
        known = before.sections if before.log == watched.generation else {}
        self._order = tuple(draft.key for draft in drafts)
        changed = [draft for draft in drafts if draft.key not in known or known[draft.key].content != draft.content]
        self._pending = {draft.key: draft for draft in changed if draft.is_costly}
        drawn = {each.key: self._drawn(each, each.draw()) for each in changed if not each.is_costly}
        page = replace(before, log=watched.generation, place=watched.place, standing=watched.standing())
        self._show(replace(page, frame=watched.frame()), {**known, **drawn})

    def _begin_picture(self, now: float) -> None:
        """Begin to draw the oldest picture. A picture that was never drawn comes first, without a pause."""
        shown = self.state.sections
        ready = [key for key in self._pending if key not in shown or now >= self._due_picture]
        if ready:
            draft = self._pending.pop(min(ready, key=lambda key: shown[key].changed if key in shown else -1))
            self._under_way = _UnderWay(draft, self.state.log, now, self._artist.submit(draft.draw))

    def _take_picture(self, now: float) -> bool:
        """Put the picture into the page, if it is done; return whether the page has changed."""
        made = self._under_way
        if made is None or not made.html.done():
            return False
        self._under_way, self._due_picture = None, now + REST * (now - made.began)
        key, html = made.draft.key, made.html.result()
        newer = self._pending.get(key)
        if newer is not None and newer.content == made.draft.content:
            del self._pending[key]
        if made.log != self.state.log:
            return False
        self._show(self.state, {**self.state.sections, key: self._drawn(made.draft, html)})
        return True

    def _drawn(self, draft: Draft, html: str) -> Drawn:
        return Drawn(html, draft.content, self._watched.place)

    def _show(self, page: PageState, sections: dict[str, Drawn]) -> None:
        ordered = {key: sections[key] for key in self._order if key in sections}
        self.state = replace(page, number=self.state.number + 1, sections=MappingProxyType(ordered))
