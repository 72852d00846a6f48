"""What a result says, worked out once: the report on samples that nothing was fitted to, and every figure shown."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, Literal, NamedTuple, TypeAlias

from assistlearn.core.people import Groups
from assistlearn.core.votes import winners
from assistlearn.evaluation.calibration import Reliability, reliability
from assistlearn.evaluation.metrics import METRICS, Difference, confusion, differences, measure, recalls
from assistlearn.evaluation.shares import GainShares
from assistlearn.types import Codes, Floats


@dataclass(frozen=True)
class Report:
    """How good a result is on samples that nothing was fitted to: with help and alone, side by side.

    Figures are None where they are not defined. The helpers' ``shares`` are None if there are too few samples to tell.
    For *alone* the initiator had ``models_alone``: as many as all agents have together; 0 if it has no columns. Where
    ``alone_by_labels``, it has labels and no features: alone it answers the most frequent class, with the shares of the
    labels as probabilities. The ``confusion`` says how often each true class (rows) was predicted as each class
    (columns), with help. Where samples have weights, it is scaled so that it sums to the number of samples. Helpers are
    ``worse`` if they make the result worse, by more than chance explains. The votes of those ``left_out`` do not count:
    they make the result worse, if the plan says so, or the hold-out samples contradict their answers.
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
    n_classes = assisted.total.shape[1]
    answered = winners(assisted.total), winners(alone.total)
    counted = None if weights is None else weights * (len(codes) / weights.sum())
    tables = [confusion(codes, each, n_classes, counted) for each in answered]
    judge = partial(differences, codes, weights=weights, predicted=answered, seed=seed, groups=groups)
    return {
        "n_samples": len(codes),
        "assisted": _figures(assisted, lambda said: measure(codes, said, weights, answered[0])),
        "alone": _figures(alone, lambda said: measure(codes, said, weights, answered[1])),
        "differences": _differences(assisted, alone, judge),
        "confusion": tables[0].tolist(),
        "recalls": recalls(tables[0]),
        "recalls_alone": recalls(tables[1]),
        "reliability": reliability(codes, _likely(assisted), answered[0], weights),
        "reliability_alone": reliability(codes, _likely(alone), answered[1], weights),
    }


def _likely(decided: Decided) -> Floats:
    return decided.probabilities if decided.calibrated is None else decided.calibrated


def _figures(decided: Decided, judge: Callable[[Floats], dict[str, Any]]) -> dict[str, Any]:
    """Return the metrics: of calibrated probabilities if a metric judges these, of the other ones otherwise."""
    found = judge(decided.probabilities)
    if decided.calibrated is None:
        return found
    calibrated = judge(decided.calibrated)
    return {name: calibrated[name] if METRICS[name].of_probabilities else found[name] for name in found}


def _differences(
    assisted: Decided, alone: Decided, judge: Callable[..., dict[str, Difference | None]]
) -> dict[str, Difference | None]:
    found = judge(assisted.probabilities, alone.probabilities)
    if assisted.calibrated is None or alone.calibrated is None:
        return found
    of_probabilities = [name for name, metric in METRICS.items() if metric.of_probabilities]
    return found | judge(assisted.calibrated, alone.calibrated, only=of_probabilities)


# The command line, pages, JSON and notebooks show these records.


Verdict: TypeAlias = Literal["yes", "no", "worse", "undecided"]
"""Whether help was worth it. Only pilots say "no", and only other runs say "worse"."""

SharedIn: TypeAlias = Literal["accuracy", "loss"]


@dataclass(frozen=True)
class Headline:
    """The answer, which every view shows first. No model was fitted to the samples that it was measured on.

    The ``difference`` is assisted minus alone; in pilots (``is_gain``) it is the gain, by which the loss is lower. None
    where there is no interval.
    """

    verdict: Verdict
    what: str
    n_samples: int
    alone: float | None
    assisted: float | None
    difference: Difference | None
    larger_is_better: bool = True
    is_gain: bool = False


@dataclass(frozen=True)
class Compared:
    name: str
    assisted: float | None
    alone: float | None
    difference: Difference | None


@dataclass(frozen=True)
class ShareRow:
    """A helper's share of the result, in accuracy and in log loss, with standard errors; ``lost_without`` has none."""

    helper: str
    accuracy: float
    accuracy_error: float
    loss: float
    loss_error: float
    lost_without: float | None
    loss_without: float | None = None

    def share(self, of: SharedIn) -> float:
        return self.accuracy if of == "accuracy" else self.loss

    def error(self, of: SharedIn) -> float:
        return self.accuracy_error if of == "accuracy" else self.loss_error


@dataclass(frozen=True)
class AgentRow:
    """What an agent contributed: its turns, those that gave a model, and those that it sat out.

    Its ``models``, their ``weight`` in all, and the accuracy of the ``best`` in training are those in the result: a
    model counts if its round does, and its agent was not left out. As long as there is no result, all models count. The
    run went on without the agent from the turn ``left``.
    """

    agent: str
    turns: int
    made: int
    sat_out: int
    models: int
    weight: float
    best: float | None
    left: int | None = None


