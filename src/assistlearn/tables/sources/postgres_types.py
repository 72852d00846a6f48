"""Which types of PostgreSQL can be columns of a table, and how they are asked for."""

from __future__ import annotations

from collections.abc import Sequence

import polars as pl

from assistlearn.errors import ColumnsError, TableError
from assistlearn.tables.sources.sql_names import quoted

_AS_THEY_ARE = (
    "bool",
    "int4",
    "int8",
    "float4",
    "float8",
    "text",
    "varchar",
    "name",
    "date",
    "timestamp",
    "timestamptz",
)
_CAST = {"int2": "int4", "numeric": "float8", "uuid": "text", "enum": "text", "bpchar": "text"}
_ADVICE = {
    "json": "{0} ->> 'a field'",
    "jsonb": "{0} ->> 'a field'",
    "interval": "extract(epoch from {0})",
    "time": "extract(epoch from {0})",
    "money": "{0}::numeric",
    "bytea": "encode({0}, 'hex')",
}
_FIRST, _LAST = -719_162, 2_932_896
"""The first day of the year 1 and the last of 9999, counted from 1970: other sources have no dates outside."""


def cast_of(name: str, kind: str, is_id: bool, place: str) -> str:
    """Return the SQL that asks for a column, with a cast where its type needs one.

    >>> cast_of("price", "numeric", False, "lab.toml")
    '"price"::float8 as "price"'
    >>> cast_of("visits", "_int4", False, "lab.toml")
    Traceback (most recent call last):
        ...
    assistlearn.errors.ColumnsError: lab.toml: column 'visits' is of PostgreSQL's type int4[], which cannot be a column
    of a table. Exclude it under [features], or write in the query, for example: "visits"[1] as "visits"
    """
    column = quoted(name)
    if is_id and kind == "numeric":
        return f"trim_scale({column})::text as {column}"
    if kind in _AS_THEY_ARE:
        return column
    if kind in _CAST:
        return f"{column}::{_CAST[kind]} as {column}"
    shown, advice = (f"{kind[1:]}[]", "{0}[1]") if kind.startswith("_") else (kind, _ADVICE.get(kind, "{0}::text"))
    raise ColumnsError(
        f"{place}: column {name!r} is of PostgreSQL's type {shown or 'unknown'}, which cannot be a column of a table. "
        f"Exclude it under [features], or write in the query, for example: {advice.format(column)} as {column}"
    )


def order_of(name: str, kind: str) -> str:
    """Return the SQL that orders rows by a column: text by its bytes, whatever the database's language.

    >>> order_of("patient", "text"), order_of("number", "int4")
    ('"query"."patient"::text collate "C"', '"query"."number"')
    """
    column = f'"query".{quoted(name)}'
    is_text = kind in ("text", "varchar", "name") or _CAST.get(kind) == "text"
    return f'{column}::text collate "C"' if is_text else column


def about_types(kinds: Sequence[str]) -> str:
    """Return a query: which types are enumerations, and the names of those that the driver knows only by number."""
    listed = ", ".join("'" + kind.replace("'", "''") + "'" for kind in kinds)
    return f"""
        select named, case when typtype = 'e' then 'enum' else format_type(oid, null) end
        from (select *, unnest(array[typname::text, 'unnamed<oid:' || oid || '>']) as named from pg_catalog.pg_type) t
        where named in ({listed})"""  # noqa: S608 quoted


def is_settled(kind: str) -> bool:
    """Return whether we know what to do with a type without asking the server about it."""
    return kind in (*_AS_THEY_ARE, *_CAST, *_ADVICE)


def refuse_infinite_dates(frame: pl.DataFrame, place: str) -> None:
    """Raise ``TableError`` if a date is infinite, or not in the years 1 to 9999."""
    for column in frame.iter_columns():
        if column.dtype == pl.Date:
            days = column.cast(pl.Int32)
        elif isinstance(column.dtype, pl.Datetime):
            days = column.cast(pl.Int64) // 86_400_000_000
        else:
            continue
        wrong = ((days < _FIRST) | (days > _LAST)).fill_null(False)
        if wrong.any():
            raise TableError(
                f"{place}: column {column.name!r} has {wrong.sum():,} dates that are infinite, or not of the years 1 "
                f"to 9999. Leave them empty in the query: nullif({quoted(column.name)}, 'infinity') as "
                f"{quoted(column.name)}"
            )
