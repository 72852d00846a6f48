"""The feature columns of a table and their kinds: chosen and found once, kept with the models, used for prediction."""

from __future__ import annotations

import re
from collections.abc import Sequence
from enum import StrEnum
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any, Literal, TypeAlias

import msgspec
import polars as pl

from assistlearn.errors import ColumnsError, Problems, RunError, did_you_mean, listed
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
