"""A turn of an earlier run that is taken again, as the initiator knows it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from assistlearn.protocol import messages as m
from assistlearn.protocol.known_before import KnownBefore


@dataclass(frozen=True)
class TurnAgain:
    """What the initiator knows of a turn before it is taken again.

    Attributes
    ----------
    number : int
        Which turn of the earlier run it was.
    known : KnownBefore
        The samples about which it spoke.
    answer : callable
        Returns what was answered then, about all samples.
    """

    number: int
    known: KnownBefore
    answer: Callable[[], m.TurnTaken]

    def whole(self, part: m.TurnTaken) -> m.TurnTaken:
        """Return the answer about all samples, from the part that was sent."""
        return self.known.whole(part, self.answer())
