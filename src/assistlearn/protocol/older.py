"""Messages as older releases wrote them: read from one's own disk, never from the network.

The files of a run that an older release has begun or finished stay unchanged: ``begin.msg``, requests and replies in an
agent's store, answers in the run's folder. :func:`assistlearn.protocol.codec.decode_kept` reads them, with the types of
their version. A type that has changed is kept here in its old form, and its ``now`` returns the message of today. Up to
version 3 every field travelled with its name, and the header had 20 bytes: it also held the length of the body and the
number of values.
"""

from __future__ import annotations

import struct
from typing import Annotated, Any, ClassVar, Literal, Protocol, cast, runtime_checkable

import msgspec

from assistlearn.core.quantise import quantise
from assistlearn.errors import ProtocolError
from assistlearn.protocol import messages as m
from assistlearn.protocol.arrays import (
    Bits,
    ClassCodes,
    Numbers,
    pack_codes,
    pack_numbers,
    unpack_bits,
    unpack_codes,
    unpack_numbers,
)
from assistlearn.protocol.levels import plain_levels
from assistlearn.protocol.messages import Message, type_of
from assistlearn.protocol.older_arrays import ClassCodesOfVersion3, LevelsOfVersion3

UNSAID = -1
"""In place of a seed that an older release did not send."""

SINCE: dict[str, Any] = {"turn_seeds": UNSAID, "models_per_turn": 1, "first_round": "in turn", "epsilon": None}
"""The settings that a task of an older release does not have, and the values that it was trained with."""


_HEADER = struct.Struct("<4sHHIQ")

FINEST_BITS = 32

LAST_NAMED = 3
"""The last version in which fields travelled with their names."""


@runtime_checkable
class Older(Protocol):
    """A message of an older version."""

    def now(self) -> Message:
        """Return the message of today that says the same, as far as there is one."""
        ...


class Named(Message, frozen=True, array_like=False):
    """A message whose fields travelled with their names."""


class BeginOfVersion1(Named, frozen=True, tag="begin"):
    """The task, without the number from which the seeds of the turns are drawn: each turn came with its own seed."""

    method: str
    n_samples: int
    n_classes: int
    labels: ClassCodesOfVersion3
    seed: int
    weights: Numbers | None
    holdout: Bits | None
    reward: str
    cv: int
    loss: str
    shrinkage: float
    score_bits: int

    def now(self) -> m.Begin:
        """Return the task of today; settings that it does not have get the values of that time."""
        return _begin_now(SINCE | msgspec.structs.asdict(self) | {"labels": self.labels.now()})


class BeginOfVersion2(BeginOfVersion1, frozen=True, tag="begin"):
    """The task, when agents made one model per turn."""

    turn_seeds: int


class BeginOfVersion3(BeginOfVersion2, frozen=True, tag="begin"):
    """The task, when each label had a byte or two, and agents always heard of each other in the first round."""

    models_per_turn: int


class BeginOfVersion4(Message, frozen=True, tag="begin"):
    """The task, when every label that was told was true."""

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
    models_per_turn: int
    score_bits: int
    first_round: Literal["in turn", "apart"]

    def now(self) -> m.Begin:
        """Return the task."""
        return _begin_now(SINCE | msgspec.structs.asdict(self))


class BeginOfVersion5(BeginOfVersion4, frozen=True, tag="begin"):
    """The task, when helpers were told the labels of hold-out samples, too."""

    epsilon: float | None


class NewsOfVersion3(msgspec.Struct, frozen=True, forbid_unknown_fields=True, array_like=True):
    """A model that somebody kept."""

    turn: int
    round: int
    model_weight: float
    reward: Bits | LevelsOfVersion3 | None

    def now(self) -> m.News:
        """Return the same news."""
        return m.News(self.turn, self.round, self.model_weight, _array_now(self.reward))


class TakeTurnOfVersion3(Named, frozen=True, tag="take-turn"):
    """A turn, and news of rewards whose levels came with their counts."""

    turn: int
    round: int
    since: int
    news: Annotated[list[NewsOfVersion3], msgspec.Meta(max_length=100_000)]

    def now(self) -> m.TakeTurn:
        """Return the same turn."""
        return m.TakeTurn(**msgspec.structs.asdict(self) | {"news": [news.now() for news in self.news]})


class TurnTakenOfVersion3(Named, frozen=True, tag="turn-taken"):
    """A turn that was taken, with a reward whose levels came with their counts."""

    turn: int
    reward: Bits | LevelsOfVersion3
    model_weight: float
    mean_reward: float
    perfect: bool
    holdout: ClassCodesOfVersion3 | LevelsOfVersion3 | None = None

    def now(self) -> m.TurnTaken:
        """Return the same answer."""
        arrays = {"reward": _array_now(self.reward), "holdout": _array_now(self.holdout)}
        return m.TurnTaken(**msgspec.structs.asdict(self) | arrays)


