"""An agent's table: read, checked, its digest, and how its columns are distributed."""

from __future__ import annotations

import hashlib
import os
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from itertools import chain
from pathlib import Path
from typing import Any, TypeAlias, TypeVar, cast

import numpy as np
import polars as pl
from numpy.typing import NDArray

from assistlearn.alignment.ids import BETWEEN, join_ids, normalise, without_case
from assistlearn.core.people import Groups, groups_of
from assistlearn.errors import AssistLearnError, ColumnsError, IdsError, MissingTableError, Problems, TableError
from assistlearn.tables.kinds import Notation, cleaned, column_of, convert, without_values
from assistlearn.tables.schema import (
    Column,
    Kind,
    LabelType,
    Schema,
    choose_features,
    classes_in,
    is_index,
    labels_as_before,
    match_columns,
    require_trained,
    settle_labels,
    settle_weights,
    type_of_labels,
)
from assistlearn.tables.settings import WEB, TableDescription, TableFile, TableQuery, TableUrl, scheme_of
from assistlearn.tables.sources import Source
from assistlearn.tables.sources.csv import CsvSource
from assistlearn.tables.sources.databases import DuckdbSource, PostgresSource, SqliteSource, is_sqlite
from assistlearn.tables.sources.parquet import ParquetFile, ParquetSource, files_of_folder
from assistlearn.tables.sources.reader import get_ready
from assistlearn.tables.sources.remote import ObjectParquetSource, remote_file

Item = TypeVar("Item")
Result = TypeVar("Result")

Distributions: TypeAlias = Mapping[str, Mapping[str, Any]]
"""For each column, by its name: ``rows`` looked at, share ``missing``, and ``quantiles`` or ``values`` with shares."""

MOST_THREADS = 4
"""More threads would only wait for memory."""

_PIECE = 20_000
"""How many rows of text are joined at a time. All rows would not fit into the processor's cache."""

MOST_ROWS = 10_000
"""At most so many rows are looked at, evenly spaced."""

LEAST_ROWS = 20
"""Fewer rows say nothing about a distribution."""

QUANTILES = (0.05, 0.25, 0.5, 0.75, 0.95)
MOST_VALUES = 50

FAR = 3.0
"""If the middle half of a column's values is wider or narrower by this factor, the unit has probably changed.

Most changes of unit are larger: 60 for minutes and hours, 18 for mg/dL and mmol/L of glucose. The others move the
median out of the old range: Celsius and Fahrenheit, inches and centimetres.
"""


@dataclass(frozen=True, eq=False)
class Table:
    """Rows of an agent's table.

    Ids are text or whole numbers, none missing, none twice; those of a CSV file are text, exactly as in the file.
    Features are floats and, for categories, text, null where missing. Labels are whole numbers, booleans or text,
    missing where a row is not to be trained on; a helper has none. Weights, where there are any, are 0 or more, and
    missing only where a row has no label.

    Where several rows may be about the same person, ``persons`` says whom, as text; a row that names nobody is about
    somebody who has no other row. ``left_out`` are columns that would have been features, but have no value in any row;
    ``index`` are columns that are none because they are the index of a data frame; ``repeated`` is how many rows were
    left out because they repeat an id.
    """

    source: str
    ids: pl.Series
    features: pl.DataFrame
    schema: Schema
    fingerprint: str
    labels: pl.Series | None = None
    left_out: tuple[str, ...] = ()
    weights: pl.Series | None = None
    persons: pl.Series | None = None
    index: tuple[str, ...] = ()
    repeated: int = 0

    def groups(self) -> Groups | None:
        """Return a number for whom each row is about; None where no two are about the same person."""
        if self.persons is None:
            return None
        number: dict[str, int] = {}
        named = [
            -row if who is None else number.setdefault(who, len(number) + 1) for row, who in enumerate(self.persons)
        ]
        return groups_of(np.array(named))

    def __len__(self) -> int:
        return len(self.ids)

    def says_something(self) -> NDArray[np.bool_] | None:
        """Return which rows have a value in any feature; None where all have."""
        if not self.features.width:
            return None
        known = self.features.select(pl.any_horizontal(pl.all().is_not_null())).to_series().to_numpy()
        return None if known.all() else known


