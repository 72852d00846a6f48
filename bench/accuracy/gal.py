"""Gradient assisted learning, a peer (Diao, Ding, Tarokh, NeurIPS 2022): ``python -m bench.accuracy.gal``.

Written anew from the paper's description. In every round the initiator tells all agents the residuals of the cross
entropy, agents fit a regressor to them on their own columns and tell what they fitted, and the initiator adds a mean of
that to its scores: weights of the agents on the simplex, then a step as long as a line search finds best. Run by name,
it is compared to the published table (``gal_published.py``).
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from scipy.optimize import minimize
from scipy.special import logsumexp, softmax
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.ensemble import HistGradientBoostingRegressor, RandomForestRegressor
from sklearn.linear_model import Ridge
from sklearn.multioutput import MultiOutputRegressor
from sklearn.neural_network import MLPRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVR
from sklearn.tree import DecisionTreeRegressor

REGRESSORS: dict[str, tuple[Any, ...]] = {  # one for each of ways.LEARNERS, of the same family and size
    "logistic": (make_pipeline(StandardScaler(), Ridge(alpha=1.0)),),
    "svm": (make_pipeline(StandardScaler(), MultiOutputRegressor(SVR())),),
    "tree-3": (DecisionTreeRegressor(max_depth=3),),
    "tree": (DecisionTreeRegressor(),),
    "forest": (RandomForestRegressor(20),),
    "boosted": (
        MultiOutputRegressor(HistGradientBoostingRegressor(max_iter=20, max_leaf_nodes=15, early_stopping=False)),
    ),
    "network": (make_pipeline(StandardScaler(), MLPRegressor(hidden_layer_sizes=(32,), max_iter=60)),),
}
REGRESSORS["mix"] = (REGRESSORS["forest"][0], REGRESSORS["logistic"][0])
WITHOUT = ("bayes",)
"""Learners that have no regressor of their family: not measured."""

WEIGHT_STEPS, WEIGHT_RATE, WEIGHT_DECAY = 100, 0.1, 5e-4
"""Adam, as the authors fit the weights; the decay draws them to equal ones."""
LONGEST_STEP = 300.0
"""The authors' bound of the line search: without one, a step grows for ever where a round fits all residuals."""

HEADER_BYTES = 100
NUMBER_BYTES = 4


def regressors_of(learner: str) -> tuple[Any, ...] | None:
    """Return the regressors of a learner's family, given to the agents in turn, or None where it has none.

    >>> regressors_of("tree-3")
    (DecisionTreeRegressor(max_depth=3),)
    >>> regressors_of("bayes") is None
    True
    """
    if learner in WITHOUT:
        return None
    if learner not in REGRESSORS:
        raise KeyError(f"learner {learner!r} has no regressor for GAL; add one to REGRESSORS, or its name to WITHOUT")
    return REGRESSORS[learner]


