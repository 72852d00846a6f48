"""What replies release about samples, by kind, in bits per sample.

================= =============== ========================================================
kind              about           what it is
================= =============== ========================================================
rewards           training        whether a model was right
scores            training        how sure it was: of the truth, or of every class
hold-out answers  hold-out        what it answered: a class, or scores
votes             predicted       scores of all models together, for prediction
================= =============== ========================================================

``said`` is the number of bits that say something about one sample, before any coding. ``sent`` is the number of bits
per sample on the wire. It is nearer to what can be learned from them, because they are entropy-coded. Bits of votes are
those of one time that a sample is asked for.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Literal, TypeAlias

from assistlearn.core.ignorance import NEGLIGIBLE
from assistlearn.protocol import messages as m
from assistlearn.protocol.arrays import Bits, ClassCodes, Levels

About: TypeAlias = Literal["training", "hold-out", "predicted"]


@dataclass(frozen=True)
class ReleasedBits:
    """One release, or several of a kind added up: ``said`` and ``sent`` are bits per sample, all ``times`` together."""

    kind: str
    about: About
    times: int
    said: float
    sent: float


def releases_in(reply: m.TurnTaken, n_classes: int) -> Iterator[ReleasedBits]:
    """Yield what the answer to a turn releases.

    That is nothing if its model does not count: what such a model says is not sent. It is nothing, too, if the turn is
    taken again and no sample is new.
    """
    if not reply.model_weight > NEGLIGIBLE:
        return
    kind = "scores" if isinstance(reply.reward, Levels) else "rewards"
    if reply.reward.n:
        yield _release(kind, "training", reply.reward, 1 if n_classes == 2 else n_classes)
    if reply.holdout is not None and reply.holdout.n:
        yield _release("hold-out answers", "hold-out", reply.holdout, n_classes)


def votes(bits: int, n_classes: int, times: int, n_bytes: int, n_votes: int) -> ReleasedBits:
    """Return what votes of ``bits`` bits have released about one sample: ``n_votes`` votes in ``n_bytes`` bytes.

    >>> votes(16, 2, times=1, n_bytes=300, n_votes=100)
    ReleasedBits(kind='votes', about='predicted', times=1, said=16, sent=24.0)
    """
    said = bits * (1 if n_classes == 2 else n_classes)  # of two votes one is minus the other
    return ReleasedBits("votes", "predicted", times, said, 8 * n_bytes / max(n_votes, 1))


def added_up(releases: Iterable[ReleasedBits]) -> list[ReleasedBits]:
    sums: dict[str, ReleasedBits] = {}
    for new in releases:
        old = sums.get(new.kind, ReleasedBits(new.kind, new.about, 0, 0.0, 0.0))
        sums[new.kind] = ReleasedBits(
            new.kind, new.about, old.times + new.times, old.said + new.said, old.sent + new.sent
        )
    return list(sums.values())


def _release(kind: str, about: About, said: Bits | ClassCodes | Levels, scores: int) -> ReleasedBits:
    """Return the release of one array; if it holds scores, each sample has ``scores`` of them."""
    match said:
        case Levels():
            n, bits = said.n / scores, float(said.bits * scores)
        case ClassCodes():
            n, bits = said.n, float((said.n_classes - 2).bit_length())  # one code more than classes: an abstention
        case Bits():
            n, bits = said.n, 1.0
    return ReleasedBits(kind, about, 1, bits, 8 * len(said.data) / max(n, 1))
