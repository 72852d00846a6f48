"""How many bytes a way needs to reach an accuracy, beside the peer."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from assistlearn.core.people import mean_and_error
from bench.accuracy.results import BY_NAME, Results
from bench.accuracy.ways import GAL

NOISE = 0.5
"""The level is this many standard errors below the lower of the two last rounds."""
AT_MOST = 1 / 20


@dataclass(frozen=True)
class Price:
    """What the recommended way and GAL have sent when each is first as accurate as the level: means over replications.

    Attributes
    ----------
    problem, learner : str
        What was learned.
    level : float
        The accuracy to reach.
    ours, peers : float
        Bytes by the end of the first round whose mean accuracy reaches the level.
    whole, peers_whole : float
        Bytes of the whole runs: ours with the round that did not pay, GAL's of all its rounds.
    """

    problem: str
    learner: str
    level: float
    ours: float
    peers: float
    whole: float
    peers_whole: float


def prices(found: Results, way: str = "combined") -> Iterator[Price]:
    """Yield the prices of all pairs of more than two classes that were measured with both."""
    for problem, learner in found.pairs:
        ours, peers, whole = ((problem, learner, each) for each in (way, GAL, f"{way}: whole run"))
        replications = found.paired(problem, learner, way, GAL)
        if BY_NAME[problem].shape.classes == 2 or not replications or ours not in found.sent or peers not in found.sent:
            continue
        curves = found.mean_curve(ours, replications), found.mean_curve(peers, replications)
        sent = found.mean_sent(ours, replications), found.mean_sent(peers, replications)
        level = level_of([mean_and_error(curve[:, -1]) for curve in curves])
        needed = [reached(curve.mean(axis=0), by.mean(axis=0), level) for curve, by in zip(curves, sent, strict=True)]
        all_of_it = found.mean_sent(whole, replications) if whole in found.sent else sent[0]
        yield Price(problem, learner, level, *needed, float(all_of_it[:, -1].mean()), float(sent[1][:, -1].mean()))


def level_of(last: Sequence[tuple[float, float]]) -> float:
    """Return the level for both: the lower mean of the last rounds, less half of its standard error.

    A single replication has no error to take off.

    >>> round(level_of([(0.90, 0.02), (0.95, 0.01)]), 3)
    0.89
    """
    mean, error = min(last)
    return mean - NOISE * error if math.isfinite(error) else mean


def reached(accuracies: Sequence[float], sent: Sequence[float], level: float) -> float:
    """Return the bytes by the first round as accurate as a level, which the last round at least is.

    >>> reached([0.7, 0.8, 0.9], [100, 200, 300], 0.8)
    200.0
    """
    for accuracy, by_then in zip(accuracies, sent, strict=True):
        if accuracy >= level - 1e-12:
            return float(by_then)
    raise ValueError(f"No round reaches {level:.4f}: the accuracies are {[round(float(a), 4) for a in accuracies]}.")
