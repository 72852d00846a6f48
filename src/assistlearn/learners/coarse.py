"""Make a table coarse once, because scikit-learn's histogram boosting looks for its bins in every fit.

With weights, finding the bins of a column takes hundreds of passes over it, far longer than growing the trees. A column
with no more different values than there are bins takes no time. So the values of a column are divided beforehand into
that many bins of equal counts, and the middle of its bin replaces each value.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray
from sklearn.ensemble import HistGradientBoostingClassifier

_Floats: TypeAlias = NDArray[np.floating[Any]]


def coarsened(estimator: Any, table: Any) -> Any:
    """Return an array or a data frame as coarse as histogram boosting would see it; anything else unchanged.

    >>> table = np.linspace(0.0, 1.0, 10_000).reshape(-1, 1)
    >>> len(np.unique(coarsened(HistGradientBoostingClassifier(), table)))
    255
    >>> few = np.arange(8.0).reshape(-1, 1)
    >>> coarsened(HistGradientBoostingClassifier(), few) is few
    True
    """
    if type(estimator) is not HistGradientBoostingClassifier:
        return table
    if not isinstance(estimator.categorical_features, str | None):
        return table
    found = {place: _coarse(values, estimator.max_bins) for place, values in _columns_of_floats(table)}
    return _with_columns(table, {place: values for place, values in found.items() if values is not None})


def _columns_of_floats(table: Any) -> Iterator[tuple[int, _Floats]]:
    """Yield the places and values of the columns of an array or a data frame that hold floats."""
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
    """Return a copy of a table with these coarse columns; the table itself where there are none."""
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
    """Return a column with the middle of its bin for each value; None where it has no more values than bins."""
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
