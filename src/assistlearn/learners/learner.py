"""A learner: an agent's private estimator, prepared once and refitted every round."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Protocol, runtime_checkable

import numpy as np
from sklearn.base import clone
from sklearn.pipeline import Pipeline

from assistlearn.core.ignorance import Floats
from assistlearn.core.votes import Codes
from assistlearn.errors import LearnerError, LearnerTypeError
from assistlearn.learners.seeding import seed_all
from assistlearn.learners.trees import as_trees_see_it
from assistlearn.learners.weighting import fit_weighted


@runtime_checkable
class Prepares(Protocol):
    """An estimator that can prepare its table once and be refitted to it every round.

    It has one method more than a classifier, ``prepare(X, y)``. What that returns (a binned table, say) is handed to
    ``fit``, ``predict`` and ``predict_proba`` in place of ``X`` for as long as training lasts, and then released.
    """

    def prepare(self, X: Any, y: Codes) -> Any:
        """Return whatever makes later calls of ``fit`` with other weights cheap."""
        ...


@dataclass(frozen=True)
class Model:
    """One fitted model of an agent, which answers with class codes.

    Attributes
    ----------
    front : estimator or None
        The fitted transformers of a pipeline, shared by all models of the agent.
    estimator : estimator
        The fitted classifier behind them.
    """

    front: Any
    estimator: Any

    def predict(self, X: Any) -> Codes:
        """Return the class codes it answers for these rows."""
        return self.answer(self.transform(X))

    def transform(self, X: Any) -> Any:
        """Return the rows as the classifier sees them."""
        return X if self.front is None else self.front.transform(X)

    def answer(self, rows: Any) -> Codes:
        """Return the class codes it answers for rows that are transformed already."""
        return _codes(self.estimator.predict(rows))


class Learner:
    """How an agent's private estimator is fitted under an ignorance.

    ``prepare`` does, once, the work that does not depend on the ignorance: a pipeline's transformers are fitted and
    applied, and an estimator that offers to (:class:`Prepares`) prepares its table. ``fit`` then costs no more than
    the classifier itself.

    Parameters
    ----------
    estimator : scikit-learn classifier or pipeline
        Never changed: clones of it are fitted.
    owner : str
        The agent's name, for error messages.
    """

    def __init__(self, estimator: Any, owner: str) -> None:
        self._estimator = estimator
        self._owner = owner
        self._front: Any = None
        self._table: Any = None
        self._options: dict[str, Any] = {}
        self._codes: Codes = np.empty(0, dtype=np.int64)

    def prepare(self, X: Any, codes: Codes, seed: int) -> None:
        """Take the training rows and their class codes, and do what needs doing once."""
        front, classifier = _parts(self._estimator)
        self._codes = codes
        with self.named("prepare its table"):
            if front is not None:
                self._front = clone(front)
                seed_all(self._front, seed)
                X = self._front.fit_transform(X, codes)
            if isinstance(classifier, Prepares):
                self._table = classifier.prepare(X, codes)
            else:
                self._table, self._options = as_trees_see_it(classifier, X)

    def fit(self, ignorance: Floats, seed: int, when: str) -> tuple[Model, Codes]:
        """Return a model fitted under this ignorance, and the codes it answers for the training rows."""
        _, classifier = _parts(self._estimator)
        estimator = clone(classifier)
        with self.named(f"fit in {when}"):
            seed_all(estimator, seed)
            fit_weighted(estimator, self._table, self._codes, ignorance, seed, self._options)
        with self.named(f"predict in {when}"):
            answers = _codes(estimator.predict(self._table, **self._options))
            if len(answers) != len(self._codes):
                raise ValueError(f"it gave {len(answers)} answers for {len(self._codes)} samples.")
        return Model(self._front, estimator), answers

    def release(self) -> None:
        """Let go of the prepared table; kept models still predict."""
        self._table = None
        self._codes = np.empty(0, dtype=np.int64)

    @contextmanager
    def named(self, doing: str) -> Iterator[None]:
        """Turn whatever the estimator raises inside into an error that names the agent and what it was doing."""
        try:
            yield
        except Exception as error:
            learner = type(self._estimator).__name__
            kind = "" if isinstance(error, ValueError) else f"{type(error).__name__}: "
            refusal = LearnerTypeError if isinstance(error, TypeError) else LearnerError
            raise refusal(f"Agent {self._owner!r}: its learner {learner} could not {doing}: {kind}{error}") from error


def _parts(estimator: Any) -> tuple[Any, Any]:
    """Return the transformers (None if there are none) and the classifier behind them, through nested pipelines."""
    if not isinstance(estimator, Pipeline):
        return None, estimator
    outer = estimator[:-1] if len(estimator) > 1 else None
    inner, classifier = _parts(estimator[-1])
    if outer is None or inner is None:
        return inner if outer is None else outer, classifier
    return Pipeline([("outer", outer), ("inner", inner)]), classifier


def _codes(answers: Any) -> Codes:
    """Return a learner's answers as integer class codes."""
    answers = np.asarray(answers)
    if answers.dtype.kind not in "iu":
        answers = answers.astype(np.int64)
    codes: Codes = answers.reshape(len(answers))
    return codes
