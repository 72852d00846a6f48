"""How a classifier of XGBoost's trees predicts: from rows, or from the table that it was fitted to."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import _num_samples, check_is_fitted

from assistlearn.core.blocks import blocks
from assistlearn.core.ignorance import Floats
from assistlearn.learners.hist.binned import BinnedTable
from assistlearn.learners.hist.booster import PREDICTED_ROWS, Margins, margins_of
from assistlearn.learners.hist.input_checks import CheckedClassifier
from assistlearn.learners.hist.xgboost_json.frozen import Frozen, thaw
from assistlearn.learners.hist.xgboost_json.tree_audit import audited
from assistlearn.learners.weighting import take_rows


class PredictingTrees(CheckedClassifier, ABC):
    """A classifier whose fitted trees are kept as bytes."""

    booster_: Frozen | None

    @abstractmethod
    def _kept_objective(self, n_outputs: int) -> dict[str, Any]:
        """Return the objective as XGBoost writes it into a model."""

    @abstractmethod
    def _codes(self, margins: Margins) -> NDArray[np.intp]:
        """Return the class codes that follow from the raw scores."""

    @abstractmethod
    def _probabilities(self, margins: Margins) -> Floats:
        """Return the class probabilities that follow from the raw scores, n x K."""

    def predict(self, X: Any) -> NDArray[Any]:
        """Return the most probable class of each sample.

        Parameters
        ----------
        X : array or data frame of shape (n_samples, n_features), or BinnedTable
            The samples.

        Returns
        -------
        y : ndarray of shape (n_samples,)
            The classes.
        """
        check_is_fitted(self)
        out = np.empty(_num_samples(X), dtype=self.classes_.dtype)
        done = 0
        for margins in self._margins(X):
            out[done : done + len(margins)] = self.classes_[self._codes(margins)]
            done += len(margins)
        return out

    def predict_proba(self, X: Any) -> Floats:
        """Return the probability of each class.

        Parameters
        ----------
        X : array or data frame of shape (n_samples, n_features), or BinnedTable
            The samples.

        Returns
        -------
        p : ndarray of shape (n_samples, n_classes)
            In the order of ``classes_``.
        """
        check_is_fitted(self)
        answers = [self._probabilities(margins) for margins in self._margins(X)]
        return answers[0] if len(answers) == 1 else np.concatenate(answers)

    def _margins(self, X: Any) -> Iterator[Margins]:
        """Yield the raw scores: those of a binned table at once, those of new rows block by block."""
        if isinstance(X, BinnedTable):
            yield self._margins_of_table(X)
            return
        X = self._checked_new(X)
        n_rows = _num_samples(X)
        if self.booster_ is None:
            yield np.zeros((n_rows, 1), np.float32)
            return
        booster = thaw(self.booster_, self._n_threads())
        for rows in blocks(n_rows, PREDICTED_ROWS):
            yield margins_of(booster, take_rows(X, rows))

    def _margins_of_table(self, table: BinnedTable) -> Margins:
        if self.booster_ is None:
            return np.zeros((len(table), 1), np.float32)
        margins: Margins | None = table.recall(self.booster_)
        if margins is None:
            margins = thaw(self.booster_, self._n_threads()).predict(table.matrix, output_margin=True)
        return margins

    def check_kept(self, source: str) -> None:
        """Check the trees of a model that was read from a file before XGBoost reads them, and write them anew.

        Parameters
        ----------
        source : str
            Where the model comes from, for error messages.
        """
        frozen = getattr(self, "booster_", None)
        if frozen is not None:
            n_outputs = len(self.classes_) if len(self.classes_) > 2 else 1
            self.booster_ = audited(frozen, self.n_features_in_, n_outputs, self._kept_objective(n_outputs), source)
