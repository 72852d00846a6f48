"""The feature columns of a table and their kinds: found once, kept with the models, and given back for prediction."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import Any, Literal, TypeAlias

import msgspec
import polars as pl

from assistlearn.errors import RunError

LabelType: TypeAlias = Literal["Int64", "String", "Boolean"]


class Kind(StrEnum):
    """What a column's values are; :mod:`~assistlearn.tables.kinds` has the rule."""

    NUMBER = "number"
    BOOLEAN = "boolean"
    DATE = "date"
    CATEGORY = "category"


class Column(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A feature column: its name, its kind, and whether 32 bits hold its numbers exactly."""

    name: str
    kind: Kind
    narrow: bool = False

    @property
    def dtype(self) -> pl.DataType:
        """The type of its values after reading."""
        if self.kind is Kind.CATEGORY:
            return pl.String()
        return pl.Float32() if self.narrow else pl.Float64()


class Schema(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The feature columns of a table, in order; kept with the models, so that later rows are read in the same way.

    Attributes
    ----------
    columns : tuple of Column
        In the order in which a learner sees them; none where an initiator has labels alone.
    label_type : {"Int64", "String", "Boolean"} or None
        The type of the labels, where there are any.

    Examples
    --------
    >>> schema = Schema((Column("age", Kind.NUMBER), Column("town", Kind.CATEGORY)))
    >>> schema.numbers, schema.categories
    (['age'], ['town'])
    >>> Schema.from_dict(schema.to_dict()) == schema
    True
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
        """The names of all columns."""
        return [column.name for column in self.columns]

    @property
    def numbers(self) -> list[str]:
        """The names of the columns that hold numbers after reading."""
        return [column.name for column in self.columns if column.kind is not Kind.CATEGORY]

    @property
    def categories(self) -> list[str]:
        """The names of the columns that hold text."""
        return [column.name for column in self.columns if column.kind is Kind.CATEGORY]

    def to_dict(self) -> dict[str, Any]:
        """Return the schema as plain values, the same as those that JSON gives back."""
        plain: dict[str, Any] = msgspec.json.decode(msgspec.json.encode(self))
        return plain

    @classmethod
    def from_dict(cls, values: object, file: Path | None = None) -> Schema:
        """Return the schema that :meth:`to_dict` wrote.

        Parameters
        ----------
        values : object
            As they were read from JSON.
        file : path, optional
            Where they were read, for the error.

        Raises
        ------
        RunError
            The values are not what :meth:`to_dict` writes.
        """
        try:
            return msgspec.convert(values, cls)
        except msgspec.ValidationError as error:
            place = "" if file is None else f"{file}: "
            raise RunError(
                f"{place}the schema that was kept with the models is damaged: {error}. Restore the file from a "
                "backup, or train a new run."
            ) from None
