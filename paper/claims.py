"""Check whether our results confirm what the paper's text claims about a figure."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from enum import StrEnum

import numpy as np
from scipy.stats import t as student
from scipy.stats import ttest_rel

from assistlearn.types import Floats
from paper.replication import FigureResult

LEVEL = 0.05
"""A difference counts as real if chance alone would cause it with a smaller probability than this."""


@dataclass(frozen=True)
class Comparison:
    """How much two methods differ on the same replications.

    ``difference`` is the mean. ``p`` is that of a two-sided paired t-test; 1 if all differences are zero, or there is
    only one. ``p_resplit`` is the same, corrected for replications that split the same samples again and again (Nadeau
    and Bengio, 2003).
    """

    difference: float
    p: float
    p_resplit: float | None = None

    @property
    def better(self) -> bool:
        """Whether the first is better by more than chance explains."""
        return self.difference > 0.0 and self._sure

    @property
    def worse(self) -> bool:
        """Whether the first is worse by more than chance explains."""
        return self.difference < 0.0 and self._sure

    @property
    def _sure(self) -> bool:
        return max(self.p, self.p_resplit or 0.0) < LEVEL

    def __str__(self) -> str:
        text = f"{self.difference:+.3f}, {_chance(self.p)}"
        return text if self.p_resplit is None else f"{text} (corrected {_chance(self.p_resplit)})"


def compare(first: Floats, second: Floats, resplit: float = 0.0) -> Comparison:
    """Compare two methods by their accuracies on the same replications.

    If every replication splits the same samples again, ``resplit`` is the size of the test part divided by that of the
    training part. Such replications share samples, so their spread is too small. The correction adds this ratio to one
    over the number of replications.

    >>> compare(np.array([0.8, 0.9, 0.85]), np.array([0.7, 0.82, 0.74])).better
    True
    >>> str(compare(np.array([0.5, 0.5]), np.array([0.5, 0.5])))
    '+0.000, p = 1'
    """
    difference = first - second
    mean, n = float(difference.mean()), len(difference)
    if n < 2 or np.ptp(difference) == 0.0:  # no spread, no test
        p = 0.0 if n > 1 and mean != 0.0 else 1.0
        return Comparison(mean, p, p if resplit else None)
    p = float(ttest_rel(first, second).pvalue)
    if not resplit:
        return Comparison(mean, p)
    t = mean / float(np.sqrt((1.0 / n + resplit) * difference.var(ddof=1)))
    return Comparison(mean, p, float(2.0 * student.sf(abs(t), n - 1)))


def _chance(p: float) -> str:
    return "p < 0.001" if p < 0.001 else f"p = {p:.3f}" if p < 0.9995 else "p = 1"


NEAR = 0.02
FEW_ROUNDS = 5
LARGEST_ERROR = 0.04
CAPTIONS_WITH_ERRORS = ("3", "6")  # the figures whose captions bound the standard errors
TOLERANCE = 0.9


class ClaimVerdict(StrEnum):
    HOLDS = "holds"
    IN_PART = "holds in part"
    NOT = "does not hold"
    OPEN = "cannot be judged"


@dataclass(frozen=True)
class CheckedClaim:
    """A claim in the paper's words or close to them, our verdict, and the numbers that it follows from."""

    claim: str
    verdict: ClaimVerdict
    evidence: str


def checked_claims(result: FigureResult) -> list[CheckedClaim]:
    """Return the verdict on every claim about a figure. With the demo of the data, no claim can be judged."""
    found = [finding for check in _CHECKS for finding in check(result)]
    return [replace(each, verdict=ClaimVerdict.OPEN) for each in found] if result.demo else found


def round_near_oracle(assisted: Floats, oracle: float) -> int | None:
    """Return the first round after which accuracy is at most 0.02 below the oracle's, or None.

    >>> round_near_oracle(np.array([0.7, 0.88, 0.91]), oracle=0.9)
    2
    """
    return _first_round(assisted >= oracle - NEAR)


def round_of_target(result: FigureResult) -> int | None:
    """Return the round after which ASCII reaches the target share of the oracle's last test accuracy, or None."""
    assert result.settings.transmission is not None
    target = result.settings.transmission.target * result.mean("Oracle")[-1]
    return _first_round(result.mean("ASCII") >= target)


def _first_round(reached: np.ndarray[tuple[int, ...], np.dtype[np.bool_]]) -> int | None:
    return int(np.argmax(reached)) + 1 if reached.any() else None


def _beats_single(result: FigureResult) -> Iterator[CheckedClaim]:
    if "Single" not in result.settings.methods:
        return
    last = compare(result.accuracy("ASCII")[:, -1], result.accuracy("Single")[:, -1], result.resplit)
    verdict = ClaimVerdict.HOLDS if last.better else ClaimVerdict.IN_PART if last.difference > 0.0 else ClaimVerdict.NOT
    yield CheckedClaim("ASCII is better than a single agent", verdict, f"after the last round {last}")


