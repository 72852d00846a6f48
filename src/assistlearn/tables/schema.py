"""The feature columns of a table and their kinds: chosen and found once, kept with the models, used for prediction."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from enum import StrEnum
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any, Literal, TypeAlias

import msgspec
import polars as pl

from assistlearn.errors import ColumnsError, Problems, RunError, SettingsError, TableError, did_you_mean, listed
from assistlearn.tables.settings import TableDescription

LabelType: TypeAlias = Literal["Int64", "String", "Boolean"]


class Kind(StrEnum):
    """What a column's values are; :mod:`~assistlearn.tables.kinds` has the rule."""

    NUMBER = "number"
    BOOLEAN = "boolean"
    DATE = "date"
    CATEGORY = "category"


class Column(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """With ``narrow``, 32 bits hold all numbers exactly."""

    name: str
    kind: Kind
    narrow: bool = False

    @property
    def dtype(self) -> pl.DataType:
        if self.kind is Kind.CATEGORY:
            return pl.String()
        return pl.Float32() if self.narrow else pl.Float64()


class Schema(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The feature columns of a table, in the order in which a learner sees them, and the type of the labels, if any.

    It is kept with the models, so that later rows are read in the same way. Where there are labels alone, it has no
    columns.
    """

    columns: tuple[Column, ...]
    label_type: LabelType | None = None

    def __post_init__(self) -> None:
        if len(set(self.names)) < len(self.names):
            raise ValueError("it has the same column twice")
        if not self.columns and self.label_type is None:
            raise ValueError("it has neither columns nor labels")

    @property
    def names(self) -> list[str]:
        return [column.name for column in self.columns]

    @property
    def numbers(self) -> list[str]:
        """Also booleans and dates, which are numbers after reading."""
        return [column.name for column in self.columns if column.kind is not Kind.CATEGORY]

    @property
    def categories(self) -> list[str]:
        return [column.name for column in self.columns if column.kind is Kind.CATEGORY]

    def to_dict(self) -> dict[str, Any]:
        """Return plain values, the same as those that JSON gives back."""
        plain: dict[str, Any] = msgspec.json.decode(msgspec.json.encode(self))
        return plain

    @classmethod
    def from_dict(cls, values: object, file: Path | None = None) -> Schema:
        """Raise ``RunError`` for anything else than :meth:`to_dict` wrote."""
        try:
            return msgspec.convert(values, cls)
        except msgspec.ValidationError as error:
            place = "" if file is None else f"{file}: "
            raise RunError(
                f"{place}the schema that was kept with the models is damaged: {error}. Restore the file from a "
                "backup, or train a new run."
            ) from None


def choose_features(names: Sequence[str], description: TableDescription) -> list[str]:
    """Return the feature columns, in the order of the table.

    A pattern never chooses the id, label, weight and person columns, and ``include`` must not name them. The index of a
    pandas data frame is a feature only if ``include`` has its full name. An initiator without a learner has no
    features.
    """
    problems = Problems()
    named = _reserved(description)
    for key, column in named:
        with problems.gathered():
            _require_column(column, names, description, key)
    choice = description.features
    reserved = [column for _, column in named]
    free = [name for name in names if name not in reserved]
    included = [name for name in free if not is_index(name)]
    excluded: list[str] = []
    if choice.include is not None:
        with problems.gathered():
            for key, column in named:
                if column in choice.include:
                    raise ColumnsError(
                        f"{description.places('features', 'include')}: {column!r} is the {key} column and cannot be a "
                        "feature too. Remove it from features.include."
                    )
        with problems.gathered():
            wanted = [each for each in choice.include if each not in reserved]
            chosen = match_columns(wanted, free, description, "features", "include")
            included = [name for name in chosen if not is_index(name) or name in choice.include]
    with problems.gathered():
        excluded = match_columns(choice.exclude, names, description, "features", "exclude")
    problems.settle()
    features = [name for name in included if name not in excluded]
    _check_learner(features, names, description)
    return features


def _check_learner(features: Sequence[str], names: Sequence[str], description: TableDescription) -> None:
    if features and not description.has_learner:
        raise ColumnsError(
            f"{description.places('learner')}: the key 'learner' is missing, and {description.table} has the features "
            f'{listed(features)}. Add a line such as: learner = "sklearn.tree.DecisionTreeClassifier". An initiator '
            "that has labels alone, and takes no turns of its own, leaves its features out: [features] include = []"
        )
    if features or not description.has_learner:
        return
    alone = ""
    if description.label is not None:
        alone = " An initiator may have labels alone, and takes no turns of its own then: remove the key 'learner'."
    raise ColumnsError(
        f"{description.places('features')}: no feature is left of the columns {listed(names)}. An agent with a learner "
        "needs at least one besides the id and the label. Widen features.include, or narrow features.exclude."
        f"{alone}"
    )


def is_index(name: str) -> bool:
    """Return whether a column has the name that pandas gives to the index of a data frame."""
    return re.fullmatch(r"__index_level_\d+__|Unnamed: \d+", name) is not None


def match_columns(wanted: Sequence[str], names: Sequence[str], description: TableDescription, *keys: str) -> list[str]:
    """Refuse a name that matches no column: a misspelt one in ``exclude`` would otherwise leave a column in."""
    found: set[str] = set()
    problems = Problems()
    for each in wanted:
        matched = columns_called(each, names)
        if not matched:
            what = f"no column matches {each!r}" if _is_pattern(each) else f"there is no column {each!r}"
            problems.add(
                ColumnsError(
                    f"{description.places(*keys)}: {what} ({'.'.join(keys)}) in {description.table}."
                    f"{did_you_mean(each, names)} The columns are {listed(names)}."
                )
            )
        found.update(matched)
    problems.settle()
    return [name for name in names if name in found]


def columns_called(each: str, names: Sequence[str]) -> list[str]:
    return [each] if each in names else [name for name in names if _is_pattern(each) and fnmatchcase(name, each)]


def require_trained(schema: Schema, names: Sequence[str], description: TableDescription) -> None:
    """Refuse a table that lacks the ids, or a feature that the models were trained with.

    Features are found by name. The order of the columns does not matter, and neither do further columns.
    """
    for column in description.id:
        _require_column(column, names, description, "id")
    for key, column in _reserved(description):
        if column in schema.names:
            raise ColumnsError(
                f"{description.places(key)}: {key} = {column!r} names a column that the models were trained with as a "
                "feature. Name the column of training, or train a new run."
            )
    missing = [name for name in schema.names if name not in names]
    if missing:
        others = [name for name in names if name not in (*schema.names, *description.id, description.label)]
        raise ColumnsError(
            f"{description.places('table')}: {description.table} has no column {listed(missing)}, which the models "
            f"were trained with.{did_you_mean(missing[0], others)} Its columns are {listed(names)}. Bring the column "
            "back under this name, or train a new run."
        )


def _require_column(wanted: str, names: Sequence[str], description: TableDescription, key: str) -> None:
    if wanted not in names:
        raise ColumnsError(
            f"{description.places(key)}: {description.table} has no column {wanted!r} ({key})."
            f"{did_you_mean(wanted, names)} Its columns are {listed(names)}."
        )


def _reserved(description: TableDescription) -> list[tuple[str, str]]:
    ids = description.id
    person = None if description.person in ids else description.person  # it may be a part of the id
    named = [("label", description.label), ("weight", description.weight), ("person", person)]
    return [("id", column) for column in ids] + [(key, column) for key, column in named if column]


def _is_pattern(text: str) -> bool:
    return any(sign in text for sign in "*?[")


# The labels of an initiator's table, always of the same type, and the weights of its samples.


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