class GAL(ClassifierMixin, BaseEstimator):
    """Gradient assisted learning for classification.

    Parameters
    ----------
    agents : list of (name, regressor, columns)
        The first is the initiator, who holds the labels. A regressor must fit several outputs at once.
    n_rounds : int
        Ten in the paper.
    random_state : int
        Seeds the regressors, another seed for every agent and round.

    Attributes
    ----------
    classes_ : ndarray of shape (K,)
    start_ : ndarray of shape (K,)
        The scores before the first round: log shares of the classes.
    rounds_ : list of (models, weights, step)
        One model per agent, the agents' weights and the assisted learning rate.
    losses_ : list of float
        The training cross entropy before the first round and after each.
    """

    def __init__(self, agents: list[tuple[str, Any, list[int]]], n_rounds: int = 10, random_state: int = 0) -> None:
        self.agents = agents
        self.n_rounds = n_rounds
        self.random_state = random_state

    def fit(self, X: np.ndarray, y: np.ndarray) -> GAL:
        """Train for all rounds; nothing stops it early, as in the paper."""
        rng = np.random.RandomState(self.random_state)
        self.classes_, codes = np.unique(y, return_inverse=True)
        shares = np.bincount(codes) / len(codes)
        self.start_ = np.log(shares)
        scores = np.tile(self.start_, (len(codes), 1))
        self.losses_ = [cross_entropy(scores, codes)]
        self.rounds_: list[tuple[list[Any], np.ndarray, float]] = []
        for _ in range(self.n_rounds):
            told = residuals(scores, codes)
            models = [self._fitted(kind, X[:, columns], told, rng) for _, kind, columns in self.agents]
            fitted = self._answers(models, X)
            weights = assistance_weights(fitted, told)
            direction = np.tensordot(weights, fitted, 1)
            step = line_search(scores, direction, codes)
            scores += step * direction
            self.rounds_.append((models, weights, step))
            self.losses_.append(cross_entropy(scores, codes))
        return self

    def predict(self, X: np.ndarray) -> np.ndarray:
        """Return the class with the largest score after the last round."""
        *_, scores = self.staged_scores(X)
        return self.classes_[scores.argmax(axis=1)]

    def staged_scores(self, X: np.ndarray) -> Iterator[np.ndarray]:
        """Yield the scores, n x K, after each round."""
        scores = np.tile(self.start_, (len(X), 1))
        for models, weights, step in self.rounds_:
            scores = scores + step * np.tensordot(weights, self._answers(models, X), 1)
            yield scores

    def staged_score(self, X: np.ndarray, y: np.ndarray) -> list[float]:
        """Return the accuracy after each round."""
        return [float((self.classes_[scores.argmax(axis=1)] == y).mean()) for scores in self.staged_scores(X)]

    def bytes_by_round(self, n: int, K: int, M: int) -> list[int]:
        """Return the bytes that training has sent by the end of each round.

        In a round each of the M - 1 helpers gets n x K residuals and sends n x K fitted values back: two messages with
        a header of 100 bytes each. Numbers are float32, the type of the authors' tensors, and nothing of the
        method needs more digits. The initiator keeps weights and step to itself: they cost nothing.

        >>> GAL([], n_rounds=2).bytes_by_round(n=1000, K=10, M=3)
        [160400, 320800]
        """
        once = 2 * (M - 1) * (NUMBER_BYTES * n * K + HEADER_BYTES)
        return [once * t for t in range(1, self.n_rounds + 1)]

    def bytes_of(self, n_samples: int, K: int, M: int) -> int:
        """Return the bytes of a prediction: each helper is asked once and sends n x K numbers for every round.

        It cannot add its rounds up, as it knows neither its weights nor the steps.
        """
        return (M - 1) * (2 * HEADER_BYTES + NUMBER_BYTES * n_samples * K * self.n_rounds)

    def _fitted(self, kind: Any, X: np.ndarray, told: np.ndarray, rng: np.random.RandomState) -> Any:
        model = clone(kind)
        seeded = [name for name in model.get_params() if name.rpartition("__")[2] == "random_state"]
        return model.set_params(**{name: rng.randint(2**31 - 1) for name in seeded}).fit(X, told)

    def _answers(self, models: list[Any], X: np.ndarray) -> np.ndarray:
        """Return what all agents say: agents x samples x classes."""
        return np.stack(
            [model.predict(X[:, columns]) for model, (_, _, columns) in zip(models, self.agents, strict=True)]
        )


def cross_entropy(scores: np.ndarray, codes: np.ndarray) -> float:
    """Return the mean cross entropy of the softmax of the scores."""
    return float((logsumexp(scores, axis=1) - scores[np.arange(len(codes)), codes]).mean())


def residuals(scores: np.ndarray, codes: np.ndarray) -> np.ndarray:
    """Return the negative gradient of the cross entropy, n x K: one at the truth, less the softmax."""
    left = -softmax(scores, axis=1)
    left[np.arange(len(codes)), codes] += 1
    return left


def assistance_weights(fitted: np.ndarray, told: np.ndarray) -> np.ndarray:
    """Return weights of the agents, none negative and of sum one, whose mean comes near to the residuals.

    As the authors do: a softmax of free numbers, first all zero, is moved by Adam to lower the mean squared distance.
    That is a quadratic form of the weights, so that no step has to look at the samples.
    """
    flat = fitted.reshape(len(fitted), -1)
    gram, match = flat @ flat.T / told.size, flat @ told.ravel() / told.size
    free = np.zeros(len(fitted))
    mean, square = np.zeros_like(free), np.zeros_like(free)
    for t in range(1, WEIGHT_STEPS + 1):
        weights = softmax(free)
        slope = 2 * (gram @ weights - match)
        slope = weights * (slope - weights @ slope) + WEIGHT_DECAY * free
        mean = 0.9 * mean + 0.1 * slope
        square = 0.999 * square + 0.001 * slope**2
        free = free - WEIGHT_RATE * (mean / (1 - 0.9**t)) / (np.sqrt(square / (1 - 0.999**t)) + 1e-8)
    return softmax(free)


def line_search(scores: np.ndarray, direction: np.ndarray, codes: np.ndarray) -> float:
    """Return the step along a direction that lowers the cross entropy most, zero where none does.

    L-BFGS from a step of one, as published. The loss is convex in the step, so that there are no other minima.
    """
    own = direction[np.arange(len(codes)), codes]

    def loss(step: np.ndarray) -> tuple[float, np.ndarray]:
        moved = scores + step * direction
        slope = (softmax(moved, axis=1) * direction).sum(axis=1) - own
        return cross_entropy(moved, codes), np.array([slope.mean()])

    found = minimize(loss, [1.0], jac=True, method="L-BFGS-B", bounds=[(0.0, LONGEST_STEP)], options={"gtol": 1e-7})
    return float(found.x[0]) if found.fun < cross_entropy(scores, codes) else 0.0


if __name__ == "__main__":
    from bench.accuracy.gal_published import main

    main()
