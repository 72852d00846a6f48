"""Asks another site by short calls, again and again, until the answer is there or nothing was heard for too long."""

from __future__ import annotations

import time
from collections.abc import Iterator
from typing import Any

from assistlearn.reach.flare.carrying.command_socket import Errand, Outcome
from assistlearn.reach.flare.carrying.pieces import PIECE

CALL = 30.0
"""Seconds for one call; the other side answers within a third of them."""

SHORTEST = 1.0
"""Seconds that a call has at the least, when it is nearly time to give up."""

PAUSE = 1.0
"""Seconds between two tries."""


class Asking:
    """Asks a site what one errand says.

    Parameters
    ----------
    site : proxy
        FLARE's proxy of the site.
    errand : Errand
        What to ask, and how long to try while nothing is heard.
    secure : bool
        Whether calls are encrypted from end to end.
    """

    def __init__(self, site: Any, errand: Errand, secure: bool) -> None:
        self._site = site
        self._errand = errand
        self._secure = secure
        self._heard = time.monotonic()

    def outcomes(self) -> Iterator[Outcome]:
        """Yield an outcome whenever something is heard; the last outcome has the answer."""
        number, request = self._errand.number, self._errand.request
        in_one = len(request) <= PIECE
        told = False
        while True:
            if not told and not in_one:
                yield from self._bring()
            state, total, content = self._call("ask", number, request if in_one and not told else None)
            if state == "done":
                break
            told = state != "unknown"
            yield Outcome("working")
        answer = bytearray(content)
        while len(answer) < total:
            yield Outcome("working")
            answer += self._call("fetch", number, len(answer))
        yield Outcome("done", bytes(answer))

    def _bring(self) -> Iterator[Outcome]:
        request = memoryview(self._errand.request)
        there = 0
        while there < len(request):
            piece = bytes(request[there : there + PIECE])
            there = self._call("bring", self._errand.number, there, len(request), piece)
            yield Outcome("working")

    def _call(self, verb: str, *arguments: Any) -> Any:
        """Return a call's result; when it is time to give up, raise FLARE's last error."""
        while True:
            left = self._heard + self._errand.give_up_after - time.monotonic()
            try:
                result = getattr(self._site(timeout=max(min(CALL, left), SHORTEST), secure=self._secure), verb)(
                    *arguments
                )
            except Exception:
                if time.monotonic() - self._heard >= self._errand.give_up_after:
                    raise
                time.sleep(PAUSE)
            else:
                self._heard = time.monotonic()
                return result
