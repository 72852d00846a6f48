"""What was to be reached, and whether it was: one line each, with the numbers."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from scipy import stats

from assistlearn.core.people import mean_and_error
from bench.accuracy.results import BY_NAME, SOFT_BEFORE, Results
from bench.accuracy.to_reach import AT_MOST, prices
from bench.accuracy.ways import GAL

ENOUGH = 3
"""Replications below which no verdict is given."""
RIVALS = {
    "ascii": "`ascii`",
    SOFT_BEFORE: "`soft` as it was before",
    "single": "the initiator alone, boosting (`single`)",
    "alone, combined": "the initiator alone with the recommended settings",
    GAL: "GAL with the same family of learners",
}
GAIN = 0.015
NEAR = 0.005

Gaps = dict[tuple[str, str], tuple[float, float]]
"""Problem and learner -> mean of the paired differences, and its standard error."""


def verdicts(found: Results) -> list[str]:
    """Return all lines."""
    lines = [nowhere_worse(found, rival) for rival in RIVALS]
    lines += [letter(found), digits(found), qsar(found)]
    lines += [gain(found, kept_apart=False), gain(found, kept_apart=True)]
    return [*lines, near_pooled(found), transmission(found), never_falls(found)]


def nowhere_worse(found: Results, rival: str) -> str:
    """Judge whether it is nowhere worse than a rival by more than two standard errors."""
    gaps: Gaps = {
        pair: found.gap(*pair, "combined", rival) for pair in found.pairs if found.paired(*pair, "combined", rival)
    }
    few = {pair: gap for pair, gap in gaps.items() if _few(found, pair, rival)}
    judged = {pair: gap for pair, gap in gaps.items() if pair not in few}
    apart = {pair: gap for pair, gap in judged.items() if BY_NAME[pair[0]].kept_apart}
    said = [f"all: {_count(found, judged, rival)}", f"kept apart: {_count(found, apart, rival)}"]
    worse = _worse(judged)
    said.append(f"worse: {_listed(worse)}" if worse else "none is worse")
    if few:
        said.append(f"too few replications, not judged: {_listed(few)}")
    claim = f"Nowhere worse than {RIVALS[rival]} by more than two standard errors"
    return _verdict(found, claim, bool(judged) and not worse, "; ".join(said) if gaps else "")


def letter(found: Results) -> str:
    """Judge letter in 4 with logistic regression."""
    return _at_least(found, "letter x 4", ("logistic",), 0.78, "letter in 4 agents, logistic regression, at least .78")


def digits(found: Results) -> str:
    """Judge digits in 8, every learner."""
    return _at_least(
        found,
        "digits x 8",
        BY_NAME["digits x 8"].learners,
        0.955,
        "digits in 8 agents, with every learner, at least .955",
    )


def qsar(found: Results) -> str:
    """Judge QSAR in 8 with support vector machines."""
    claim = "QSAR in 8 agents with support vector machines: at least GAL"
    if not found.paired("qsar x 8", "svm", "combined", GAL):
        return _verdict(found, claim, False, "")
    gap, error = found.gap("qsar x 8", "svm", "combined", GAL)
    shown = (found.shown("qsar x 8", "svm", way) for way in ("combined", GAL))
    return _verdict(found, claim, gap >= 0, f"{' and '.join(shown)}, difference {gap:+.3f} ± {error:.3f}")


def gain(found: Results, kept_apart: bool) -> str:
    """Judge the mean gain over soft as it was before."""
    gaps = {
        pair: found.gap(*pair, "combined", SOFT_BEFORE)[0]
        for pair in found.pairs
        if found.paired(*pair, "combined", SOFT_BEFORE) and (BY_NAME[pair[0]].kept_apart or not kept_apart)
    }
    mean, error = mean_and_error(np.array([*gaps.values()]))
    where = "Over the tables kept apart alone" if kept_apart else "Over the whole benchmark"
    claim = f"{where}, on average at least +{GAIN} over `soft` as it was before"
    numbers = f"{mean:+.4f} ± {error:.4f} over {len(gaps)} pairs of problem and learner" if gaps else ""
    return _verdict(found, claim, mean >= GAIN, numbers)


def near_pooled(found: Results) -> str:
    """Judge whether it is near to pooled boosting where agents do not interact."""
    gaps: dict[str, tuple[str, float, float]] = {}
    for problem in (name for name, known in BY_NAME.items() if known.interacts is False):
        means = {
            learner: float(np.mean(list(found.at(problem, learner, "combined").values())))
            for name, learner in found.pairs
            if name == problem and found.has(problem, learner, "combined")
        }
        pooled = found.at(problem, "-", "pooled boosting")
        if means and pooled:
            learner = "boosted" if "boosted" in means else max(means, key=lambda each: means[each])
            ours = found.at(problem, learner, "combined")
            apart = np.array([ours[r] - pooled[r] for r in sorted(ours.keys() & pooled.keys())])
            gaps[problem] = learner, *mean_and_error(apart)
    shown = [f"{problem} {learner} {gap:+.3f} ± {error:.3f}" for problem, (learner, gap, error) in gaps.items()]
    claim = (
        f"Within {NEAR} of pooled boosting wherever columns of different agents do not interact, with boosted "
        "learners, or the best ones where there are no boosted"
    )
    return _verdict(found, claim, all(gap >= -NEAR for _, gap, _ in gaps.values()), ", ".join(shown))


def transmission(found: Results) -> str:
    """Judge whether it takes at most a twentieth of the peer's bytes to the same accuracy."""
    ratios = {(price.problem, price.learner): price.ours / price.peers for price in prices(found)}
    over = {pair: ratio for pair, ratio in ratios.items() if ratio > AT_MOST}
    claim = "To the same accuracy at most 1/20 of GAL's bytes, on every problem with more than two classes"
    if not ratios:
        return _verdict(found, claim, False, "")
    worst = ", ".join(f"{problem} {learner} 1/{1 / ratio:.1f}" for (problem, learner), ratio in over.items())
    numbers = f"{len(ratios)} pairs, median 1/{1 / np.median(list(ratios.values())):.0f}; "
    return _verdict(found, claim, not over, numbers + (f"more: {worst}" if over else "none needs more"))


