"""A bagged model: trees that an agent made in one turn, each from samples drawn at random, and that vote as one.

A fully grown tree memorises its samples, so there is nothing left to boost. But many such trees, each fitted to another
draw of the samples, are far better than one. What a tree says about samples outside its draw is honest at no cost.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from assistlearn.core.confidence import Said
from assistlearn.core.ignorance import Floats
from assistlearn.core.votes import Codes
from assistlearn.errors import UntrustedFileError
from assistlearn.learners.boosting import Fits, Private
from assistlearn.learners.model import Model
from assistlearn.learners.seeding import TurnSeeds


@dataclass(frozen=True)
class Bagged:
    """Models that answer with the mean of their probabilities.

    Attributes
    ----------
    models : list of Model
        Without transformers of their own.
    n_classes : int
        The number of classes, all of which it gives probabilities for.

    Examples
    --------
    >>> from sklearn.tree import DecisionTreeClassifier
    >>> X, y = np.array([[0.0], [1.0], [2.0]]), np.array([0, 1, 1])
    >>> parts = [Model(None, DecisionTreeClassifier().fit(X, codes), 2) for codes in (y, y, y[::-1], y[::-1])]
    >>> Bagged(parts, 2).predict_proba(X)
    array([[0.5, 0.5],
           [0. , 1. ],
           [0.5, 0.5]])
    """

    models: Sequence[Model]
    n_classes: int

    @property
    def classes_(self) -> NDArray[np.intp]:
        """The class codes, in the order of the probabilities."""
        return np.arange(self.n_classes)

    def predict_proba(self, rows: Any, **options: Any) -> Floats:
        """Return the mean of the models' probabilities."""
        total = np.zeros(1)
        for model in self.models:
            total = total + model.say(rows, **options)
        return total / len(self.models)

    def predict(self, rows: Any, **options: Any) -> NDArray[np.intp]:
        """Return the likeliest class codes."""
        codes: NDArray[np.intp] = self.predict_proba(rows, **options).argmax(axis=1)
        return codes

    def check_kept(self, source: str) -> None:
        """Refuse parts that no learner has made. The audit checks the models themselves, one by one."""
        if not isinstance(self.models, list) or not self.models or type(self.n_classes) is not int:
            raise UntrustedFileError(f"{source}: a bagged model has no list of models, or no number of classes.")
        for model in self.models:
            if not isinstance(model, Model) or model.front is not None or model.n_classes != self.n_classes:
                raise UntrustedFileError(
                    f"{source}: a bagged model contains something that is not a model of one turn with its classes."
                )
            if hasattr(model.estimator, "check_kept"):
                raise UntrustedFileError(f"{source}: a bagged model contains another model made of several.")


def bag(
    learner: Fits, codes: Codes, turn: Private, n_models: int, fold_of: NDArray[np.intp] | None = None
) -> tuple[list[Model], Said]:
    """Return models fitted to samples drawn at random, and what they say about the samples that they have not drawn.

    A drawn sample counts by its ignorance. There is no honest answer for a sample that all models have drawn: all
    classes are then equally likely.

    Parameters
    ----------
    learner : Fits
        A tree that is prepared.
    codes : ndarray of shape (n_samples,)
        The class codes of the samples that the agent holds.
    turn : Private
        The state of these samples, and the seed.
    n_models : int
        How many models to fit. A draw with a single class gives none.
    fold_of : ndarray of int of shape (n_samples,), optional
        The fold of each sample, where several samples are about the same person. Then each draw leaves out a fold, and
        says something about its samples only: other samples that are not drawn may be about somebody who is.
    """
    ignorance, n_classes, seeds = turn.state.ignorance(), turn.state.n_classes, TurnSeeds(turn.seed)
    models: list[Model] = []
    n_folds = 1 if fold_of is None else int(fold_of.max()) + 1
    said, asked = np.zeros((len(codes), n_classes)), np.zeros(len(codes))
    for number in range(1, n_models + 1):
        seed = seeds.of(number)
        drawn = np.bincount(np.random.RandomState(seed).randint(len(codes), size=len(codes)), minlength=len(codes))
        if fold_of is not None:
            drawn[fold_of == number % n_folds] = 0
        weights = ignorance * drawn
        if len(np.unique(codes[weights > 0.0])) < 2:
            continue  # nothing to tell apart
        model = learner.fit_only(weights / weights.sum(), seed, turn.when, n_classes)
        unseen = drawn == 0 if fold_of is None else fold_of == number % n_folds
        said[unseen] += learner.in_sample(model, turn.when)[unseen]
        asked += unseen
        models.append(replace(model, front=None))
    return models, np.where(asked[:, np.newaxis] > 0, said / np.maximum(asked, 1)[:, np.newaxis], 1.0 / n_classes)
