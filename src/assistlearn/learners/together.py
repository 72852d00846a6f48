"""Several models of one agent, which answer in a single pass where their learner can join them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, Protocol, runtime_checkable

from sklearn.utils.validation import _num_samples

from assistlearn.core.confidence import Said
from assistlearn.core.votes import Codes
from assistlearn.learners.model import Model

WORTHWHILE = 4_096
"""The number of rows from which joining models saves more time than it takes."""
MOST_ANSWERS = 2**26
"""The most answers that are held at a time."""
MOST_MODELS = 64
"""The most models that are joined into one."""


@runtime_checkable
class AnswersTogether(Protocol):
    """An estimator whose fitted copies can be joined into one that answers for all of them in a single pass."""

    def join(self, models: Sequence[Any]) -> Joint | None:
        """Return the joint model of these fitted copies of it, or None where they cannot be joined."""
        ...


class Joint(Protocol):
    """What :meth:`AnswersTogether.join` returns."""

    def predict(self, X: Any) -> Codes:
        """Return what each model answers for these rows, of shape (n_models, n_rows)."""
        ...


class Panel:
    """The models of one agent, which answer in the order in which they are given.

    Parameters
    ----------
    models : sequence of Model
        Behind the same transformers, fitted to the same columns and classes.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.tree import DecisionTreeClassifier
    >>> X, y = np.array([[0.0], [1.0], [2.0]]), np.array([0, 1, 1])
    >>> panel = Panel([Model(None, DecisionTreeClassifier().fit(X, codes)) for codes in (y, y[::-1])])
    >>> [codes.tolist() for codes in panel.answers(X)]
    [[0, 1, 1], [1, 1, 0]]
    """

    def __init__(self, models: Sequence[Model]) -> None:
        self._models = models
        self._joints: dict[tuple[int, int], Joint | None] = {}

    def answers(self, rows: Any) -> Iterator[Said]:
        """Yield each model's answers for rows that are transformed already: class codes, or probabilities."""
        n_rows = _num_samples(rows)
        size = min(MOST_MODELS, max(1, MOST_ANSWERS // max(n_rows, 1)))
        for start in range(0, len(self._models), size):
            group = self._models[start : start + size]
            joint = self._joint(start, group) if n_rows >= WORTHWHILE else None
            if joint is None:
                yield from (model.say(rows) for model in group)
            else:
                yield from joint.predict(rows)

    def _joint(self, start: int, group: Sequence[Model]) -> Joint | None:
        """Join a group of models, once."""
        first = group[0].estimator
        alike = all(model.n_classes is None and model.classes is None for model in group)
        if len(group) < 2 or not alike or not isinstance(first, AnswersTogether):
            return None
        key = start, len(group)
        if key not in self._joints:
            self._joints[key] = first.join([model.estimator for model in group])
        return self._joints[key]
