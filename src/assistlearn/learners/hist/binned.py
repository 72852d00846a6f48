"""A table that is binned once, so that a learner can be fitted to it again and again with new weights."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from assistlearn.errors import LearnerError
from assistlearn.learners.hist.categories import Categories
from assistlearn.learners.hist.xgboost_json.frozen import Frozen


@dataclass(eq=False)
class BinnedTable:
    """What ``prepare`` returns: the binned form of a table, with its labels.

    ``fit``, ``predict`` and ``predict_proba`` take it in place of ``X``. XGBoost's form needs one or two bytes per
    value, twice (by row and by column), and 16 bytes per sample. A binned table can be used for any number of fits.

    Attributes
    ----------
    matrix : xgboost.QuantileDMatrix
        The bins and the targets.
    y : ndarray of shape (n_samples,)
        The labels it was prepared with.
    classes : ndarray of shape (n_classes,)
        The classes among them.
    n_features : int
        The number of columns.
    feature_names : ndarray of shape (n_features,) or None
        Their names, where they are all strings.
    categories : list of (ndarray or None), or None
        The categories of every column; None where the table is not a data frame with categories.
    categorical : bool
        Whether any column is categorical.
    """

    matrix: Any
    y: NDArray[Any]
    classes: NDArray[Any]
    n_features: int
    feature_names: NDArray[Any] | None
    categories: Categories | None
    categorical: bool
    _latest: tuple[Frozen, NDArray[Any]] | None = field(default=None, init=False, repr=False)

    def __len__(self) -> int:
        return len(self.y)

    def check_labels(self, y: Any) -> None:
        """Refuse labels other than those that the table was prepared with, because it holds their class codes."""
        if y is self.y:
            return
        if len(y) != len(self.y) or not np.array_equal(y, self.y):
            raise LearnerError(
                f"The table was prepared with other labels ({len(self.y)} of them) than it is fitted with ({len(y)}). "
                "Prepare it again with the new ones."
            )

    def forget(self) -> None:
        """Drop the answers of the model that was fitted last."""
        self._latest = None

    def remember(self, booster: Frozen, answers: NDArray[Any]) -> None:
        """Keep the margins of the model that was fitted last: they are known when its trees have grown."""
        self._latest = booster, answers

    def recall(self, booster: Frozen) -> NDArray[Any] | None:
        """Return the margins of this model and drop them; None where it was not fitted last."""
        if self._latest is None or self._latest[0] is not booster:
            return None
        _, answers = self._latest
        self._latest = None
        return answers
