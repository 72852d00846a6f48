"""Whether helpers vote for new people as they did in training.

In training a helper's votes are honest: they are about samples that its models were not fitted to, and what it says of
them is checked. Nobody checks its votes for new people, whose labels nobody knows. A helper that turns its votes around
may still vote for each class as often as before. But it then agrees with the others where it used to disagree. So each
helper's votes are compared with those of training in a few figures: how often it votes for each class, how far its
votes lie apart, and how they go together with the votes of each other agent, the initiator's first of all.

A difference counts by what is left of it beyond what honest models may differ by (:data:`SLACK`): those that vote are
fitted to all samples, those of training to a part. An agreement that has grown is no alarm, nor are votes that lie
further apart: so it is for people who took part in training.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from statistics import NormalDist

import numpy as np

from assistlearn.types import Bools, Floats

RATE = 0.01
"""The rate of false alarms that is aimed at, over all helpers: where all are honest, and new people are like those of
training."""

LEAST = 50
"""With fewer people nothing is said: neither of training, nor of those to predict."""

MOST = 1_000
"""The votes on so many training samples are kept at the most."""

SLACK, SLACK_OF_MEAN, LEAST_SPREAD = 0.05, 0.75, 0.25
"""What honest models may differ by: the agreement of votes, and their mean, in standard deviations between people; and
the least share of the spread that they have in training. Models of folds are surer than the whole one, or less sure,
and lean to other classes; they hardly agree with others otherwise than it does."""

TINY = 1e-9

OF_AGREEMENT = 0.8
"""The share of the rate that agreements have. The other figures have the rest: they find votes that are all alike."""


@dataclass(frozen=True)
class Changed:
    helper: str
    n: int
    why: str

    def __str__(self) -> str:
        return (
            f"{self.helper} votes otherwise for {self.n:,} new people than it did in training: {self.why}. Either it "
            "does not say what its models say, or its data have changed, or these people are unlike those of training."
        )


@dataclass(frozen=True)
class _Figure:
    """A figure of a helper's votes: its mean then and now, and the standard errors by which it is too small now."""

    what: str
    then: float
    now: float
    z: float
    agreement: bool = False
    sides: int = 1


def kept(n_samples: int, seed: int) -> np.ndarray[tuple[int], np.dtype[np.intp]]:
    if n_samples <= MOST:
        return np.arange(n_samples)
    return np.sort(np.random.RandomState([seed, 7]).permutation(n_samples)[:MOST])


def changed(
    then: Mapping[str, Floats], now: Mapping[str, Floats], initiator: str, rate: float = RATE
) -> tuple[Changed, ...]:
    """Return the helpers that vote otherwise than in training.

    ``then`` are each agent's honest votes in training, by one unit of model weight, and ``now`` the same for new
    people; a row of zeros says nothing. The initiator is believed, and ``rate`` is that of false alarms, over all
    helpers together.

    The helper whose figures have changed most, all together, is named first. The others are then looked at again
    without it, since their agreement with it has changed, too. Where only two helpers vote and the initiator does not,
    their agreement does not tell which of them has changed. Then both are named.
    """
    present = [name for name in now if name in then and _spoken(then[name]).any() and _spoken(now[name]).any()]
    helpers = [name for name in present if name != initiator]
    found: list[Changed] = []
    while helpers:
        figures = {name: _figures(name, present, then, now) for name in helpers}
        together = [each for theirs in figures.values() for each in theirs]
        most = {kind: _most(kind, together, rate) for kind in (True, False)}
        alarmed = {
            name: sum(max(each.z, 0.0) for each in theirs)
            for name, theirs in figures.items()
            if any(each.z > most[each.agreement] for each in theirs)
        }
        if not alarmed:
            break
        worst = max(alarmed.values())
        named = [name for name, size in alarmed.items() if math.isclose(size, worst, rel_tol=1e-9)]
        for name in named:
            figure = max(figures[name], key=lambda each: each.z - most[each.agreement])
            why = f"{figure.what} was {figure.then:+.2f} on average, and is {figure.now:+.2f}"
            found.append(Changed(name, int(_spoken(now[name]).sum()), why))
        helpers = [name for name in helpers if name not in named]
        present = [name for name in present if name not in named]
    return tuple(found)


