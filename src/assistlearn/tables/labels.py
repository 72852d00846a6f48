"""The labels of an initiator's table, always of the same type, and the weights of its samples."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any

import polars as pl

from assistlearn.errors import SettingsError, TableError, listed
from assistlearn.tables.schema import LabelType

_TYPES: dict[LabelType, type[pl.DataType]] = {"Int64": pl.Int64, "String": pl.String, "Boolean": pl.Boolean}
_IN_WORDS: dict[LabelType, str] = {"Int64": "whole numbers", "String": "text", "Boolean": "true and false"}

FEW_ROWS = 20
"""In fewer rows, the values of two columns may match by chance."""

MANY_CLASSES = 10
"""With up to this many classes, a small table may have hardly more rows than classes."""

MANY_NUMBERS = 50
"""With more different numbers than this, labels are probably amounts and not classes."""


def settle_labels(labels: pl.Series, from_text: bool, source: str) -> pl.Series:
    """Return labels as whole numbers where all of them are, else as booleans or text. Missing ones stay missing.

    >>> settle_labels(pl.Series("y", ["1", None, "0.0"]), True, "lab.csv").to_list()
    [1, None, 0]
    """
    if from_text:  # whole numbers first: long ones could become equal as floats
        read_as = (labels.cast(number, strict=False) for number in (pl.Int64, pl.Float64))
        labels = next((numbers for numbers in read_as if numbers.null_count() == labels.null_count()), labels)
    if labels.dtype.is_float() or isinstance(labels.dtype, pl.Decimal):
        whole = labels.cast(pl.Int64, strict=False)
        if whole.null_count() > labels.null_count() or (whole.cast(pl.Float64) != labels.cast(pl.Float64)).any():
            raise TableError(
                f"{source}: the labels in column {labels.name!r} are not classes but measurements: "
                f"{labels.drop_nulls()[0]!r}, ... Name a column of classes, or turn the numbers into classes."
            )
        return whole
    if labels.dtype.is_integer():
        return labels.cast(pl.Int64)
    if labels.dtype in (pl.Boolean, pl.String):
        return labels
    raise TableError(
        f"{source}: the labels in column {labels.name!r} are of type {labels.dtype}. Save them as text or whole "
        "numbers."
    )


def labels_as_before(labels: pl.Series, type_name: LabelType, source: str) -> pl.Series:
    """Return labels with the type that they had in training; all of them may be missing.

    >>> labels_as_before(pl.Series("y", [1, None]), "String", "lab.parquet").to_list()
    ['1', None]
    """
    wanted = _TYPES[type_name]
    if labels.dtype == wanted or labels.null_count() == len(labels):
        return labels.cast(wanted)
    settled = settle_labels(labels, labels.dtype == pl.String, source)
    read = settled if settled.dtype == wanted else labels.cast(wanted, strict=False)
    lost = read.is_null() & labels.is_not_null()
    if lost.any():
        row = lost.arg_true()[0]
        raise TableError(
            f"{source}: the labels in column {labels.name!r} were {_IN_WORDS[type_name]} in training, but row "
            f"{row + 1} has {labels[row]!r}. Correct it."
        )
    return read


def type_of_labels(labels: pl.Series) -> LabelType:
    return next(name for name, dtype in _TYPES.items() if labels.dtype == dtype)


def classes_in(labels: pl.Series, source: str) -> list[Any]:
    """Return the classes in the order of their values. A single one is refused, and so many that they are none."""
    classes: list[Any] = labels.drop_nulls().unique().sort().to_list()
    if len(classes) < 2:
        raise SettingsError(
            f"{source}: column {labels.name!r} has {len(classes)} class ({classes}); at least two are needed. Name "
            "another column under the key 'label', or add rows of another class."
        )
    n_labelled = len(labels) - labels.null_count()
    if len(classes) > MANY_CLASSES and 2 * len(classes) > n_labelled:
        raise SettingsError(
            f"{source}: column {labels.name!r} has {len(classes):,} different labels in {n_labelled:,} rows: too many "
            "to be classes. Name another column under the key 'label', or cut amounts into a few classes."
        )
    return classes


def notes_on_labels(labels: pl.Series, features: pl.DataFrame) -> list[str]:
    copies = [name for name in features.columns if tells_labels(features[name], labels)]
    notes = notes_on_classes(labels.drop_nulls().unique().sort().to_list())
    if copies:
        also = f"The label under another name: {listed(copies)}."
        notes.insert(0, f"{also} Exclude columns that are not known before the prediction.")
    return notes


def notes_on_classes(classes: Sequence[Any]) -> list[str]:
    """Return what is strange about these classes, which are all different and in the order of their values.

    Without Polars: an estimator may be fitted in a process that was forked from one where Polars has run, and there
    Polars would wait for ever for its threads.
    """
    texts = [each for each in classes if isinstance(each, str)]
    often = Counter(text.lower() for text in texts)
    alike = [text for text in texts if often[text.lower()] > 1]
    if alike:
        return [
            f"Labels that differ only by case: {listed(alike)}. Each is a class of its own. If they mean the same, "
            "write them alike."
        ]
    if len(classes) > MANY_NUMBERS and all(isinstance(each, int | float) and each == int(each) for each in classes):
        return [
            f"The labels are {len(classes):,} different numbers, from {int(classes[0])} to {int(classes[-1])}, and "
            "each is a class of its own. If they are amounts, cut them into a few classes."
        ]
    return []


def tells_labels(values: pl.Series, labels: pl.Series) -> bool:
    """Return whether a column is the label, perhaps under other names.

    It is the label if every value belongs to one class, and every class to one value. In a few rows that may be chance,
    so there the values must be the labels themselves.
    """
    both = pl.DataFrame({"value": values, "label": labels}).filter(pl.col("label").is_not_null())
    if both.is_empty() or both["value"].has_nulls():
        return False
    value, label = both["value"], both["label"]
    if len(both) < FEW_ROWS:
        return bool((value == label.cast(value.dtype, strict=False)).fill_null(False).all())
    return value.n_unique() == label.n_unique() == both.n_unique() > 1


def settle_weights(weights: pl.Series, labels: pl.Series, from_text: bool, source: str) -> pl.Series:
    """Return weights as floats. A weight may be missing only where the row has no label."""
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
    found = wrong.fill_null(False).arg_true()
    return int(found[0]) if len(found) else None
