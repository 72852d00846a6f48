"""The report of a result on samples that nothing was fitted to: with help and alone, side by side."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

from assistlearn.core.groups import Groups
from assistlearn.core.ignorance import Floats
from assistlearn.core.votes import Codes, winners
from assistlearn.evaluation.difference import Difference, differences
from assistlearn.evaluation.metrics import METRICS, confusion, measure, recalls
from assistlearn.evaluation.reliability import Reliability, reliability
from assistlearn.evaluation.shares import GainShares


@dataclass(frozen=True)
class Report:
    """How good a result is.

    Attributes
    ----------
    n_samples : int
        The number of hold-out samples.
    assisted, alone : dict of str to float or None
        Every metric, with the helpers and of the initiator alone; None where it is not defined.
    differences : dict of str to Difference or None
        Assisted minus alone, with 95 % intervals.
    models_alone : int
        How many models the initiator had for *alone*: as many as all agents have together; 0 if it has no columns.
    confusion : list of list of float
        How often each true class (rows) was predicted as each class (columns), with help. Where samples have weights,
        it is scaled so that it sums to the number of samples.
    recalls, recalls_alone : list of float or None
        Which share of each class was predicted right, with help and alone.
    shares : GainShares or None
        How much each helper helped; None if there are too few samples to tell.
    worse : list of str
        Helpers that make the result worse, by more than chance explains.
    left_out : list of str
        Agents whose votes do not count: those that make the result worse, if the plan says so, and those whose answers
        the hold-out samples contradict.
    reliability, reliability_alone : tuple of Reliability
        How sure the answers were, and how often they were right, with help and alone.
    alone_by_labels : bool
        Whether the initiator has labels and no features: alone it answers the most frequent class, with the shares of
        the labels as probabilities.
    """

    n_samples: int
    assisted: dict[str, float | None]
    alone: dict[str, float | None]
    differences: dict[str, Difference | None]
    models_alone: int
    confusion: list[list[float]]
    recalls: list[float | None]
    recalls_alone: list[float | None]
    shares: GainShares | None
    worse: list[str]
    left_out: list[str]
    reliability: tuple[Reliability, ...] = ()
    reliability_alone: tuple[Reliability, ...] = ()
    alone_by_labels: bool = False


class Decided(NamedTuple):
    """What is decided about samples: total scores and class probabilities, each ``n x K``.

    ``calibrated`` are probabilities that were calibrated on other samples, if there are any. They come from several
    calibrations, so samples must not be ranked by them.
    """

    total: Floats
    probabilities: Floats
    calibrated: Floats | None = None


def compare(
    codes: Codes,
    assisted: Decided,
    alone: Decided,
    weights: Floats | None,
    seed: int,
    groups: Groups | None = None,
) -> dict[str, Any]:
    """Return the parts of a report that follow from the decisions with help and alone."""
    n_classes = assisted.total.shape[1]
    answered = winners(assisted.total), winners(alone.total)
    counted = None if weights is None else weights * (len(codes) / weights.sum())
    tables = [confusion(codes, each, n_classes, counted) for each in answered]
    return {
        "n_samples": len(codes),
        "assisted": _figures(assisted, lambda said: measure(codes, said, weights, answered[0])),
        "alone": _figures(alone, lambda said: measure(codes, said, weights, answered[1])),
        "differences": _differences(codes, assisted, alone, weights, answered, seed, groups),
        "confusion": tables[0].tolist(),
        "recalls": recalls(tables[0]),
        "recalls_alone": recalls(tables[1]),
        "reliability": reliability(codes, _likely(assisted), answered[0], weights),
        "reliability_alone": reliability(codes, _likely(alone), answered[1], weights),
    }


def _likely(decided: Decided) -> Floats:
    """Return the probabilities that users see: the calibrated ones, if there are any."""
    return decided.probabilities if decided.calibrated is None else decided.calibrated


def _figures(decided: Decided, judge: Callable[[Floats], dict[str, Any]]) -> dict[str, Any]:
    """Return the metrics: of calibrated probabilities if a metric judges these, of the other ones otherwise."""
    found = judge(decided.probabilities)
    if decided.calibrated is None:
        return found
    calibrated = judge(decided.calibrated)
    return {name: calibrated[name] if METRICS[name].of_probabilities else found[name] for name in found}


def _differences(
    codes: Codes,
    assisted: Decided,
    alone: Decided,
    weights: Floats | None,
    answered: tuple[Codes, Codes],
    seed: int,
    groups: Groups | None,
) -> dict[str, Difference | None]:
    found = differences(
        codes, assisted.probabilities, alone.probabilities, weights, predicted=answered, seed=seed, groups=groups
    )
    if assisted.calibrated is None or alone.calibrated is None:
        return found
    by_chance = [name for name, metric in METRICS.items() if metric.of_probabilities]
    calibrated = differences(
        codes,
        assisted.calibrated,
        alone.calibrated,
        weights,
        predicted=answered,
        seed=seed,
        only=by_chance,
        groups=groups,
    )
    return found | calibrated
