"""The component by which FLARE's process at a site or at the relay shows that it lives. The kit names it."""

from __future__ import annotations

import os
import threading
import time

from nvflare.apis.event_type import EventType
from nvflare.apis.fl_component import FLComponent
from nvflare.apis.fl_context import FLContext
from nvflare.fuel.f3.cellnet.core_cell import CoreCell

from assistlearn.reach.flare.site.signs import INTERVAL, sign, wanted

STDOUT = 1
"""Where the log goes, and signs with it. A sign is written at once and whole, without Python's own buffers."""

ANSWERED = 20.0
"""Seconds within which the relay must answer a heartbeat. FLARE waits for thirty, then goes on as if answered."""

STUCK = 180.0
"""Seconds without another heartbeat after which FLARE's client counts as dead, even if the rest of its process runs."""


class SignOfLife(FLComponent):
    """Gives signs for as long as FLARE's own work goes on.

    At a site that means: heartbeats to the relay are sent, answered or not. The sign says whether they are answered.
    """

    def __init__(self) -> None:
        super().__init__()
        self._asked: float | None = None
        self._answered: float | None = None
        word = wanted()
        if word is not None:
            threading.Thread(target=self._give, args=(word,), daemon=True).start()

    def handle_event(self, event_type: str, fl_ctx: FLContext) -> None:
        """Note when heartbeats are sent, and whether their answers come in time."""
        now = time.monotonic()
        if event_type == EventType.BEFORE_CLIENT_HEARTBEAT:
            self._asked = now
        elif event_type == EventType.AFTER_CLIENT_HEARTBEAT and self._asked is not None:
            self._answered = now if now - self._asked < ANSWERED else None

    def _give(self, word: str) -> None:
        while True:
            if self._asked is None or time.monotonic() - self._asked < STUCK:
                os.write(STDOUT, sign(word, self._connected()))
            time.sleep(INTERVAL)

    def _connected(self) -> bool:
        """Return whether the relay listens, or the site is connected to it and has had its answer."""
        cells = list(CoreCell.ALL_CELLS.values())
        return any(cell.is_backbone_ready() for cell in cells) and (self._asked is None or self._answered is not None)
