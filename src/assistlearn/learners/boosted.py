"""A boosted model: several models that an agent made in one turn, and that vote as one."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from assistlearn.core.confidence import add_answers
from assistlearn.core.ignorance import Floats
from assistlearn.core.votes import probabilities
from assistlearn.errors import UntrustedFileError
from assistlearn.learners.model import Model


@dataclass(frozen=True)
class Boosted:
    """The weighted models of one turn, behind the same transformers.

    Together they say the mean of their votes, not the sum. The weight of the turn is found later, when the turn is
    judged. The sum of many votes would be surer than a model may be (:data:`assistlearn.core.confidence.LEAST`), and
    that would cut off what the models say about all other classes.

    Attributes
    ----------
    models : list of Model
        Without transformers of their own.
    weights : list of float
        The weights of their votes.
    n_classes : int
        The number of classes, all of which it gives probabilities for.

    Examples
    --------
    >>> from sklearn.tree import DecisionTreeClassifier
    >>> X, y = np.array([[0.0], [1.0], [2.0]]), np.array([0, 1, 1])
    >>> parts = [Model(None, DecisionTreeClassifier().fit(X, codes), 2) for codes in (y, y[::-1])]
    >>> Boosted(parts, [0.2, 0.1], 2).predict_proba(X).round(2)
    array([[0.82, 0.18],
           [0.01, 0.99],
           [0.18, 0.82]])
    """

    models: Sequence[Model]
    weights: Sequence[float]
    n_classes: int

    @property
    def classes_(self) -> NDArray[np.intp]:
        """The class codes, in the order of the probabilities."""
        return np.arange(self.n_classes)

    def votes(self, rows: Any, **options: Any) -> Floats:
        """Return the weighted sum of the models' votes, ``n x K``."""
        said = [model.say(rows, **options) for model in self.models]
        total = np.zeros((len(said[0]), self.n_classes))
        for answers, weight in zip(said, self.weights, strict=True):
            add_answers(total, answers, weight)
        return total

    def predict_proba(self, rows: Any, **options: Any) -> Floats:
        """Return the probabilities of the mean vote."""
        return mean_probabilities(self.votes(rows, **options), self.weights)

    def predict(self, rows: Any, **options: Any) -> NDArray[np.intp]:
        """Return the class codes with the most votes."""
        codes: NDArray[np.intp] = self.votes(rows, **options).argmax(axis=1)
        return codes

    def check_kept(self, source: str) -> None:
        """Refuse parts that no learner has made. The audit checks the models themselves, one by one.

        It is called for a boosted model that was read from a file (:mod:`assistlearn.learners.model_audit`).
        """
        whole = isinstance(self.models, list) and isinstance(self.weights, list) and type(self.n_classes) is int
        if not whole or not self.models or len(self.models) != len(self.weights) or self.n_classes < 2:
            raise UntrustedFileError(
                f"{source}: a boosted model does not have one weight for each of its models, or at least two classes."
            )
        for model, weight in zip(self.models, self.weights, strict=True):
            if not isinstance(model, Model) or model.front is not None or isinstance(model.estimator, Boosted):
                raise UntrustedFileError(
                    f"{source}: a boosted model contains something that is not a model of one turn."
                )
            if model.n_classes not in (None, self.n_classes):
                raise UntrustedFileError(f"{source}: a boosted model contains a model with another number of classes.")
            if type(weight) is not float or not 0.0 <= weight < np.inf:
                raise UntrustedFileError(
                    f"{source}: a boosted model has the weight {weight!r}, which is not a finite number of at least 0."
                )


def mean_probabilities(votes: Floats, weights: Sequence[float]) -> Floats:
    """Return the probabilities of the mean vote, given the weighted sum of the votes.

    >>> mean_probabilities(np.array([[2.0, -2.0]]), [0.5, 1.5]).round(3)
    array([[0.731, 0.269]])
    """
    return probabilities(votes / max(sum(weights), np.finfo(np.float64).tiny))
