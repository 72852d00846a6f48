"""The sums of a ledger: how much each other agent has asked of this one, and been told, since the first entry.

A message counts for one thing, by its type:

========== ======== =================================================================
message    counts   its amount
========== ======== =================================================================
open       runs     1 for a run that is not open yet, or was forgotten
take-turn  turns    1 for a turn that was not the last one asked for
take-again turns    the same
align      ids      how many ids are asked about, found or not
predict    votes    how many samples are asked for, held or not
turn-taken bits     8 times its bytes on the wire
scores     bits     8 times its bytes on the wire
========== ======== =================================================================

A request with the same bytes as the last one that was counted in its run counts nothing, and neither does such an
answer. (Votes on the same samples count nothing as long as these are aligned.) So it costs nothing if a network repeats
a message, or if a message is sent again after a crash. What was counted stays counted; only the counts of a single run
end when the run is forgotten.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING, Literal, TypeAlias

import msgspec

from assistlearn.protocol.decision import Decision
from assistlearn.protocol.messages import (
    Align,
    Forget,
    Forgotten,
    Open,
    Predict,
    Scores,
    TakeAgain,
    TakeTurn,
    TurnTaken,
    type_of,
)

if TYPE_CHECKING:
    from assistlearn.protocol.entries import Entry

UNITS: dict[str, str] = {
    type_of(Open): "runs",
    type_of(TakeTurn): "turns",
    type_of(TakeAgain): "turns",
    type_of(Align): "ids",
    type_of(Predict): "votes",
    type_of(TurnTaken): "bits",
    type_of(Scores): "bits",
}
"""The unit in which each type of message is counted."""

Span: TypeAlias = Literal["all", "day", "run"]
"""Since the first entry; on one day, in UTC; in one run."""


class RunCount(msgspec.Struct, forbid_unknown_fields=True):
    """One run that is open: what was counted in it, and the last turn, request and answer that were counted."""

    units: dict[str, int] = {}
    turn: int | None = None
    asked: str = ""
    said: str = ""


class PeerCount(msgspec.Struct, forbid_unknown_fields=True):
    """One other agent: what was counted in all and on the last day, and its runs that are open.

    ``told`` are the figures of what it was told about people, as the last answer that told something states them.
    """

    units: dict[str, int] = {}
    day: str = ""
    today: dict[str, int] = {}
    runs: dict[str, RunCount] = {}
    told: dict[str, float] = {}

    def used(self, unit: str, span: Span, day: str, run: str) -> int:
        """Return how much of a unit was counted in a span; ``day`` is today, such as 2030-12-31."""
        if span == "run":
            return self.runs[run].units.get(unit, 0) if run in self.runs else 0
        if span == "day":
            return self.today.get(unit, 0) if day == self.day else 0
        return self.units.get(unit, 0)


@dataclass(frozen=True)
class Claim:
    """What a message counts for.

    Attributes
    ----------
    amount : int
        How much.
    check : callable
        Raises an error if that is too much. It is given what was counted before, the amount and the day.
    turn : int or None
        The turn that is asked for, if the message asks for one.
    """

    amount: int
    check: Callable[[PeerCount, int, str], None]
    turn: int | None = None


class Tally(msgspec.Struct, forbid_unknown_fields=True):
    """What was counted, by the name of the other agent; and the owner's last decision on each request for consent.

    >>> Tally().of("clinic").used("runs", "all", "2030-12-31", "")
    0
    """

    peers: dict[str, PeerCount] = {}
    decisions: dict[str, Decision] = {}

    def consented(self, now: datetime) -> list[str]:
        """Return the initiators to whose runs the owner consents now, for any purpose."""
        return sorted({decision.initiator for decision in self.decisions.values() if decision.holds(now)})

    def of(self, peer: str) -> PeerCount:
        """Return what was counted for one other agent."""
        return self.peers.get(peer, PeerCount())

    def take(self, entry: Entry) -> None:
        """Count one more entry."""
        if entry.decision is not None:
            decision = Decision.of(entry.decision)
            self.decisions[decision.request] = decision
            return
        if entry.counts is not None:
            self.peers[entry.peer] = msgspec.convert(entry.counts, PeerCount)
            return
        if entry.direction == "sent" and entry.type == type_of(Forgotten):
            self.of(entry.peer).runs.pop(entry.run, None)
        if entry.amount is None or entry.type == type_of(Forget):
            return
        peer = self.peers.setdefault(entry.peer, PeerCount())
        peer.told |= {name: max(figure, peer.told.get(name, 0.0)) for name, figure in (entry.told or {}).items()}
        run, unit = peer.runs.setdefault(entry.run, RunCount()), UNITS.get(entry.type, entry.type)
        if entry.time[:10] != peer.day:
            peer.day, peer.today = entry.time[:10], {}
        for counts in (peer.units, peer.today, run.units):
            counts[unit] = counts.get(unit, 0) + entry.amount
        if not entry.amount:
            return  # it repeats what was counted before
        if entry.direction == "sent":
            run.said = entry.digest
        elif entry.type != type_of(Open):
            run.asked, run.turn = entry.digest, entry.turn

    def repeated(self, peer: str, run: str, type: str, digest: str, turn: int | None) -> bool:
        """Return whether a message repeats what was counted last, so that it tells or asks nothing new."""
        known = self.of(peer).runs.get(run)
        if known is None:
            return False
        if type == type_of(Open):
            return True
        if type == type_of(Predict):
            return False  # the same bytes may mean other samples: that depends on the last alignment
        return digest in (known.asked, known.said) or (turn is not None and turn == known.turn)
