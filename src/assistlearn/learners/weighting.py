"""How a learner uses the ignorance: as sample weights if its ``fit`` takes them, and by resampling otherwise."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn import get_config
from sklearn.model_selection import GridSearchCV, RandomizedSearchCV
from sklearn.utils.validation import has_fit_parameter

from assistlearn.core.ignorance import Floats
from assistlearn.core.votes import Codes
from assistlearn.learners.model import without_gaps


def fit_weighted(
    estimator: Any, table: Any, codes: Codes, ignorance: Floats, seed: int, options: dict[str, Any]
) -> Codes | None:
    """Fit ``estimator`` in place under an ignorance, passing further ``options`` to its ``fit``.

    Return the class codes that it was fitted to if those drawn have gaps (:func:`~.model.without_gaps`); else None.
    """
    if takes_weights(estimator):
        any_scale = getattr(estimator, "any_scale", False)  # then there is no need for a copy
        weights = ignorance if any_scale else ignorance * weight_scale(len(ignorance))
        estimator.fit(table, codes, sample_weight=weights, **options)
        return None
    rows = resample(codes, ignorance, seed)
    drawn, classes = without_gaps(codes[rows])
    estimator.fit(take_rows(table, rows), drawn)
    return classes


def weight_scale(n_samples: int) -> float:
    """Return the factor that turns the ignorance into a learner's weights: the power of two nearest to ``n_samples``.

    The weights then average about one, as scikit-learn's users expect. So the penalty of a logistic regression or the
    step of a network keeps its meaning. A power of two rounds nothing: a learner that does not care about the scale
    does exactly what it would with the ignorance itself.

    >>> weight_scale(1000)
    1024.0
    """
    return 2.0 ** round(math.log2(n_samples))


def takes_weights(estimator: Any) -> bool:
    """Whether ``estimator.fit`` takes ``sample_weight``.

    >>> from sklearn.neighbors import KNeighborsClassifier
    >>> from sklearn.tree import DecisionTreeClassifier
    >>> takes_weights(DecisionTreeClassifier()), takes_weights(KNeighborsClassifier())
    (True, False)
    """
    if has_fit_parameter(estimator, "sample_weight"):
        return True
    if get_config()["enable_metadata_routing"]:
        return _is_routed(estimator)
    searches = isinstance(estimator, GridSearchCV | RandomizedSearchCV)
    return searches and takes_weights(estimator.estimator)


def resample(codes: Codes, ignorance: Floats, seed: int) -> NDArray[np.intp]:
    """Draw as many rows as there are, in proportion to their ignorance, keeping every class.

    Where the draw has missed a class, the sample of this class with the highest ignorance is added, unless the class
    has no ignorance at all.

    >>> codes = np.array([0, 0, 0, 1])
    >>> rows = resample(codes, np.array([0.5, 0.5, 0.0, 1e-9]) / (1 + 1e-9), seed=0)
    >>> sorted({int(code) for code in codes[rows]}), 2 in rows
    ([0, 1], False)
    """
    rng = np.random.RandomState(seed)
    upto = np.cumsum(ignorance)
    rows = np.searchsorted(upto, rng.random_sample(len(codes)) * upto[-1], side="right")
    counting = np.flatnonzero(ignorance > 0.0)
    missed = np.setdiff1d(codes[counting], codes[rows])
    kept = [counting[codes[counting] == code] for code in missed]
    extra = [rows_of[np.argmax(ignorance[rows_of])] for rows_of in kept]
    return np.concatenate([rows, np.asarray(extra, dtype=rows.dtype)])


def take_rows(table: Any, rows: NDArray[Any] | slice) -> Any:
    """Return the rows at these positions of an array, sparse matrix or data frame."""
    if hasattr(table, "iloc"):
        return table.iloc[rows]
    return table[rows]


def _is_routed(estimator: Any) -> bool:
    routing = estimator.get_metadata_routing()
    return "sample_weight" in routing.consumes("fit", ["sample_weight"])