def _near_oracle(result: FigureResult) -> Iterator[CheckedClaim]:
    if "Oracle" not in result.settings.methods or result.settings.figure == "1":
        return
    assisted, oracle = result.mean("ASCII"), float(result.mean("Oracle")[-1])
    found = round_near_oracle(assisted, oracle)
    verdict = ClaimVerdict.NOT if found is None else ClaimVerdict.HOLDS if found <= FEW_ROUNDS else ClaimVerdict.IN_PART
    reached = "never reached" if found is None else f"reached after round {found}"
    last = compare(result.accuracy("ASCII")[:, -1], result.accuracy("Oracle")[:, -1], result.resplit)
    text = f"the oracle's last {oracle:.3f} less {NEAR} is {reached}; after the last round ASCII - Oracle is {last}"
    curves = result.published
    if curves:
        theirs = np.array(list(curves["ASCII"].values()))
        place = round_near_oracle(theirs, list(curves["Oracle"].values())[-1])
        rounds = list(curves["ASCII"])
        text += "; published: " + ("never" if place is None else f"round {rounds[place - 1]}")
    yield CheckedClaim(f"near-oracle within a few rounds (here: {FEW_ROUNDS})", verdict, text)


def _beats_variants(result: FigureResult) -> Iterator[CheckedClaim]:
    for other in result.settings.methods:
        if other in ("ASCII", "Single", "Oracle"):
            continue
        mine, theirs = result.accuracy("ASCII"), result.accuracy(other)
        again = result.resplit
        every = compare(mine.mean(axis=1), theirs.mean(axis=1), again)
        first, last = (compare(mine[:, place], theirs[:, place], again) for place in (0, -1))
        if every.better and not last.worse:
            verdict = ClaimVerdict.HOLDS if last.better else ClaimVerdict.IN_PART
        else:
            verdict = ClaimVerdict.IN_PART if last.better and not every.worse else ClaimVerdict.NOT
        text = f"mean over the rounds {every}; after the first round {first}; after the last {last}"
        yield CheckedClaim(f"ASCII beats {other}", verdict, text)


def _errors_are_small(result: FigureResult) -> Iterator[CheckedClaim]:
    if result.settings.figure[0] not in CAPTIONS_WITH_ERRORS or len(result.replications) < 2:
        return
    largest, method = max((float(result.standard_error(m).max()), m) for m in result.settings.methods)
    verdict = ClaimVerdict.HOLDS if largest <= LARGEST_ERROR else ClaimVerdict.NOT
    text = f"the largest is {largest:.4f} ({method}), over {len(result.replications)} replications"
    yield CheckedClaim(f"standard errors within {LARGEST_ERROR}", verdict, text)


def _sends_less(result: FigureResult) -> Iterator[CheckedClaim]:
    if result.settings.transmission is None:
        return
    claimed = result.settings.transmission.claimed_ratio
    claim = f"{claimed:.0f} times less is sent at {result.settings.transmission.target:.0%} of the oracle's accuracy"
    found = round_of_target(result)
    costs = [each.cost for each in result.replications if each.cost is not None]
    if found is None:
        yield CheckedClaim(claim, ClaimVerdict.NOT, "the target is never reached")
        return
    papers = float(np.mean([cost.papers_ratio(found) for cost in costs]))
    real = float(np.mean([cost.ratio(found) for cost in costs]))
    matched = float(np.mean([cost.ratio_without_ids(found) for cost in costs]))
    reached = [ratio >= TOLERANCE * claimed for ratio in (papers, real)]
    verdict = ClaimVerdict.HOLDS if all(reached) else ClaimVerdict.IN_PART if any(reached) else ClaimVerdict.NOT
    text = (
        f"reached after round {found}; {papers:.0f} times in the paper's way of counting, {real:.1f} times in bits "
        f"that really travel, {matched:.1f} times where the samples are matched already"
    )
    yield CheckedClaim(claim, verdict, text)


def _not_below_published(result: FigureResult) -> Iterator[CheckedClaim]:
    if "ASCII" not in result.published:
        return
    last = max(result.published["ASCII"])
    if last > result.settings.rounds:
        return
    ours, error = float(result.mean("ASCII")[last - 1]), float(result.standard_error("ASCII")[last - 1])
    theirs = result.published["ASCII"][last]
    verdict = ClaimVerdict.HOLDS if ours >= theirs - (error if np.isfinite(error) else 0.0) else ClaimVerdict.NOT
    text = f"after round {last} ours is {ours:.3f} with standard error {error:.3f}, theirs {theirs:.3f}"
    yield CheckedClaim("(ours) not below the published ASCII by more than a standard error", verdict, text)


_CHECKS: tuple[Callable[[FigureResult], Iterator[CheckedClaim]], ...] = (
    _beats_single,
    _near_oracle,
    _beats_variants,
    _sends_less,
    _errors_are_small,
    _not_below_published,
)
