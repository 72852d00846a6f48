"""How a table's columns are distributed, roughly: enough to notice that a column is in another unit than in training.

The distributions stay with the agent, beside its models.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping
from typing import Any, TypeAlias

import polars as pl

Distributions: TypeAlias = Mapping[str, Mapping[str, Any]]
"""For each column, by its name: ``rows`` looked at, share ``missing``, and ``quantiles`` or ``values`` with shares."""

MOST_ROWS = 10_000
"""At most this many rows are looked at, evenly spaced."""

LEAST_ROWS = 20
"""Fewer rows say nothing about a distribution."""

QUANTILES = (0.05, 0.25, 0.5, 0.75, 0.95)
MOST_VALUES = 50

FAR = 3.0
"""If the middle half of a column's values is wider or narrower by this factor, the unit has probably changed.

Most changes of unit are larger: 60 for minutes and hours, 18 for mg/dL and mmol/L of glucose. The others move the
median out of the old range: Celsius and Fahrenheit, inches and centimetres.
"""


def distributions(features: pl.DataFrame) -> dict[str, dict[str, Any]]:
    """Return how the columns of a table are distributed, as plain values.

    >>> distributions(pl.DataFrame({"age": [20.0, 30.0, 40.0, None], "town": ["A", "A", "B", "B"]}))["age"]
    {'rows': 4, 'missing': 0.25, 'quantiles': [20.0, 20.0, 30.0, 40.0, 40.0]}
    """
    rows = features.gather_every(max(-(-len(features) // MOST_ROWS), 1))
    return {column.name: _distribution(column) for column in rows.iter_columns()}


def moved(then: Distributions, now: Distributions) -> list[str]:
    """Return a sentence for the table's owner about each column that has moved far since training.

    >>> change = pl.DataFrame({"change": range(-50, 51)}).cast(pl.Float64)
    >>> moved(distributions(change), distributions(change * 60))
    ["column 'change': half of its values lay between -25 and 25 in training, now between -1.5e+03 and 1.5e+03"]
    """
    return [words for name in then if name in now for words in _moved(name, then[name], now[name])]


def _distribution(column: pl.Series) -> dict[str, Any]:
    known = column.drop_nulls()
    facts: dict[str, Any] = {"rows": len(column), "missing": round(column.null_count() / max(len(column), 1), 4)}
    if column.dtype == pl.String:
        counts = known.value_counts(sort=True).head(MOST_VALUES)
        return facts | {"values": {_mark(value): count / len(known) for value, count in counts.iter_rows()}}
    ordered = known.drop_nans().sort()
    places = [round(share * (len(ordered) - 1)) for share in QUANTILES] if len(ordered) else []
    return facts | {"quantiles": [float(ordered[place]) for place in places]}


def _mark(value: str) -> str:
    """Return a short digest to keep in place of a value, so that no text of the table is written anywhere."""
    return hashlib.sha256(value.encode()).hexdigest()[:16]


def _moved(name: str, then: Mapping[str, Any], now: Mapping[str, Any]) -> Iterator[str]:
    if min(then["rows"], now["rows"]) < LEAST_ROWS:
        return
    if abs(then["missing"] - now["missing"]) > 0.5:
        yield f"column {name!r}: {then['missing']:.0%} of its values were missing in training, now {now['missing']:.0%}"
    elif then.get("quantiles") and now.get("quantiles"):
        yield from _moved_numbers(name, then["quantiles"], now["quantiles"])
    elif then.get("values") and now.get("values"):
        before, share = sum(then["values"].values()), sum(now["values"].get(value, 0.0) for value in then["values"])
        if share < before / FAR:
            yield f"column {name!r}: its most frequent values of training made up {before:.0%} then, now {share:.0%}"


def _moved_numbers(name: str, then: list[float], now: list[float]) -> Iterator[str]:
    lowest, low, _, high, highest = then
    wide, narrow = max(high - low, now[3] - now[1]), min(high - low, now[3] - now[1])
    if not lowest <= now[2] <= highest:
        yield (
            f"column {name!r}: nine in ten of its values lay between {lowest:.3g} and {highest:.3g} in training, now "
            f"half of them lie beyond: the median is {now[2]:.3g}"
        )
    elif narrow > 0.0 and wide > FAR * narrow:
        yield (
            f"column {name!r}: half of its values lay between {low:.3g} and {high:.3g} in training, now between "
            f"{now[1]:.3g} and {now[3]:.3g}"
        )
