"""Draws the sections of a page: what costs little at once, pictures one by one, and neither more often than is seen."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from dataclasses import replace
from time import monotonic
from types import MappingProxyType

from assistlearn.web.page_state import Drawn, PageState
from assistlearn.web.watched import Draft, Watched

OFTEN = 0.25
"""Seconds between two drawings of what costs little, at least."""

REST = 3.0
"""After a picture, none is drawn again for this many times as long as it took: a run on this machine comes first."""


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
        self.state = PageState(0, watched.generation, 0, watched.standing(), watched.frame())

    @property
    def is_whole(self) -> bool:
        """Whether the page is drawn up to the newest fact, but for pictures that are drawn again."""
        return self._mark == self._watched.mark() and all(key in self.state.sections for key in self._order)

    def draw(self) -> bool:
        """Draw what is due, a little at a time, so that news is read between; return whether the page is another."""
        now, mark = self._clock(), self._watched.mark()
        if mark != self._mark and now >= self._due:
            self._mark, self._due = mark, now + OFTEN
            self._draw_at_once(self._watched.drafts())
            return True
        return self._draw_a_picture(now)

    def _draw_at_once(self, drafts: list[Draft]) -> None:
        watched, before = self._watched, self.state
        known = before.sections if before.log == watched.generation else {}
        self._order = tuple(draft.key for draft in drafts)
        changed = [draft for draft in drafts if draft.key not in known or known[draft.key].content != draft.content]
        self._pending = {draft.key: draft for draft in changed if draft.is_costly}
        drawn = {draft.key: self._drawn(draft) for draft in changed if not draft.is_costly}
        page = replace(before, log=watched.generation, place=watched.place, standing=watched.standing())
        self._show(replace(page, frame=watched.frame()), {**known, **drawn})

    def _draw_a_picture(self, now: float) -> bool:
        """Draw the picture that has waited longest; one that is not there yet need not wait for those that are."""
        shown = self.state.sections
        ready = [key for key in self._pending if key not in shown or now >= self._due_picture]
        if not ready:
            return False
        key = min(ready, key=lambda key: shown[key].changed if key in shown else -1)
        drawn = self._drawn(self._pending.pop(key))
        self._show(self.state, {**shown, key: drawn})
        end = self._clock()
        self._due_picture = end + REST * (end - now)
        return True

    def _drawn(self, draft: Draft) -> Drawn:
        return Drawn(draft.draw(), draft.content, self._watched.place)

    def _show(self, page: PageState, sections: dict[str, Drawn]) -> None:
        ordered = {key: sections[key] for key in self._order if key in sections}
        self.state = replace(page, number=self.state.number + 1, sections=MappingProxyType(ordered))