def _most(agreement: bool, figures: Sequence[_Figure], rate: float) -> float:
    share = rate * (OF_AGREEMENT if agreement else 1.0 - OF_AGREEMENT)
    count = sum(each.sides for each in figures if each.agreement == agreement)
    return NormalDist().inv_cdf(1.0 - share / max(count, 1))


def _figures(name: str, present: Sequence[str], then: Mapping[str, Floats], now: Mapping[str, Floats]) -> list[_Figure]:
    before, after = _spoken(then[name]), _spoken(now[name])
    if min(before.sum(), after.sum()) < LEAST:
        return []
    own_then, own_now = then[name][before], now[name][after]
    n_classes = own_then.shape[1]
    figures = [_mean(position, own_then, own_now) for position in range(n_classes if n_classes > 2 else 1)]
    spread_then, spread_now = (np.square(own - own_then.mean(axis=0)).sum(axis=1) for own in (own_then, own_now))
    figures.append(_lower("the spread of its votes", LEAST_SPREAD * spread_then, spread_now))
    pairs = {}
    for other in present:
        both = before & _spoken(then[other]), after & _spoken(now[other])
        if other != name and min(each.sum() for each in both) >= LEAST:
            pairs[other] = _products(name, other, then, now, both)
    agreements = [_lower(f"its agreement with {other}", *pair, SLACK) for other, pair in pairs.items()]
    if len(pairs) > 1:
        agreements += _with_all(name, [*pairs], then, now)
    return figures + [replace(each, agreement=True) for each in agreements]


def _with_all(name: str, others: Sequence[str], then: Mapping[str, Floats], now: Mapping[str, Floats]) -> list[_Figure]:
    before, after = (
        np.asarray(np.array([_spoken(said[agent]) for agent in (name, *others)]).all(axis=0), dtype=bool)
        for said in (then, now)
    )
    if min(before.sum(), after.sum()) < LEAST:
        return []
    pairs = [_products(name, other, then, now, (before, after)) for other in others]
    scales = [float(was.std()) or 1.0 for was, _ in pairs]
    was, is_ = (
        np.sum([pair[side] / scale for pair, scale in zip(pairs, scales, strict=True)], axis=0) for side in (0, 1)
    )
    return [_lower("its agreement with all others", was, is_, SLACK)]


def _mean(position: int, then: Floats, now: Floats) -> _Figure:
    """Return the mean vote for a class: it may be neither too small nor too large.

    Votes for a rare class are nearly all alike, so that they differ at least by what votes for all classes do.
    """
    what = f"its vote for class number {position + 1}"
    least = float(np.sqrt(then.var(axis=0).mean()))
    less, more = (
        _lower(what, sign * then[:, position], sign * now[:, position], SLACK_OF_MEAN, least) for sign in (1, -1)
    )
    return replace(less, z=max(less.z, more.z), sides=2)


def _products(
    name: str, other: str, then: Mapping[str, Floats], now: Mapping[str, Floats], both: tuple[Bools, Bools]
) -> tuple[Floats, Floats]:
    """Return how two agents agree about each person, then and now: the product of their votes, about their means."""
    mine, theirs = (then[agent][both[0]].mean(axis=0) for agent in (name, other))
    was, is_ = (
        ((said[name][rows] - mine) * (said[other][rows] - theirs)).sum(axis=1)
        for said, rows in zip((then, now), both, strict=True)
    )
    return was, is_


def _lower(what: str, then: Floats, now: Floats, slack: float = 0.0, least: float = 0.0) -> _Figure:
    """Return by how many standard errors a mean has fallen, beyond the slack; people differ by ``least`` at least."""
    spread = max(float(then.std(ddof=1)), least)
    error = math.hypot(spread / math.sqrt(len(then)), max(spread, float(now.std(ddof=1))) / math.sqrt(len(now)))
    fallen = float(then.mean() - now.mean()) - slack * spread
    z = fallen / error if spread > TINY else 0.0  # votes that were all alike in training tell nothing
    return _Figure(what, float(then.mean()), float(now.mean()), z)


def _spoken(votes: Floats) -> Bools:
    return np.asarray(votes.any(axis=1), dtype=bool)
