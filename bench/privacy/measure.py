"""One replication of one table: runs, what they are good for, and what an attacker makes of them."""

from __future__ import annotations

import math
import warnings
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np
from sklearn.metrics import roc_auc_score
from sklearn.tree import DecisionTreeClassifier

from assistlearn import AssistedClassifier
from assistlearn.core.labels import draw
from assistlearn.evaluation.attacks import (
    attribute_inferences,
    beside,
    of_labels,
    target_of,
)
from bench.privacy.heard import Heard
from bench.privacy.inference import label_inference, membership_inference
from bench.privacy.tables import Cut
from bench.privacy.ways import EPSILONS, LABEL_PRIVATE, RECOMMENDED, ROUNDS, SHUFFLED, WAYS

KNOWN = 0.05
"""For which share of the samples the attacker knows the column."""
KNOWN_MEMBERS = 0.3
NOTHING, WRONG_PEOPLE, ALONE = "no transcript", "shuffled transcript", "initiator alone"


class Row(NamedTuple):
    """One figure."""

    way: str
    rounds: int
    figure: str
    column: str
    value: float


class Transcript(NamedTuple):
    """What was told in a way, up to some round."""

    way: str
    rounds: int
    numbers: np.ndarray


def measured(
    cut: Cut,
    seed: int,
    ways: Sequence[str] = tuple(WAYS),
    most_columns: int = 100,
    epsilons: Sequence[float] = EPSILONS,
) -> Iterator[Row]:
    """Yield all figures of a replication."""
    transcripts: list[Transcript] = []
    yield from _utility(cut, _alone(cut, seed), ALONE)
    for way in ways:
        model = fitted(cut, way, seed)
        votes = model.agent_scores(cut.X)["helper"]
        transcripts += _transcripts(model, way, len(cut.train))
        transcripts.append(Transcript(f"{way}: votes", 0, beside([votes[cut.train]], len(cut.train))))
        if way == SHUFFLED:
            told = transcripts[-2]
            wrong = np.random.default_rng(seed).permutation(told.numbers)
            transcripts.append(Transcript(WRONG_PEOPLE, told.rounds, wrong))
        yield from _bits(model, way)
        yield from _utility(cut, model, way, _rounds(model))
        yield from _members(cut, votes, way, seed)
    yield from _guessed(cut, dict(list(cut.attacked.items())[:most_columns]), transcripts, seed)
    yield from _labels(cut, seed, epsilons)


def fitted(cut: Cut, way: str, seed: int) -> Heard:
    """Return an estimator that has learned with trees of depth 3, and was overheard."""
    return _fit(cut, WAYS[way], seed)


def _fit(cut: Cut, settings: dict[str, Any], seed: int) -> Heard:
    tree = DecisionTreeClassifier(max_depth=3)
    agents = [("initiator", tree, cut.own), ("helper", tree, cut.theirs)]
    model = Heard(agents, n_rounds=ROUNDS[-1], random_state=seed, **settings)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return model.fit(cut.X[cut.train], cut.y[cut.train])


def _alone(cut: Cut, seed: int) -> AssistedClassifier:
    """Return the initiator alone, with the recommended settings."""
    agents = [("initiator", DecisionTreeClassifier(max_depth=3), cut.own)]
    model = AssistedClassifier(agents, n_rounds=ROUNDS[-1], random_state=seed, **RECOMMENDED)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return model.fit(cut.X[cut.train], cut.y[cut.train])


def _rounds(model: Heard) -> list[int]:
    """Return after which rounds a run is looked at: all of those wanted, and the last where it has fewer."""
    return list(dict.fromkeys(min(rounds, model.asked_rounds_) for rounds in ROUNDS))


def _transcripts(model: Heard, way: str, n_samples: int) -> Iterator[Transcript]:
    for rounds in _rounds(model):
        told = [one.said for one in model.told_ if one.round <= rounds]
        yield Transcript(way, rounds, beside(told, n_samples))


def _bits(model: Heard, way: str) -> Iterator[Row]:
    for rounds in _rounds(model):
        yield Row(way, rounds, "bits", "", sum(one.bits for one in model.told_ if one.round <= rounds))


def _guessed(cut: Cut, columns: dict[int, str], transcripts: Sequence[Transcript], seed: int) -> Iterator[Row]:
    """Yield how well each column is guessed with each transcript, and without any."""
    codes = cut.y[cut.train]
    has = np.column_stack([of_labels(codes, _n_classes(cut)), cut.X[np.ix_(cut.train, cut.own)]])
    for column, name in columns.items():
        target = target_of(cut.X[cut.train, column])
        numbers = [transcript.numbers for transcript in transcripts]
        found = [] if target is None else attribute_inferences(target, has, numbers, KNOWN, [seed])
        for transcript, one in zip(transcripts, found, strict=False):
            yield Row(transcript.way, transcript.rounds, "column", name, one.auc)
        if found:
            yield Row(NOTHING, 0, "column", name, found[0].without)


def _utility(cut: Cut, model: AssistedClassifier, way: str, after: Sequence[int] = (0,)) -> Iterator[Row]:
    """Yield accuracy and area under the curve on test samples, after some rounds; zero: after all."""
    X, y = cut.X[cut.test], cut.y[cut.test]
    stages = list(model.staged_predict_proba(X)) or [model.predict_proba(X)]
    for rounds in after:
        likely = stages[min(rounds or len(stages), len(stages)) - 1]
        yield Row(way, rounds, "accuracy", "", float(np.mean(likely.argmax(axis=1) == y)))
        area = roc_auc_score(y, likely[:, 1]) if likely.shape[1] == 2 else roc_auc_score(y, likely, multi_class="ovr")
        yield Row(way, rounds, "test auc", "", float(area))


def _members(cut: Cut, votes: np.ndarray, way: str, seed: int) -> Iterator[Row]:
    """Yield how well training samples are told from as many test samples by the helper's votes."""
    n = min(len(cut.train), len(cut.test))
    rows = np.r_[cut.train[:n], cut.test[:n]]
    found = membership_inference(np.arange(2 * n) < n, votes[rows], cut.y[rows], KNOWN_MEMBERS, [seed])
    if found is not None:
        yield Row(way, 0, "membership", "", found.auc)


def _labels(cut: Cut, seed: int, epsilons: Sequence[float]) -> Iterator[Row]:
    """Yield how well the helper guesses labels that chance has changed, and what such labels are good for."""
    truth, columns = cut.y[cut.train], cut.X[np.ix_(cut.train, cut.theirs)]
    for epsilon in epsilons:
        chance = np.random.RandomState([seed, 7]).random_sample(len(truth))
        told = draw(truth, None, (math.inf, epsilon, 0.0), _n_classes(cut), chance)
        found = label_inference(truth, told, _n_classes(cut), epsilon, columns, seed)
        for figure, value in (
            ("label", found.auc),
            ("label, columns alone", found.columns_alone),
            ("right", found.right),
        ):
            yield Row(f"epsilon {epsilon:g}", 0, figure, "", value)
        private = _fit(cut, LABEL_PRIVATE | {"epsilon": epsilon}, seed)
        yield from _utility(cut, private, f"epsilon {epsilon:g}")


def _n_classes(cut: Cut) -> int:
    return int(cut.y.max()) + 1
