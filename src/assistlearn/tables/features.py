"""Feature columns as a learner's pipeline needs them: missing values are null, and no number is infinite.

Tables from files and data frames are treated in the same way.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import polars as pl

from assistlearn.agent_files.suggestion import listed
from assistlearn.errors import TableError
from assistlearn.tables.kinds import blank_to_null, of_kind
from assistlearn.tables.schema import Column, Kind


def cleaned(values: pl.Series, missing_values: Sequence[str] = ()) -> pl.Series:
    """Return the values with null for every missing one.

    >>> cleaned(pl.Series([" a", "NA", ""]), ["NA"]).to_list()
    ['a', None, None]
    """
    if values.dtype in (pl.Categorical, pl.Enum, pl.String):
        return blank_to_null(values, missing_values)
    has_nan = values.dtype.is_float() and values.is_nan().any()
    return values.fill_nan(None) if has_nan else values  # a copy only where it is needed


def without_values(columns: Mapping[str, pl.Series], source: str) -> tuple[str, ...]:
    """Return the columns without any value: they teach nothing, and some learners fail on them."""
    empty = tuple(name for name, values in columns.items() if values.null_count() == len(values))
    if empty and len(empty) == len(columns):
        raise TableError(
            f"{source}: the features {listed(empty)} have no value in any row. Fill the table, or choose other "
            "features."
        )
    return empty


def feature(values: pl.Series, column: Column, source: str) -> pl.Series:
    """Return cleaned values as a column of this kind. Values that do not fit, and infinite numbers, are refused."""
    made = of_kind(values, column, source)
    if column.kind is Kind.NUMBER and not made.is_finite().all():
        infinite = made.is_infinite()
        raise TableError(
            f"{source}: column {column.name!r} has {infinite.sum():,} infinite values (first: row "
            f"{infinite.arg_true()[0] + 1}). Replace them by finite numbers, or leave them empty."
        )
    return made
