"""A classification tree on a table that is binned once."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from assistlearn.core.ignorance import Floats
from assistlearn.core.votes import Codes
from assistlearn.learners.hist.binned import BinnedTable
from assistlearn.learners.hist.booster import Margins
from assistlearn.learners.hist.hist_classifier import HistClassifier
from assistlearn.learners.hist.joint_trees import JointTrees
from assistlearn.learners.hist.xgboost_json.objectives import SQUARED_ERROR


class HistTreeClassifier(HistClassifier):
    """A classification tree that splits at the edges of bins, on XGBoost.

    It grows by Gini impurity, as :class:`~sklearn.tree.DecisionTreeClassifier` does, and is as accurate; but a table
    is binned once, after which a tree under new weights takes a small part of the time. That is what an agent does in
    every turn. It also works alone, as any other classifier.

    Parameters
    ----------
    max_depth : int or None, default=5
        How deep the tree may grow; None sets no limit.
    max_bin : int, default=64
        Into how many bins a column is cut, at the most, each with about as many samples as the others. More than 256
        double the memory.
    subsample : float, default=1.0
        The share of the samples, drawn at random, that a tree is grown on.
    feature_types : list of str, default=None
        For tables without data types of their own: "c" for a column that holds the codes of categories, "q" for any
        other. The categorical columns of a pandas or polars data frame are known as such.
    random_state : int, RandomState instance or None, default=None
        Where the subsample comes from. With ``subsample=1.0`` there is no chance in the tree.
    n_jobs : int, default=None
        How many threads to use. None leaves it to XGBoost, which uses all cores or as many as ``OMP_NUM_THREADS``
        says; -1 means all cores.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        The classes.
    n_features_in_ : int
        The number of columns seen in ``fit``.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Their names, where they are all strings.
    categories_ : list of (ndarray or None), or None
        The categories of every column, in the order of their codes; None where the table was not a data frame with
        categorical columns. A category that is not among them counts as missing.
    n_trees_ : int
        The number of trees.
    booster_ : ndarray of uint8, or None
        The tree as XGBoost writes it, the bytes of a JSON document; None where there is one class only.

    Notes
    -----
    A boosting step with the squared error of the one-hot labels, from zero and unregularised, gains exactly the
    decrease of Gini impurity, and a leaf is then the share of each class. With more than two classes one tree has all
    shares in its leaves. XGBoost cannot split a categorical column that way yet; where a table has one, and there are
    more than two classes, a tree is grown for each class.

    A missing value goes to the side of a split where it lowers the impurity most.

    Examples
    --------
    >>> from sklearn.datasets import load_wine
    >>> X, y = load_wine(return_X_y=True)
    >>> tree = HistTreeClassifier(max_depth=3).fit(X, y)
    >>> round(tree.score(X, y), 2)
    0.98

    Binned once, fitted with different weights:

    >>> table = tree.prepare(X, y)
    >>> for favourite in range(3):
    ...     model = tree.fit(table, y, sample_weight=np.where(y == favourite, 100.0, 1.0))
    ...     print(favourite, model.score(X[y == favourite], y[y == favourite]))
    0 1.0
    1 1.0
    2 1.0
    """

    any_scale: ClassVar[bool] = True

    def __init__(
        self,
        max_depth: int | None = 5,
        *,
        max_bin: int = 64,
        subsample: float = 1.0,
        feature_types: list[str] | None = None,
        random_state: int | np.random.RandomState | None = None,
        n_jobs: int | None = None,
    ) -> None:
        self.max_depth = max_depth
        self.max_bin = max_bin
        self.subsample = subsample
        self.feature_types = feature_types
        self.random_state = random_state
        self.n_jobs = n_jobs

    def join(self, models: Sequence[HistTreeClassifier]) -> JointTrees | None:
        """Return one model that answers for all of these, and reads the rows once.

        Parameters
        ----------
        models : sequence of HistTreeClassifier
            Fitted to the same table with different weights.

        Returns
        -------
        joint : JointTrees or None
            Its ``predict`` returns an array of shape (n_models, n_samples), exactly what the models answer one by one.
            None where they cannot be joined: they know different classes, or one class only.
        """
        same = all(np.array_equal(model.classes_, self.classes_) for model in models)
        return JointTrees(models) if same and len(self.classes_) > 1 else None

    def _targets(self, codes: Codes, n_classes: int) -> NDArray[np.float32]:
        if n_classes <= 2:
            return codes.astype(np.float32)
        one_hot = np.zeros((len(codes), n_classes), np.float32)
        one_hot[np.arange(len(codes)), codes] = 1.0
        return one_hot

    def _objective(self, table: BinnedTable) -> dict[str, Any]:
        return {
            "objective": "reg:squarederror",
            "base_score": 0.0,
            "learning_rate": 1.0,
            "reg_lambda": 0.0,
            "min_child_weight": 0.0,
            "multi_strategy": "multi_output_tree" if self._n_trees_per_round(table) == 1 else "one_output_per_tree",
        }

    def _kept_objective(self, n_outputs: int) -> dict[str, Any]:
        return SQUARED_ERROR

    def _n_trees_per_round(self, table: BinnedTable) -> int:
        n_classes = len(table.classes)
        return n_classes if table.categorical and n_classes > 2 else 1

    def _weights(self, weights: Floats) -> NDArray[np.float32]:
        # A tree does not care about the scale, but XGBoost's smallest gain is an absolute number. A power of two
        # rounds nothing.
        scale = 2.0 ** -round(math.log2(float(weights.mean())))
        return np.multiply(weights, scale, dtype=np.float32, casting="unsafe")

    def _codes(self, margins: Margins) -> NDArray[np.intp]:
        if margins.ndim == 1:
            return (margins > 0.5).astype(np.intp)
        codes: NDArray[np.intp] = margins.argmax(axis=1)
        return codes

    def _probabilities(self, margins: Margins) -> Floats:
        if margins.ndim == 1:
            share = np.clip(margins.astype(np.float64), 0.0, 1.0)
            return np.column_stack([1.0 - share, share])
        shares = np.maximum(margins.astype(np.float64), 0.0)
        total = shares.sum(axis=1, keepdims=True)
        shares[total[:, 0] <= 0.0] = 1.0  # in a leaf without weight, all classes are equally likely
        out: Floats = shares / shares.sum(axis=1, keepdims=True)
        return out