def never_falls(found: Results) -> str:
    """Judge whether the last round is as good as the best, within one standard error."""
    gaps: Gaps = {}
    for pair in found.pairs:
        replications = found.paired(*pair, "combined")
        if replications:
            curve = found.mean_curve((*pair, "combined"), replications)
            best = int(curve.mean(axis=0).argmax())
            gaps[pair] = mean_and_error(curve[:, -1] - curve[:, best])
    fallen = {pair: (gap, error) for pair, (gap, error) in gaps.items() if gap < -error - 1e-9}
    listed = f"below: {_listed(fallen)}" if fallen else "none is below"
    claim = "Accuracy does not fall with rounds: the last one is within one standard error of the best"
    return _verdict(found, claim, not fallen, f"{len(gaps)} pairs; {listed}" if gaps else "")


def _at_least(found: Results, problem: str, learners: Sequence[str], least: float, claim: str) -> str:
    values = {learner: list(found.at(problem, learner, "combined").values()) for learner in learners}
    means = {learner: float(np.mean(known)) for learner, known in values.items() if known}
    shown = ", ".join(f"{learner} {found.shown(problem, learner, 'combined')}" for learner in means)
    return _verdict(found, claim, all(mean >= least for mean in means.values()), shown)


def _worse(gaps: Gaps) -> Gaps:
    return {pair: (gap, error) for pair, (gap, error) in gaps.items() if gap < -2 * error - 1e-9}


def _count(found: Results, gaps: Gaps, rival: str) -> str:
    """Return how many differences there are, their mean, how many are worse, and how many would be by chance."""
    if not gaps:
        return "no pairs"
    freedom = (max(len(found.paired(*pair, "combined", rival)) - 1, 1) for pair in gaps)
    expected = sum(float(stats.t.sf(2.0, n)) for n in freedom)
    mean = np.mean([gap for gap, _ in gaps.values()])
    return f"{len(gaps)} pairs, mean {mean:+.3f}, {len(_worse(gaps))} worse where {expected:.1f} would be by chance"


def _few(found: Results, pair: tuple[str, str], rival: str) -> bool:
    return len(found.paired(*pair, "combined", rival)) < min(ENOUGH, found.n_replications())


def _listed(gaps: Gaps) -> str:
    return ", ".join(
        f"{problem} {learner} {gap:+.3f} ± {error:.3f}" for (problem, learner), (gap, error) in gaps.items()
    )


def _verdict(found: Results, claim: str, holds: bool, numbers: str) -> str:
    """Return a line that says whether a claim holds; without numbers, or with too few, it says that instead."""
    if not numbers:
        return f"- **not measured yet**: {claim}."
    word = "reached" if holds else "not reached"
    if found.n_replications() < ENOUGH:
        word = f"open, {found.n_replications()} replication(s) so far, which look {word}"
    return f"- **{word}**: {claim}. ({numbers})"
