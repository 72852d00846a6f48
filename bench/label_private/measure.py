"""One run of the method, and its baselines, on the split of a seed."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from functools import cache

import numpy as np
from sklearn.base import clone
from sklearn.model_selection import train_test_split

from assistlearn import AssistedClassifier
from assistlearn.errors import AssistLearnWarning
from assistlearn.learners.model import seed_all
from bench.label_private.problems import PROBLEMS, Problem, Table

TEST = 0.3
PURE_NOISE = 0.01
FULL_PRECISION = 32


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
    return train, test


def one_run(
    problem: Problem, seed: int, epsilon: float, combine: str = "auto", bits: int = 0, helpers: bool = True
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
    combine : {"auto", "stack", "offset", "learned"}
        How scores are combined.
    bits : int
        Of a score; 0 for the default.
    helpers : bool
        Whether there are any. Without, the initiator combines its own scores and columns: what it can do alone.
    """
    table, (train, test) = table_of(problem.name), split(problem.name, seed)
    agents = [(f"agent {number}", problem.learner, columns) for number, columns in enumerate(table.columns)]
    model = AssistedClassifier(
        agents if helpers else agents[:1],
        method="label-private",
        epsilon=epsilon,
        combine=combine,
        score_bits=bits,
        random_state=seed,
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", AssistLearnWarning)  # of labels that are not protected: here on purpose
        model.fit(table.X[train], table.codes[train])
    kind = "nothing" if model.combination_ is None else model.combination_.kind
    return Found(problem.score(table.codes[test], model.predict_proba(table.X[test])), kind)


def baseline(problem: Problem, seed: int, pooled: bool) -> float:
    """Return what the learner is worth on the initiator's columns, or on those of all agents, with true labels."""
    table, (train, test) = table_of(problem.name), split(problem.name, seed)
    columns = np.concatenate(table.columns) if pooled else table.columns[0]
    model = clone(problem.learner)
    seed_all(model, seed)
    model.fit(table.X[np.ix_(train, columns)], table.codes[train])
    return problem.score(table.codes[test], model.predict_proba(table.X[np.ix_(test, columns)]))
