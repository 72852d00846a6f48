"""A model: what an agent's learner fitted in one turn, and how it answers."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from assistlearn.core.confidence import Said
from assistlearn.core.ignorance import Floats
from assistlearn.core.votes import Codes
from assistlearn.errors import UntrustedFileError

ROUNDING = 1e-3
"""How far probabilities may be from summing to one: a learner may work in single precision."""


@dataclass(frozen=True)
class Model:
    """One fitted model of an agent, which answers with class codes, or with class probabilities.

    Attributes
    ----------
    front : estimator or None
        The fitted transformers of a pipeline, shared by all models of the agent.
    estimator : estimator
        The fitted classifier behind them.
    n_classes : int or None
        The number of classes that it gives probabilities for; None if it answers with class codes.
    classes : ndarray of int or None
        The class codes that the estimator was fitted to, which are 0, 1, ... to the estimator itself; None where they
        are no others (:func:`without_gaps`).
    """

    front: Any
    estimator: Any
    n_classes: int | None = None
    classes: Codes | None = None

    def answer(self, X: Any) -> Said:
        """Return its answers for rows that are not transformed yet. Where there are none, no learner is asked."""
        from sklearn.utils.validation import _num_samples  # slow to import, and whoever only shows a run needs it not

        return self.say(self.transform(X)) if _num_samples(X) else self.no_answers()

    def no_answers(self) -> Said:
        """Return its answers for no rows."""
        return np.zeros(0, dtype=np.int64) if self.n_classes is None else np.zeros((0, self.n_classes))

    def predict(self, X: Any) -> Codes:
        """Return the class codes that it answers for these rows."""
        return self._codes(self.estimator.predict(self.transform(X)))

    def transform(self, X: Any) -> Any:
        """Return the rows as the classifier sees them."""
        return X if self.front is None else self.front.transform(X)

    def say(self, rows: Any, **options: Any) -> Said:
        """Return its answers for rows that are transformed already: class codes, or probabilities (n x K)."""
        if self.n_classes is None:
            return self._codes(self.estimator.predict(rows, **options))
        return _probabilities(self.estimator.predict_proba(rows, **options), self.columns(), self.n_classes)

    def columns(self) -> Codes:
        """Return the class code of each column of the estimator's probabilities."""
        codes: Codes = np.asarray(self.estimator.classes_, dtype=np.intp)
        return codes if self.classes is None else self.classes[codes]

    def check_kept(self, source: str) -> None:
        """Refuse classes that :func:`without_gaps` cannot have found."""
        found = self.classes
        if found is not None and not (isinstance(found, np.ndarray) and found.dtype.kind == "i" and found.ndim == 1):
            raise UntrustedFileError(f"{source}: the classes that a model was fitted to are no list of class codes.")

    def _codes(self, answers: Any) -> Codes:
        """Return the estimator's answers as integer class codes."""
        answers = np.asarray(answers)
        if answers.dtype.kind not in "iu":
            answers = answers.astype(np.int64)
        codes: Codes = answers.reshape(len(answers))
        return codes if self.classes is None else self.classes[codes]


def without_gaps(codes: Codes) -> tuple[Codes, Codes | None]:
    """Return class codes renumbered as 0, 1, ... in their order, and the class code of each number.

    Some learners refuse labels with gaps, which a fold without a rare class has. Where there are no gaps, the codes are
    returned as they are, and None.

    >>> without_gaps(np.array([2, 0, 2]))
    (array([1, 0, 1]), array([0, 2]))
    >>> without_gaps(np.array([1, 0]))
    (array([1, 0]), None)
    """
    there = np.bincount(codes) > 0
    if there.all():
        return codes, None
    classes: Codes = np.flatnonzero(there)
    return (np.cumsum(there) - 1)[codes].astype(codes.dtype), classes


def _probabilities(answers: Any, columns: Codes, n_classes: int) -> Floats:
    """Return a learner's probabilities with a column for every class. A class that it has not seen gets zero.

    A network may have an output for every class even if it has seen fewer. Outputs that no class belongs to are left
    out.
    """
    answers = np.asarray(answers, dtype=np.float64)
    if answers.shape[1:] and len(columns) < answers.shape[1] <= n_classes:
        answers = answers[:, : len(columns)]
        answers = answers / answers.sum(axis=1, keepdims=True)
    out = np.zeros((len(answers), n_classes))
    out[:, columns] = answers
    if not np.all(np.isfinite(out)):
        raise ValueError("its probabilities are not all finite.")
    total = out.sum(axis=1)
    if out.min(initial=0.0) < -ROUNDING or np.abs(total - 1.0).max(initial=0.0) > ROUNDING:
        row = int(np.abs(total - 1.0).argmax())
        raise ValueError(
            f"its answers are not probabilities: the smallest is {out.min():g}, and those of row {row} sum to "
            f"{total[row]:g}."
        )
    return out
