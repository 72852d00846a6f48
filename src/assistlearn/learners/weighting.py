"""How a learner is given weights, seeds and tables."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray
from sklearn import get_config
from sklearn.ensemble import ExtraTreesClassifier, HistGradientBoostingClassifier, RandomForestClassifier
from sklearn.model_selection import GridSearchCV, RandomizedSearchCV
from sklearn.tree import DecisionTreeClassifier, ExtraTreeClassifier
from sklearn.utils.validation import has_fit_parameter

from assistlearn.learners.model import without_gaps
from assistlearn.types import Codes, Floats

TREES = (DecisionTreeClassifier, ExtraTreeClassifier)
FORESTS = (RandomForestClassifier, ExtraTreesClassifier)
_Floats: TypeAlias = NDArray[np.floating[Any]]

# -- the ignorance: as sample weights if a learner's ``fit`` takes them, and by resampling otherwise -------------------


def fit_weighted(
    estimator: Any, table: Any, codes: Codes, ignorance: Floats, seed: int, options: dict[str, Any]
) -> Codes | None:
    """Fit ``estimator`` in place; return the class codes where those drawn have gaps (:func:`~.model.without_gaps`)."""
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

    The weights then average about one, as scikit-learn's users expect: the penalty of a logistic regression or the step
    of a network keeps its meaning. A power of two rounds nothing.

    >>> weight_scale(1000)
    1024.0
    """
    return 2.0 ** round(math.log2(n_samples))


def takes_weights(estimator: Any) -> bool:
    if has_fit_parameter(estimator, "sample_weight"):
        return True
    if get_config()["enable_metadata_routing"]:
        routing = estimator.get_metadata_routing()
        return "sample_weight" in routing.consumes("fit", ["sample_weight"])
    searches = isinstance(estimator, GridSearchCV | RandomizedSearchCV)
    return searches and takes_weights(estimator.estimator)


def resample(codes: Codes, ignorance: Floats, seed: int) -> NDArray[np.intp]:
    """Draw as many rows as there are, in proportion to their ignorance, keeping every class.

    Where the draw has missed a class, the sample of this class with the highest ignorance is added, unless the class
    has no ignorance at all.
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
    if hasattr(table, "iloc"):
        return table.iloc[rows]
    return table[rows]


# -- seeds for chance in a learner, all drawn from the run's seed ------------------------------------------------------


MAX_SEED = int(np.iinfo(np.int32).max)

MAX_RUN_SEED = 2**32 - 1


def seed_all(estimator: Any, seed: int) -> None:
    """Set every ``random_state`` of an estimator, nested ones too, from one seed.

    A single one gets the seed itself; several get numbers drawn from it, in the order of their names.
    """
    names = sorted(
        name for name in estimator.get_params(deep=True) if name == "random_state" or name.endswith("__random_state")
    )
    if len(names) == 1:
        estimator.set_params(**{names[0]: seed})
    elif names:
        drawn = np.random.RandomState(seed).randint(MAX_SEED, size=len(names))
        estimator.set_params(**dict(zip(names, map(int, drawn), strict=True)))


class TurnSeeds:
    """The seeds of the turns of a run, all drawn from one number. Whoever knows this number draws the same seeds."""

    def __init__(self, seed: int) -> None:
        self._rng = np.random.RandomState(seed)
        self._drawn: list[int] = []

    def of(self, turn: int) -> int:
        missing = turn - len(self._drawn)
        if missing > 0:
            self._drawn += self._rng.randint(MAX_SEED, size=missing).tolist()
        return self._drawn[turn - 1]


# -- tables: what scikit-learn's trees and histogram boosting would do to them in every fit is done once ---------------


def as_trees_see_it(estimator: Any, table: Any) -> tuple[Any, dict[str, Any]]:
    """Return a table as a tree or forest of scikit-learn wants it, and options for its ``fit`` and ``predict``.

    A dense numeric table becomes float32. A single tree need not check it again if nothing in it is missing or
    infinite.
    """
    # Exactly these types: a subclass may want to see the table as it is, or have no check_input.
    if type(estimator) not in TREES + FORESTS or not isinstance(table, np.ndarray) or table.dtype.kind not in "fiub":
        return table, {}
    if table.dtype != np.float32:
        with np.errstate(over="ignore"):  # the tree itself refuses what is too large for float32
            table = table.astype(np.float32, order="F")  # a tree looks at one column at a time
    with np.errstate(over="ignore", invalid="ignore"):  # if the sum is not finite, no value need be checked
        unchecked = type(estimator) in TREES and bool(np.isfinite(table.sum())) and bool(np.isfinite(table).all())
    return table, {"check_input": False} if unchecked else {}


def coarsened(estimator: Any, table: Any) -> Any:
    """Return an array or a data frame as coarse as histogram boosting would see it; anything else unchanged.

    With weights, finding the bins of a column takes hundreds of passes over it, far longer than growing the trees. A
    column with no more different values than there are bins takes no time. So the values of a column are divided
    beforehand into that many bins of equal counts, and the middle of its bin replaces each value.
    """
    if type(estimator) is not HistGradientBoostingClassifier:
        return table
    if not isinstance(estimator.categorical_features, str | None):
        return table
    found = {place: _coarse(values, estimator.max_bins) for place, values in _columns_of_floats(table)}
    return _with_columns(table, {place: values for place, values in found.items() if values is not None})


def _columns_of_floats(table: Any) -> Iterator[tuple[int, _Floats]]:
    if isinstance(table, np.ndarray):
        yield from enumerate(table.T if table.dtype.kind == "f" else ())
    elif hasattr(table, "iloc"):
        for place, kind in enumerate(table.dtypes):
            if isinstance(kind, np.dtype) and kind.kind == "f":
                yield place, table.iloc[:, place].to_numpy()
    elif hasattr(table, "get_columns"):
        for place, column in enumerate(table.get_columns()):
            if column.dtype.is_float():
                yield place, column.to_numpy()


def _with_columns(table: Any, coarse: dict[int, _Floats]) -> Any:
    if not coarse:
        return table
    if hasattr(table, "with_columns"):  # polars
        return table.with_columns(
            table.to_series(place).__class__(table.columns[place], values) for place, values in coarse.items()
        )
    out = table.copy()
    for place, values in coarse.items():
        if isinstance(out, np.ndarray):
            out[:, place] = values
        else:
            out.isetitem(place, values)
    return out


def _coarse(column: _Floats, n_bins: int) -> _Floats | None:
    there = np.isfinite(column)
    if len(np.unique(column[there])) <= n_bins:
        return None
    out = column.copy()
    out[there] = _middles(column[there], n_bins)
    return out


def _middles(values: _Floats, n_bins: int) -> _Floats:
    """Return, for every value, the middle of its bin: halfway between the least and the largest in it."""
    edges = np.unique(np.quantile(values, np.linspace(0.0, 1.0, n_bins + 1)[1:-1], method="averaged_inverted_cdf"))
    bins = np.searchsorted(edges, values, side="left")
    least, largest = np.full(len(edges) + 1, np.inf), np.full(len(edges) + 1, -np.inf)
    np.minimum.at(least, bins, values)
    np.maximum.at(largest, bins, values)
    middles: _Floats = ((least[bins] + largest[bins]) / 2).astype(values.dtype)
    return middles
