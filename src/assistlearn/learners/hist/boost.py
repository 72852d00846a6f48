"""A small boosted ensemble on a table that is binned once."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit, softmax

from assistlearn.core.ignorance import Floats
from assistlearn.core.votes import Codes
from assistlearn.learners.hist.binned import BinnedTable
from assistlearn.learners.hist.booster import Margins
from assistlearn.learners.hist.hist_classifier import HistClassifier
from assistlearn.learners.hist.xgboost_json.objectives import LOGISTIC, softmax_of


class HistBoostClassifier(HistClassifier):
    """A few trees boosted by the logistic loss, on XGBoost.

    A stronger learner than one tree, for few rounds or for methods that use its probabilities. The table is binned
    once; every turn grows a new ensemble under the present ignorance. It also works alone, as any other classifier.

    Parameters
    ----------
    n_estimators : int, default=20
        The number of boosting steps.
    max_depth : int or None, default=5
        How deep a tree may grow; None sets no limit.
    learning_rate : float, default=0.3
        How far each step goes.
    max_bin : int, default=64
        Into how many bins a column is cut, at the most, each with about as many samples as the others. More than 256
        double the memory.
    min_child_weight : float, default=1.0
        A leaf has at least this much second derivative of the loss, weights included.
    reg_lambda : float, default=1.0
        The penalty on the square of a leaf's value.
    subsample : float, default=1.0
        The share of the samples, drawn at random, that each step's trees are grown on.
    feature_types : list of str, default=None
        For tables without data types of their own: "c" for a column that holds the codes of categories, "q" for any
        other. The categorical columns of a pandas or polars data frame are known as such.
    random_state : int, RandomState instance or None, default=None
        Where the subsamples come from. With ``subsample=1.0`` there is no chance in the trees.
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
        The trees as XGBoost writes them, the bytes of a JSON document; None where there is one class only.

    Notes
    -----
    With more than two classes every step grows a tree for each class. One tree for all of them, as in
    :class:`~.tree.HistTreeClassifier`, takes as long here and is less accurate.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from sklearn.model_selection import cross_val_score
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> bool(cross_val_score(HistBoostClassifier(), X, y).mean() > 0.94)
    True
    """

    _ranges: ClassVar[dict[str, tuple[float, float, bool]]] = {
        **HistClassifier._ranges,
        "n_estimators": (1, np.inf, True),
        "learning_rate": (1e-6, np.inf, False),
        "reg_lambda": (0, np.inf, False),
        "min_child_weight": (0, np.inf, False),
    }

    def __init__(
        self,
        n_estimators: int = 20,
        *,
        max_depth: int | None = 5,
        learning_rate: float = 0.3,
        max_bin: int = 64,
        min_child_weight: float = 1.0,
        reg_lambda: float = 1.0,
        subsample: float = 1.0,
        feature_types: list[str] | None = None,
        random_state: int | np.random.RandomState | None = None,
        n_jobs: int | None = None,
    ) -> None:
        self.n_estimators = n_estimators
        self.max_depth = max_depth
        self.learning_rate = learning_rate
        self.max_bin = max_bin
        self.min_child_weight = min_child_weight
        self.reg_lambda = reg_lambda
        self.subsample = subsample
        self.feature_types = feature_types
        self.random_state = random_state
        self.n_jobs = n_jobs

    def _n_rounds(self) -> int:
        return self.n_estimators

    def _n_trees_per_round(self, table: BinnedTable) -> int:
        return 1 if len(table.classes) == 2 else len(table.classes)

    def _targets(self, codes: Codes, n_classes: int) -> NDArray[np.float32]:
        return codes.astype(np.float32)

    def _objective(self, table: BinnedTable) -> dict[str, Any]:
        common = {
            "learning_rate": self.learning_rate,
            "reg_lambda": self.reg_lambda,
            "min_child_weight": self.min_child_weight,
        }
        if len(table.classes) == 2:
            return common | {"objective": "binary:logistic"}
        return common | {"objective": "multi:softprob", "num_class": len(table.classes)}

    def _kept_objective(self, n_outputs: int) -> dict[str, Any]:
        return LOGISTIC if n_outputs == 1 else softmax_of(n_outputs)

    def _weights(self, weights: Floats) -> NDArray[np.float32]:
        return weights.astype(np.float32)

    def _codes(self, margins: Margins) -> NDArray[np.intp]:
        if margins.ndim == 1:
            return (margins > 0.0).astype(np.intp)
        codes: NDArray[np.intp] = margins.argmax(axis=1)
        return codes

    def _probabilities(self, margins: Margins) -> Floats:
        exact = margins.astype(np.float64)
        if margins.ndim == 1:
            share = expit(exact)
            return np.column_stack([1.0 - share, share])
        out: Floats = softmax(exact, axis=1)
        return out
