"""A model: what an agent's learner fitted in one turn, and how it answers."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.utils.validation import _num_samples

from assistlearn.core.confidence import Said
from assistlearn.core.ignorance import Floats
from assistlearn.core.votes import Codes

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
    """

    front: Any
    estimator: Any
    n_classes: int | None = None

    def answer(self, X: Any) -> Said:
        """Return its answers for rows that are not transformed yet. Where there are none, no learner is asked."""
        return self.say(self.transform(X)) if _num_samples(X) else self.no_answers()

    def no_answers(self) -> Said:
        """Return its answers for no rows."""
        return np.zeros(0, dtype=np.int64) if self.n_classes is None else np.zeros((0, self.n_classes))

    def predict(self, X: Any) -> Codes:
        """Return the class codes that it answers for these rows."""
        return _codes(self.estimator.predict(self.transform(X)))

    def transform(self, X: Any) -> Any:
        """Return the rows as the classifier sees them."""
        return X if self.front is None else self.front.transform(X)

    def say(self, rows: Any, **options: Any) -> Said:
        """Return its answers for rows that are transformed already: class codes, or probabilities (n x K)."""
        if self.n_classes is None:
            return _codes(self.estimator.predict(rows, **options))
        return _probabilities(self.estimator, self.estimator.predict_proba(rows, **options), self.n_classes)


def _codes(answers: Any) -> Codes:
    """Return a learner's answers as integer class codes."""
    answers = np.asarray(answers)
    if answers.dtype.kind not in "iu":
        answers = answers.astype(np.int64)
    codes: Codes = answers.reshape(len(answers))
    return codes


def _probabilities(estimator: Any, answers: Any, n_classes: int) -> Floats:
    """Return a learner's probabilities with a column for every class, also for those that it has not seen."""
    answers = np.asarray(answers, dtype=np.float64)
    out = np.zeros((len(answers), n_classes))
    out[:, np.asarray(estimator.classes_, dtype=np.intp)] = answers
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
