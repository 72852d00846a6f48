r"""A correction: what an agent's new model says, less what its earlier models have said.

In a later round an agent fits its model beside what the *others* have said, as if its own earlier models had not
spoken. What it then tells is the difference, so that the votes of all rounds still add up.

Why not simply fit one more model to what the vote lacks? Rewards are honest: for each fold they come from a copy that
has not seen it. So what the vote lacks on the other folds contains this fold's labels, with the opposite sign. A copy
that is fitted to it learns the opposite of its own fold. With three folds and an agent that says a mean :math:`m`, the
vote lacks :math:`m_1 - (m_2 + m_3) / 2` on the first fold, and so on. The copy of the third fold learns
:math:`\frac12 ((m_1 + m_2) / 2 - m_3)`, which is wrong exactly where the mean of its fold differs by chance. Small
gains drown in that. Once the agent's own votes are taken out, nothing of the kind is left of them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from assistlearn.core.confidence import add_answers
from assistlearn.core.ignorance import Floats
from assistlearn.core.votes import probabilities
from assistlearn.errors import UntrustedFileError
from assistlearn.learners.model import Model


@dataclass(frozen=True)
class Correction:
    """A new model and the earlier ones of the same agent, behind the same transformers.

    Attributes
    ----------
    models : list of Model
        The new model first. They have no transformers of their own.
    weights : list of float
        The weights of their votes; those of the earlier models have the opposite sign.
    n_classes : int
        The number of classes, all of which it gives probabilities for.

    Examples
    --------
    >>> from sklearn.tree import DecisionTreeClassifier
    >>> X, y = np.array([[0.0], [1.0]]), np.array([0, 1])
    >>> part = Model(None, DecisionTreeClassifier().fit(X, y), 2)
    >>> Correction([part, part], [0.3, -0.1], 2).predict_proba(X).round(2)
    array([[0.72, 0.28],
           [0.28, 0.72]])
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
        """Return the probabilities that the votes mean."""
        return probabilities(self.votes(rows, **options))

    def predict(self, rows: Any, **options: Any) -> NDArray[np.intp]:
        """Return the class codes with the most votes."""
        codes: NDArray[np.intp] = self.votes(rows, **options).argmax(axis=1)
        return codes

    def check_kept(self, source: str) -> None:
        """Refuse parts that no learner has made. The audit checks the models themselves, one by one."""
        whole = isinstance(self.models, list) and isinstance(self.weights, list) and type(self.n_classes) is int
        if not whole or not self.models or len(self.models) != len(self.weights) or self.n_classes < 2:
            raise UntrustedFileError(
                f"{source}: a correction does not have one weight for each of its models, or at least two classes."
            )
        for model, weight in zip(self.models, self.weights, strict=True):
            if not isinstance(model, Model) or model.front is not None or isinstance(model.estimator, Correction):
                raise UntrustedFileError(f"{source}: a correction contains something that is not a model of one turn.")
            if model.n_classes not in (None, self.n_classes):
                raise UntrustedFileError(f"{source}: a correction contains a model with another number of classes.")
            if type(weight) is not float or not np.isfinite(weight):
                raise UntrustedFileError(f"{source}: a correction has the weight {weight!r}, which is not finite.")


def corrected(new: Model, weight: float, earlier: Sequence[tuple[Model, float]], n_classes: int) -> Model:
    """Return the model that says what a new one says with this weight, less what earlier ones say with theirs.

    An earlier correction takes back what was said before it. So its parts are counted once, with the weights that are
    left of them.

    >>> first, second, third = (Model(None, name, 2) for name in "abc")
    >>> once = corrected(second, 1.0, [(first, 0.5)], 2)
    >>> twice = corrected(third, 1.0, [(first, 0.5), (once, 0.8)], 2).estimator
    >>> [model.estimator for model in twice.models], [round(weight, 3) for weight in twice.weights]
    (['c', 'a', 'b'], [1.0, -0.1, -0.8])
    """
    said: list[tuple[Model, float]] = []
    for model, its_weight in earlier:
        if isinstance(model.estimator, Correction):
            (latest, *_), (its_own, *_) = model.estimator.models, model.estimator.weights
            said = [(part, (1.0 - its_weight) * known) for part, known in said]
            said.append((latest, its_weight * its_own))
        else:
            said.append((model, its_weight))
    parts = [(new, weight), *((model, -its_weight) for model, its_weight in said)]
    models = [replace(model, front=None) for model, _ in parts]
    return Model(new.front, Correction(models, [float(each) for _, each in parts], n_classes), n_classes)