@dataclass(frozen=True)
class Confusion:
    """How often each true class (rows) was answered as each class; which share was right, with help and alone."""

    counts: tuple[tuple[float, ...], ...]
    found: tuple[float | None, ...]
    found_alone: tuple[float | None, ...]


@dataclass(frozen=True)
class TrainedWith:
    """The bytes that were exchanged with a helper in training.

    Bits are per training sample: those of its answer to a turn, and those that told it of one turn of another agent.
    """

    helper: str
    sent: int
    received: int
    answer_bits: float | None
    news_bits: float | None


@dataclass(frozen=True)
class Findings:
    """What the hold-out samples say about a result. What is not known is None or empty.

    The verdict, the first figures and the order of the others follow the ``metric`` that leads. Which shares of the
    helpers lead is ``shared_in``. All helpers ``together`` have added their share to ``accuracy_of_own_votes``, and not
    to *alone*: it is that of the result with only the votes that the initiator has in it.
    """

    metric: str
    answer: Headline | None = None
    metrics: tuple[Compared, ...] = ()
    shared_in: SharedIn = "accuracy"
    shares: tuple[ShareRow, ...] = ()
    together: ShareRow | None = None
    accuracy_of_own_votes: float | None = None
    worse: tuple[str, ...] = ()
    left_out: tuple[str, ...] = ()
    reliability: tuple[Reliability, ...] = ()
    reliability_alone: tuple[Reliability, ...] = ()
    confusion: Confusion | None = None

    def measured(self, name: str) -> Compared | None:
        return next((each for each in self.metrics if each.name == name), None)


def findings(report: Mapping[str, Any] | None, metric: str) -> Findings:
    """Return what a report says, given its fields as plain values; while a run is judged, some may be missing."""
    shared_in: SharedIn = "accuracy" if metric in ("accuracy", "balanced_accuracy") else "loss"
    if not report or report["assisted"].get("accuracy") is None:
        return Findings(metric, shared_in=shared_in)
    shares = report.get("shares") or {}
    together = _share("together", shares) if shares else None
    leading = dict.fromkeys((metric, "accuracy"))
    names = [*leading, *(name for name in report["assisted"] if name not in leading)]
    compared = tuple(
        Compared(name, report["assisted"].get(name), report["alone"].get(name), _between(report, name))
        for name in names
    )
    return Findings(
        metric,
        _headline(compared[0], report["n_samples"]),
        compared,
        shared_in,
        tuple(_share(each["helper"], each) for each in shares.get("helpers", ())),
        together,
        None if together is None else report["assisted"]["accuracy"] - together.accuracy,
        tuple(report.get("worse", ())),
        tuple(report.get("left_out", ())),
        _bins(report.get("reliability")),
        _bins(report.get("reliability_alone")),
        _confusion(report),
    )


def _headline(leading: Compared, n_samples: int) -> Headline:
    known, between = METRICS[leading.name], leading.difference
    verdict: Verdict = "undecided"
    if between is not None and not between.low <= 0.0 <= between.high:
        verdict = "yes" if (between.low > 0.0) == known.larger_is_better else "worse"
    return Headline(verdict, known.title, n_samples, leading.alone, leading.assisted, between, known.larger_is_better)


def _between(report: Mapping[str, Any], name: str) -> Difference | None:
    found = report["differences"].get(name)
    return None if found is None else Difference(**found)


def _share(name: str, share: Mapping[str, Any]) -> ShareRow:
    without = (share.get(f"{what}_if_dropped") for what in ("accuracy", "loss"))
    return ShareRow(
        name,
        share["accuracy"]["value"],
        share["accuracy"]["error"],
        share["loss"]["value"],
        share["loss"]["error"],
        *(None if lost is None else lost["value"] for lost in without),
    )


def _bins(found: Sequence[Mapping[str, Any]] | None) -> tuple[Reliability, ...]:
    return tuple(Reliability(**each) for each in found or ())


def _confusion(report: Mapping[str, Any]) -> Confusion | None:
    if not report.get("confusion"):
        return None
    counts = tuple(tuple(row) for row in report["confusion"])
    return Confusion(counts, tuple(report["recalls"]), tuple(report["recalls_alone"]))


def in_the_result(
    agent: str, contributions: Iterable[Mapping[str, Any]], left_out: Sequence[str]
) -> tuple[int, float, float | None]:
    own = [each for each in contributions if each["agent"] == agent and agent not in left_out]
    best = max((each["accuracy"] for each in own), default=None)
    return len(own), sum(each["model_weight"] for each in own), best


def trained_with(result: Mapping[str, Any]) -> tuple[TrainedWith, ...]:
    found = []
    for helper, counts in result["traffic"].items():
        sent, received = counts["sent"], counts["received"]
        turns, heard = counts["turns"] * result["n_samples"], counts["news"] * result["n_samples"]
        news = sum(sent.get(type_, 0) for type_ in ("take-turn", "take-again"))
        of_answer = 8 * received.get("turn-taken", 0) / turns if turns else None
        of_news = 8 * news / heard if turns and heard else None
        found.append(TrainedWith(helper, sum(sent.values()), sum(received.values()), of_answer, of_news))
    return tuple(found)