def fingerprint(columns: Iterable[pl.Series]) -> str:
    """Return a digest of these columns: names, types, values, which are missing, and the order of the rows.

    It depends on nothing else, neither on the file's format nor on how the engine stores a column, so that a changed
    table is noticed. It stays with the agent.
    """
    digest = hashlib.sha256()
    for parts in in_threads(lambda column: [*_parts(column)], columns):
        for pieces in parts:
            digest.update(sum(map(len, pieces)).to_bytes(8, "little"))
            for piece in pieces:
                digest.update(piece)
    return digest.hexdigest()


def _parts(column: pl.Series) -> Iterable[Sequence[bytes | memoryview]]:
    """Yield the parts of a column that the digest covers, each as a list of pieces: joining them would take memory."""
    yield [column.name.encode()]
    yield [str(column.dtype).encode()]
    yield [len(column).to_bytes(8, "little")]
    yield [np.packbits(column.is_null().to_numpy()).data] if column.has_nulls() else [b""]
    if column.dtype == pl.String:
        yield _bytes(column.str.len_bytes().fill_null(0).cast(pl.UInt32))
        yield [*_text(column.drop_nulls() if column.has_nulls() else column)]
    else:
        yield _bytes(column.fill_null(False if column.dtype == pl.Boolean else 0) if column.has_nulls() else column)


def _text(column: pl.Series) -> Iterable[bytes]:
    for start in range(0, len(column), _PIECE):
        yield column.slice(start, _PIECE).str.join("").item().encode()


def _bytes(numbers: pl.Series) -> list[memoryview]:
    return [
        np.ascontiguousarray(each.astype(each.dtype.newbyteorder("<"), copy=False)).data.cast("B")
        for each in (chunk.to_numpy() for chunk in numbers.get_chunks())
    ]


def in_threads(work: Callable[[Item], Result], items: Iterable[Item]) -> Iterator[Result]:
    """Yield the result of each item, in order: Polars and ``hashlib`` release Python's lock.

    Work begins on later items before their results are asked for, but only on as many as there are threads. The first
    error is the one that a plain loop would raise.
    """
    n_threads = min(MOST_THREADS, os.cpu_count() or 1)
    with ThreadPoolExecutor(n_threads, thread_name_prefix="column") as pool:
        waiting: deque[Future[Result]] = deque()
        try:
            for item in items:
                waiting.append(pool.submit(work, item))
                if len(waiting) > n_threads:
                    yield waiting.popleft().result()
            while waiting:
                yield waiting.popleft().result()
        finally:
            for left in waiting:
                left.cancel()


