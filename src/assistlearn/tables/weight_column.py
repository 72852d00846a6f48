"""The weights of an initiator's samples: numbers that are not negative, one for every row that can be trained on."""

from __future__ import annotations

import polars as pl

from assistlearn.errors import TableError


def settle_weights(weights: pl.Series, labels: pl.Series, from_text: bool, source: str) -> pl.Series:
    """Return weights as floats. A weight may be missing only where the row has no label.

    >>> labels = pl.Series("y", ["ill", "well", None])
    >>> settle_weights(pl.Series("w", ["2", "0.5", None]), labels, True, "lab.csv").to_list()
    [2.0, 0.5, None]
    """
    numbers = _numbers(weights, from_text, source)
    where = f"{source}: column {weights.name!r} (weight)"
    for wrong, what in ((~numbers.is_finite(), "is not finite"), (numbers < 0.0, "is negative")):
        row = _first(wrong)
        if row is not None:
            raise TableError(
                f"{where}: row {row + 1} has {numbers[row]!r}, which {what}; {wrong.sum():,} of {len(numbers):,} rows "
                "have such a weight. A weight is a number from 0 on; 0 leaves a row out of training."
            )
    missing = numbers.is_null() & labels.is_not_null()
    row = _first(missing)
    if row is not None:
        raise TableError(
            f"{where}: {missing.sum():,} of {labels.len() - labels.null_count():,} rows that have a label have no "
            f"weight (first: row {row + 1}). Fill them in; 0 leaves a row out of training."
        )
    if not (numbers.filter(labels.is_not_null()) > 0.0).any():
        raise TableError(
            f"{where}: the weight of every one of the {labels.len() - labels.null_count():,} rows that have a label is "
            "0. There is nothing to train on. Give some of them a weight above 0."
        )
    return numbers


def _numbers(weights: pl.Series, from_text: bool, source: str) -> pl.Series:
    """Return weights as floats, or refuse what is no number."""
    if weights.dtype == pl.String and from_text:
        numbers = weights.cast(pl.Float64, strict=False)
        row = _first(numbers.is_null() & weights.is_not_null())
        if row is None:
            return numbers
        raise TableError(
            f"{source}: column {weights.name!r} (weight): row {row + 1} has {weights[row]!r}, which is no number. "
            "Correct it, or name another column."
        )
    if not weights.dtype.is_numeric():
        raise TableError(
            f"{source}: column {weights.name!r} (weight) is of type {weights.dtype}. Save the weights as numbers, or "
            "name another column."
        )
    return weights.cast(pl.Float64)


def _first(wrong: pl.Series) -> int | None:
    """Return the position of the first row that is wrong; None where no row is."""
    found = wrong.fill_null(False).arg_true()
    return int(found[0]) if len(found) else None
