"""Messages as older releases wrote them: read from one's own disk, never from the network.

A run that an older release has begun or finished is kept as it was: ``begin.msg``, requests and replies in an agent's
store, answers in the run's folder. :func:`assistlearn.protocol.codec.decode_kept` reads them, with the types of their
version. A type that has changed stays here as it was, and says what it is :meth:`now`.
"""

from __future__ import annotations

from typing import Annotated, Protocol, runtime_checkable

import msgspec

from assistlearn.protocol import messages as m
from assistlearn.protocol.arrays import Bits, ClassCodes, Numbers
from assistlearn.protocol.messages import Message, News, type_of

UNSAID = -1
"""In place of a seed that an older release did not say."""


@runtime_checkable
class Older(Protocol):
    """A message of an older version."""

    def now(self) -> Message:
        """Return the message of today that says the same, as far as there is one."""
        ...


class BeginOfVersion1(Message, frozen=True, tag="begin"):
    """The task, without the number that the turns' seeds are drawn from: each turn was told its own."""

    method: str
    n_samples: int
    n_classes: int
    labels: ClassCodes
    seed: int
    weights: Numbers | None
    holdout: Bits | None
    reward: str
    cv: int
    loss: str
    shrinkage: float
    score_bits: int

    def now(self) -> m.Begin:
        """Return the task, with no number to draw seeds from."""
        return m.Begin(**msgspec.structs.asdict(self), turn_seeds=UNSAID, models_per_turn=1, first_round="in turn")


class BeginOfVersion2(Message, frozen=True, tag="begin"):
    """The task, when agents boosted one model a turn."""

    method: str
    n_samples: int
    n_classes: int
    labels: ClassCodes
    seed: int
    turn_seeds: int
    weights: Numbers | None
    holdout: Bits | None
    reward: str
    cv: int
    loss: str
    shrinkage: float
    score_bits: int

    def now(self) -> m.Begin:
        """Return the task, with one model a turn."""
        return m.Begin(**msgspec.structs.asdict(self), models_per_turn=1, first_round="in turn")


class Snapshot(msgspec.Struct, frozen=True, forbid_unknown_fields=True, array_like=True):
    """The state of a run itself, as vectors of n numbers, after a turn."""

    turn: int
    round: int
    vectors: Annotated[list[Numbers | None], msgspec.Meta(max_length=4)]


class TakeTurnOfVersion1(Message, frozen=True, tag="take-turn"):
    """A turn with its seed and, where the news would have been larger, the state of the run."""

    turn: int
    round: int
    seed: int
    since: int
    news: Annotated[list[News], msgspec.Meta(max_length=100_000)]
    state: Snapshot | None = None

    def now(self) -> m.TakeTurn:
        """Return the turn with its news; a state is lost."""
        return m.TakeTurn(run=self.run, turn=self.turn, round=self.round, since=self.since, news=self.news)


CHANGED: dict[int, tuple[type[Message], ...]] = {1: (BeginOfVersion1, TakeTurnOfVersion1), 2: (BeginOfVersion2,)}
"""For each older version the types that the version after it has changed, as they were."""


def types_of_version(version: int, today: dict[str, type[Message]]) -> dict[str, type[Message]]:
    """Return the types of a version, by their names: those of today, but for what has changed since.

    >>> sorted(types_of_version(1, {"end": m.End}))
    ['begin', 'end', 'take-turn']
    """
    types = dict(today)
    for older in sorted((number for number in CHANGED if number >= version), reverse=True):
        types |= {type_of(kind): kind for kind in CHANGED[older]}
    return types