def distributions(features: pl.DataFrame) -> dict[str, dict[str, Any]]:
    """Return roughly how the columns of a table are distributed, as plain values: enough to notice another unit."""
    rows = features.gather_every(max(-(-len(features) // MOST_ROWS), 1))
    return {column.name: _distribution(column) for column in rows.iter_columns()}


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


def moved(then: Distributions, now: Distributions) -> list[str]:
    """Return a sentence for the table's owner about each column that has moved far since training.

    >>> change = pl.DataFrame({"change": range(-50, 51)}).cast(pl.Float64)
    >>> moved(distributions(change), distributions(change * 60))
    ["column 'change': half of its values lay between -25 and 25 in training, now between -1.5e+03 and 1.5e+03"]
    """
    return [words for name in then if name in now for words in _moved(name, then[name], now[name])]


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


# From what an agent's file says to its table: open the source, read what is needed, refuse what cannot be used.


_CHECKED = 100_000
"""How many rows of ids are copied and checked at a time."""


def read_table(description: TableDescription, *, schema: Schema | None = None) -> Table:
    """Read an agent's table: the columns it needs, and no others. Return all rows, checked.

    With the ``schema`` of the training table, rows are read for prediction. Features are found by their names, and get
    the order and types of training; anything else is an error. Labels are read if there are any, weights and persons
    never. The first thing that is wrong is raised; its ``others`` are all else that was found.
    """
    problems = Problems()
    features: Sequence[str] = []
    codes: Sequence[str] = []
    with open_source(description) as source:
        names = source.names()
        description.reading.check(str(description.table), n_columns=len(names))
        with problems.gathered():
            features, codes = _wanted(description, names, schema)
        label, weight, person = description.label, description.weight, description.person
        if schema is not None:
            label = label if label in names and schema.label_type is not None else None
            weight = person = None
        others = [name for name in (label, weight, person) if name is not None and name not in description.id]
        as_text = [*description.id, *codes, *(name for name in (label, person) if name is not None)]
        notation = Notation.of(description.preprocessing)
        if features and schema is None:
            with problems.gathered():
                notation.check(features, str(description.table))
        # a date or a number in the owner's notation must not become another one while it is read
        as_text += features if notation.decimal == "," else notation.dated(features)
        if notation.decimal == "," and weight is not None:
            as_text.append(weight)
        there = [name for name in (*description.id, *features, *others) if name in names]
        if not there:  # then something is wrong, and there is nothing to read that could be wrong, too
            problems.settle()
        frame = source.read(there, [name for name in as_text if name in names])
    _check_size(frame, description)
    if frame.is_empty():
        problems.add(
            TableError(f"{description.table} has columns but not a single row. Fill it, or correct the query.")
        )
        problems.settle()
    table = _Reading(description, source.from_text, frame, codes, problems).table(schema, label, weight, person)
    return replace(table, index=tuple(name for name in names if is_index(name) and name not in features))


def get_ready_to_read(description: TableDescription) -> None:
    """Begin the process that will read this table, where it is one that reads apart."""
    table = description.table
    if isinstance(table, TableQuery) or str(table).lower().endswith((".parquet", "/")):
        get_ready()


@contextmanager
def open_source(description: TableDescription) -> Iterator[Source]:
    """Open the source; temporary copies are removed afterwards."""
    table = description.table
    with ExitStack() as stack:
        match table:
            case TableQuery():
                yield _of_query(table, description)
            case TableUrl():
                yield _of_url(table, description, stack)
            case _:
                yield _of_file(table, description)


def _of_query(table: TableQuery, description: TableDescription) -> Source:
    place, database = description.places("query"), table.database
    if isinstance(database, str):
        limits = (description.read_seconds, description.reading, description.local_server)
        return PostgresSource(table.query, database, description.id, place, *limits)
    if database is not None:
        _require_file(database, description, "database")
        if is_sqlite(database):
            return SqliteSource(table.query, database, description.id, place, description.reading)
    return DuckdbSource(table, description.id, place, description.read_seconds, description.reading)


def _of_url(table: TableUrl, description: TableDescription, stack: ExitStack) -> Source:
    place, seconds = description.places("table"), description.read_seconds
    path = table.url.partition("?")[0].lower()
    if scheme_of(table.url) not in WEB and path.endswith((".parquet", "/")):
        return ObjectParquetSource(table, place, seconds, description.reading)
    file = stack.enter_context(remote_file(table, place, seconds, description.reading, description.local_server))
    return _in_file(file, table.separator, str(table), description)


def _of_file(table: TableFile, description: TableDescription) -> Source:
    place, name = description.places("table"), table.path.name.lower()
    if table.path.is_dir() and (table.is_folder or name.endswith(".parquet")):
        files = files_of_folder(table.path, place)
        return ParquetSource(files, str(table), description.reading, description.read_seconds)
    if table.is_folder:
        raise MissingTableError(
            f"{place}: there is no folder {table} (table). Put it there, or correct the path, which is relative to the "
            "agent's file."
        )
    _require_file(table.path, description, "table")
    return _in_file(table.path, table.separator, str(table), description)


def _in_file(path: Path, separator: str, name: str, description: TableDescription) -> Source:
    if path.suffix.lower() == ".parquet":
        return ParquetSource([ParquetFile(str(path), name)], name, description.reading, description.read_seconds)
    return CsvSource(path, separator, name, description.reading, description.preprocessing.missing_values)


def _require_file(path: Path, description: TableDescription, key: str) -> None:
    if path.is_dir():
        raise TableError(f"{description.places(key)}: {path} ({key}) is a folder. Name a file.")
    if not path.is_file():
        raise MissingTableError(
            f"{description.places(key)}: there is no file {path} ({key}). Put it there, or correct the path, which is "
            "relative to the agent's file."
        )


def _wanted(
    description: TableDescription, names: Sequence[str], schema: Schema | None
) -> tuple[Sequence[str], Sequence[str]]:
    if schema is not None:
        require_trained(schema, names, description)
        return schema.names, schema.categories
    features = choose_features(names, description)
    as_category = description.preprocessing.as_category
    return features, match_columns(as_category, features, description, "preprocessing", "as_category")


def _check_size(frame: pl.DataFrame, description: TableDescription) -> None:
    """Refuse a table that turned out to be too large: one long text may stand in every row without taking its room."""
    limits, name = description.reading, str(description.table)
    limits.check(name, len(frame))
    total = 0
    for values in frame:
        if values.dtype in (pl.String, pl.Binary):
            lengths = values.str.len_bytes() if values.dtype == pl.String else values.bin.size()
            longest = cast(int, lengths.max() or 0)
            if longest > limits.max_cell:
                limits.refuse(name, "max_cell", f"a value of {longest:,} bytes in column {values.name!r}")
            total += int(lengths.sum())
    limits.check_memory(name, total)


class _Reading:
    def __init__(
        self,
        description: TableDescription,
        from_text: bool,
        frame: pl.DataFrame,
        codes: Sequence[str],
        problems: Problems,
    ) -> None:
        self._description = description
        self._from_text = from_text
        self._codes = codes
        self._name = str(description.table)
        self._problems = problems
        self._taken: pl.Series | None = None
        self._notation = Notation.of(description.preprocessing)
        self._ids_read = [frame.drop_in_place(name) for name in description.id if name in frame.columns]
        marks = description.preprocessing.missing_values if from_text else ()
        names = frame.columns  # each is dropped when it is taken, so that no column is in memory twice
        read = in_threads(lambda values: cleaned(values, marks), map(frame.drop_in_place, names))
        self._read = dict(zip(names, read, strict=True))

    def table(self, schema: Schema | None, label: str | None, weight: str | None, person: str | None) -> Table:
        problems = self._problems
        ids = labels = weights = persons = None
        if not self._notation.is_usual:
            self._read_notation(schema, (label, person))
        with problems.gathered():
            ids = self._ids()
        with problems.gathered():
            labels = self._labels(label, None if schema is None else schema.label_type)
        weight_column = None if weight is None else self._read.pop(weight, None)
        if weight_column is not None and labels is not None:
            with problems.gathered():
                weights = settle_weights(weight_column, labels, self._from_text, self._name)
        with problems.gathered():
            persons = self._persons(person)
        labels, weights, persons = self._once(labels), self._once(weights), self._once(persons)
        if labels is not None and schema is None:
            with problems.gathered():
                classes_in(labels, self._name)
        left_out: tuple[str, ...] = ()
        if schema is None:
            with problems.gathered():
                left_out = without_values(self._read, self._name)
            columns = self._columns(left_out)
            if not problems.found:
                schema = Schema(columns, None if labels is None else type_of_labels(labels))
        else:
            columns = schema.columns
        beside = [column for column in (labels, weights, persons) if column is not None]
        features: list[pl.Series] = []
        digest = fingerprint(chain([] if ids is None else [ids], self._features(columns, features), beside))
        problems.settle()
        assert ids is not None
        assert schema is not None
        repeated = 0 if self._taken is None else int((~self._taken).sum())
        made = pl.DataFrame(features)
        return Table(self._name, ids, made, schema, digest, labels, left_out, weights, persons, repeated=repeated)

    def _read_notation(self, schema: Schema | None, as_they_are: Sequence[str | None]) -> None:
        """Read dates and numbers in text; labels, persons and codes stay as they are."""
        before = {} if schema is None else {column.name: column.kind for column in schema.columns}
        as_read, self._read = self._read, {}
        for name, values in as_read.items():
            if name in as_they_are or name in self._codes:
                self._read[name] = values
                continue
            with self._problems.gathered():
                self._read[name] = self._notation.read(values, self._name, self._from_text, before.get(name))

    def _features(self, columns: Sequence[Column], kept: list[pl.Series]) -> Iterator[pl.Series]:
        """Yield the features, and add them to ``kept``: one is converted while the digest of another is computed."""
        read = ((self._read.pop(column.name), column) for column in columns if column.name in self._read)
        for made in in_threads(lambda pair: _feature_or_error(*pair, self._name), read):
            if isinstance(made, AssistLearnError):
                self._problems.add(made)
                continue
            once = made if self._taken is None else made.filter(self._taken)
            kept.append(once)
            yield once

    def _once(self, values: pl.Series | None) -> pl.Series | None:
        return values if values is None or self._taken is None else values.filter(self._taken)

    def _ids(self) -> pl.Series | None:
        if len(self._ids_read) < len(self._description.id):  # a column is missing, and among the problems
            return None
        parts = [self._part_of_ids(part) for part in self._ids_read]
        ids = parts[0] if len(parts) == 1 else join_ids(parts, self._name).rename(BETWEEN.join(self._description.id))
        if _may_repeat(ids) and ids.n_unique() < len(ids):
            if self._description.duplicates == "refuse":
                self._refuse_repeated(ids)
            first = self._description.duplicates == "first"
            self._taken = ids.is_first_distinct() if first else ids.is_last_distinct()
            return ids.filter(self._taken)
        return ids

    def _part_of_ids(self, ids: pl.Series) -> pl.Series:
        if ids.dtype in (pl.Categorical, pl.Enum):
            ids = ids.cast(pl.String)
        missing = _without_id(ids)
        if missing.any():
            raise IdsError(
                f"{self._name}: {missing.sum():,} of {len(ids):,} rows have no id in column {ids.name!r} (first: row "
                f"{missing.arg_true()[0] + 1}). Give them ids, or remove these rows."
            )
        if ids.dtype.is_float() or isinstance(ids.dtype, pl.Decimal):
            ids = normalise(ids, f"{self._name}, column {ids.name!r}").cast(pl.Int64).rename(ids.name)
        if ids.dtype == pl.Date:
            ids = normalise(ids).rename(ids.name)
        if ids.dtype != pl.String and not ids.dtype.is_integer():
            raise IdsError(
                f"{self._name}: the ids in column {ids.name!r} are of type {ids.dtype}, which all agents cannot write "
                "in the same way. Save them as text, whole numbers or dates."
            )
        return without_case(ids) if self._description.id_case == "ignore" else ids

    def _refuse_repeated(self, ids: pl.Series) -> None:
        repeated = ids.is_duplicated()
        first = ids.filter(repeated)[0]
        rows = [row + 1 for row in (ids == first).arg_true().head(3)]
        raise IdsError(
            f"{self._name}: {ids.filter(repeated).n_unique():,} of the ids in column {ids.name!r} occur more than "
            f"once (first: {first!r}, in rows {', '.join(map(str, rows))}). Keep one row for each sample; or let one "
            f'be taken, by a line in {self._description.places.file}: duplicates = "first" (or "last").'
        )

    def _labels(self, name: str | None, before: LabelType | None) -> pl.Series | None:
        if name is None or name not in self._read:
            return None
        labels = self._read.pop(name)
        if before is not None:
            return labels_as_before(labels, before, self._name)
        if labels.null_count() == len(labels):
            raise TableError(
                f"{self._name}: none of the {len(labels):,} rows has a label in column {name!r}. Rows without a "
                "label can be predicted, but there must be some with a label to train on."
            )
        return settle_labels(labels, self._from_text, self._name)

    def _persons(self, name: str | None) -> pl.Series | None:
        of_ids = [part for part in self._ids_read if part.name == name]
        persons = of_ids[0] if of_ids else None if name is None else self._read.pop(name, None)
        if persons is None:
            return None
        if persons.null_count() == len(persons):
            raise TableError(
                f"{self._name}: none of the {len(persons):,} rows names anybody in column {name!r} (person). Name "
                "another column, or remove the key."
            )
        return persons.cast(pl.String)

    def _columns(self, left_out: Sequence[str]) -> tuple[Column, ...]:
        settings, found = self._description.preprocessing, list[Column]()
        for name, values in self._read.items():
            if name not in left_out:
                with self._problems.gathered():
                    found.append(column_of(values, name in self._codes, self._from_text, self._name))
        columns = tuple(found)
        dates = [column.name for column in columns if column.kind is Kind.DATE]
        if dates and settings.dates == "refuse":
            self._problems.add(
                ColumnsError(
                    f"{self._name}: column {dates[0]!r} holds dates, and preprocessing.dates = 'refuse' "
                    f"({self._description.places('preprocessing', 'dates')}). Exclude it under [features], or set "
                    'dates = "days".'
                )
            )
        return columns


def _feature_or_error(values: pl.Series, column: Column, source: str) -> pl.Series | AssistLearnError:
    try:
        return convert(values, column, source)
    except AssistLearnError as error:
        return error


def _may_repeat(ids: pl.Series) -> bool:
    """Return whether two ids have the same hash: this takes a fifth of the time of comparing ids, and less memory."""
    digests = np.sort(ids.hash().to_numpy())
    return bool((digests[1:] == digests[:-1]).any())


def _without_id(ids: pl.Series) -> pl.Series:
    if ids.dtype != pl.String or ids.is_between("!", "~").all():  # each id begins with a visible ASCII character
        return ids.is_null()
    pieces = (ids.slice(start, _CHECKED) for start in range(0, len(ids), _CHECKED))
    return pl.concat(in_threads(lambda piece: piece.str.strip_chars() == "", pieces)).fill_null(True)
