"""One run: labels are changed once, helpers answer once in a few bits, and the initiator combines in private."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.model_selection import train_test_split

from assistlearn import combination
from assistlearn.combination.linear import whole
from assistlearn.core import votes
from assistlearn.core.confidence import confidences, heights
from assistlearn.core.quantise import quantise_all_spoken, quantise_vectors
from assistlearn.core.randomised_response import draw
from assistlearn.learners import Honesty, Learner
from assistlearn.learners.noisy_labels import fit_to_noisy_labels
from assistlearn.learners.seeding import seed_all
from bench.label_private.problems import PROBLEMS, Problem, Table

HONESTY = Honesty("out-of-fold", cv=5)
TEST = 0.3
MOST_TRAINING = 21_000
MOST_TEST = 9_000
PURE_NOISE = 0.01


@dataclass(frozen=True)
class Found:
    """What a run is worth on test samples, and what became of the scores."""

    score: float
    kind: str


@cache
def table_of(name: str) -> Table:
    return PROBLEMS[name].table()


@cache
def split(name: str, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Return the training and test rows of a replication."""
    codes = table_of(name).codes
    train, test = train_test_split(np.arange(len(codes)), test_size=TEST, random_state=seed, stratify=codes)
    return train[:MOST_TRAINING], test[:MOST_TEST]


def one_run(
    problem: Problem, seed: int, epsilon: float, kind: str = "private", bits: int = 4, helpers: bool = True
) -> Found:
    """Return what the label-private method is worth in one replication.

    Parameters
    ----------
    problem : Problem
        The table and its agents.
    seed : int
        Of the split, the noise and the learners.
    epsilon : float
        Of the labels that helpers are told.
    kind : {"private", "stack", "offset"}
        How scores are combined.
    bits : int
        Of a score; 0 for full precision.
    helpers : bool
        Whether there are any. Without, the initiator combines its own scores and columns: what it can do alone.
    """
    table, (train, test) = table_of(problem.name), split(problem.name, seed)
    codes, n_classes = table.codes[train], table.n_classes
    chance = np.random.default_rng([seed, 4]).random(len(train))
    noisy = draw(codes, None, (math.inf, epsilon, 0.0), n_classes, chance)
    honest, unseen = {}, {}
    for number, columns in enumerate(table.columns if helpers else table.columns[:1]):
        first = number == 0
        told = (codes, math.inf, 0) if first else (noisy, epsilon, bits)
        honest[f"agent {number}"], unseen[f"agent {number}"] = _answers(problem, seed, columns, *told)
    own = table.X[:, table.columns[0]]
    learned = combination.fit(kind, honest, codes, initiator="agent 0", own=own[train], seed=seed)
    decision = np.sum([*learned.decide(unseen, own[test]).values()], axis=0)
    return Found(problem.score(table.codes[test], votes.probabilities(decision)), learned.kind)


def baseline(problem: Problem, seed: int, pooled: bool) -> float:
    """Return what the learner is worth on the initiator's columns, or on those of all agents, with true labels."""
    table, (train, test) = table_of(problem.name), split(problem.name, seed)
    columns = np.concatenate(table.columns) if pooled else table.columns[0]
    model = clone(problem.learner)
    seed_all(model, seed)
    model.fit(table.X[np.ix_(train, columns)], table.codes[train])
    return problem.score(table.codes[test], model.predict_proba(table.X[np.ix_(test, columns)]))


def _answers(
    problem: Problem, seed: int, columns: np.ndarray, codes: np.ndarray, epsilon: float, bits: int
) -> tuple[np.ndarray, np.ndarray]:
    """Return an agent's scores of training samples, honest, and of test samples."""
    table, (train, test) = table_of(problem.name), split(problem.name, seed)
    learner = Learner(problem.learner, "agent", HONESTY)
    learner.prepare(table.X[np.ix_(train, columns)], codes, seed)
    model, said = fit_to_noisy_labels(learner, epsilon, seed, "round 1", table.n_classes)
    about_test = model.say(model.transform(table.X[np.ix_(test, columns)]))
    return _scores(said, table.n_classes, bits), _scores(about_test, table.n_classes, bits)


def _scores(said: Any, n_classes: int, bits: int) -> np.ndarray:
    """Return votes, in so many bits."""
    votes_of_one = confidences(said, n_classes)
    if bits == 0:
        return votes_of_one
    if n_classes > 2:
        return quantise_vectors(heights(said, n_classes), bits).values()
    return whole(quantise_all_spoken(votes_of_one[:, 1:], bits).values())