class ScoresOfVersion4(Message, frozen=True, tag="scores"):
    """Votes that are not rounded."""

    known: Bits
    scores: Numbers
    total_weight: float

    def now(self) -> m.Scores:
        """Return the votes in the finest levels. Nobody keeps votes, so that nothing better is needed."""
        return _scores_now(self)


class ScoresOfVersion3(Named, frozen=True, tag="scores"):
    """Votes that are not rounded, when fields had names."""

    known: Bits
    scores: Numbers
    total_weight: float

    def now(self) -> m.Scores:
        """Return the votes in the finest levels."""
        return _scores_now(self)


class Snapshot(msgspec.Struct, frozen=True, forbid_unknown_fields=True, array_like=True):
    """The state of a run after a turn, as vectors of n numbers."""

    turn: int
    round: int
    vectors: Annotated[list[Numbers | None], msgspec.Meta(max_length=4)]


class TakeTurnOfVersion1(Named, frozen=True, tag="take-turn"):
    """A turn with its seed and, where the news would have been larger, the state of the run."""

    turn: int
    round: int
    seed: int
    since: int
    news: Annotated[list[NewsOfVersion3], msgspec.Meta(max_length=100_000)]
    state: Snapshot | None = None

    def now(self) -> m.TakeTurn:
        """Return the turn with its news; a state is lost."""
        news = [news.now() for news in self.news]
        return m.TakeTurn(run=self.run, turn=self.turn, round=self.round, since=self.since, news=news)


CHANGED: dict[int, tuple[type[Message], ...]] = {
    1: (BeginOfVersion1, TakeTurnOfVersion1),
    2: (BeginOfVersion2,),
    3: (BeginOfVersion3, TakeTurnOfVersion3, TurnTakenOfVersion3, ScoresOfVersion3),
    4: (BeginOfVersion4, ScoresOfVersion4),
    5: (BeginOfVersion5,),
}
"""For each older version, the types that the next version has changed, in their old form."""


class SameAsNow(Named, frozen=True):
    """A message that differs from the one of today in one thing: its fields had names."""

    today: ClassVar[type[Message]]

    def now(self) -> Message:
        """Return the message of today."""
        return self.today(**msgspec.structs.asdict(self))


def types_of_version(version: int, today: dict[str, type[Message]]) -> dict[str, type[Message]]:
    """Return the types of an older version, by their names: those of today, except those that have changed since.

    >>> sorted(types_of_version(1, {"end": m.End}))
    ['begin', 'end', 'scores', 'take-turn', 'turn-taken']
    """
    types = {name: _named(kind) for name, kind in today.items()} if version <= LAST_NAMED else dict(today)
    for older in sorted((number for number in CHANGED if number >= version), reverse=True):
        types |= {type_of(kind): kind for kind in CHANGED[older]}
    return types


def named_body_of(data: bytes) -> memoryview:
    """Return the body of a message whose fields have names, and whose header says how long it is."""
    if len(data) < _HEADER.size:
        raise ProtocolError(f"An older message has a header of {_HEADER.size} bytes; these are {len(data)} bytes.")
    _, _, zeros, length, _ = _HEADER.unpack_from(data)
    if zeros != 0 or length != len(data) - _HEADER.size:
        raise ProtocolError(f"The header says {length} bytes follow; {len(data) - _HEADER.size} do.")
    return memoryview(data)[_HEADER.size :]


def _named(kind: type[Message]) -> type[Message]:
    """Return the form that a type of today had when its fields had names."""
    fields: list[Any] = [
        (field.name, field.type) if field.required else (field.name, field.type, field.default)
        for field in msgspec.structs.fields(kind)
        if field.name != "run"
    ]
    name, tag, more = kind.__name__, type_of(kind), {"today": kind}
    named: Any = msgspec.defstruct(name, fields, bases=(SameAsNow,), namespace=more, tag=tag, frozen=True, kw_only=True)
    return cast(type[Message], named)


def _begin_now(said: dict[str, Any]) -> m.Begin:
    """Return a task without the labels and weights of its hold-out samples."""
    if said["holdout"] is None:
        return m.Begin(**said)
    n, n_classes = said["n_samples"], said["n_classes"]
    training = ~unpack_bits(said["holdout"], n)
    labels = pack_codes(unpack_codes(said["labels"], n, n_classes)[training], n_classes)
    weights = None if said["weights"] is None else pack_numbers(unpack_numbers(said["weights"], n)[training])
    return m.Begin(**said | {"labels": labels, "weights": weights})


def _scores_now(older: ScoresOfVersion3 | ScoresOfVersion4) -> m.Scores:
    said = quantise(unpack_numbers(older.scores, older.scores.n), FINEST_BITS)
    levels = plain_levels(said.levels, said.bits, said.scale)
    return m.Scores(run=older.run, known=older.known, scores=levels, total_weight=older.total_weight)


def _array_now(array: Any) -> Any:
    return array.now() if isinstance(array, ClassCodesOfVersion3 | LevelsOfVersion3) else array
