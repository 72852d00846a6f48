"""An agent's table in memory, its digest, and how its columns are distributed."""

from __future__ import annotations

import hashlib
import os
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any, TypeAlias, TypeVar

import numpy as np
import polars as pl
from numpy.typing import NDArray

from assistlearn.core.people import Groups, groups_of
from assistlearn.tables.schema import Schema

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
