"""The stream of one watcher: server-sent events with what has changed since the place in the log that it knows.

The id of every event is the byte offset in the log up to which the page is drawn. A watcher that lost its connection
comes back with the last id. Sections that changed at that very place are sent again, because a section may have been
drawn since then without a new event. Every section has a version, so that the page skips those that it shows already.
"""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Mapping
from datetime import UTC, datetime
from typing import Any

from assistlearn.web.feed import Feed
from assistlearn.web.page_state import Drawn, PageState
from assistlearn.web.watched import HowItStands

BEAT = 5.0
"""Seconds without news after which a watcher is told that the connection still works."""

RETRY = 1000
"""Milliseconds after which a browser tries again."""


async def stream(feed: Feed, log: int, place: int) -> AsyncIterator[str]:
    """Yield events until the feed is over, or another log has taken the place of the one that the watcher knows.

    Parameters
    ----------
    feed : Feed
        What is watched.
    log, place : int
        The number of the log that the watcher's page shows, and how many of its bytes the page shows.
    """
    with feed.watcher():
        yield f"retry: {RETRY}\n\n"
        known: dict[str, str] | None = None
        number = 0
        while True:
            state = await feed.newest(number, BEAT)
            if feed.over:
                yield event("over", {})
                return
            if state.log != log:
                yield event("anew", {})
                return
            if state.number == number:
                yield event("beat", {})
                continue
            changed = state.since(place) if known is None else state.other_than(known)
            known = state.versions
            number = state.number
            yield event("page", told(state, changed), state.place)


def event(kind: str, facts: Mapping[str, Any], place: int | None = None) -> str:
    r"""Return the text of a server-sent event.

    >>> event("page", {"state": "running"}, 120)
    'id: 120\nevent: page\ndata: {"state": "running"}\n\n'
    """
    head = "" if place is None else f"id: {place}\n"
    return f"{head}event: {kind}\ndata: {json.dumps(facts)}\n\n"


def told(state: PageState, changed: Mapping[str, Drawn]) -> dict[str, Any]:
    """Return what the page is told: its top line, the keys of its sections, and the sections that have changed."""
    return {
        **told_standing(state.standing, datetime.now(UTC)),
        "order": list(state.sections),
        "sections": {key: {"version": drawn.version, "html": drawn.html} for key, drawn in changed.items()},
    }


def told_standing(standing: HowItStands, now: datetime) -> dict[str, Any]:
    """Return the top line for the page. It says how long ago the last event was, as the browser's clock may differ."""
    quiet = None if standing.last is None else max((now - standing.last).total_seconds(), 0.0)
    return {
        "condition": standing.condition,
        "name": standing.name,
        "words": standing.words,
        "quiet": quiet,
        "now": now.timestamp(),
    }
