"""A digest of a table's content, so that a changed table is noticed. It stays with the agent."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Sequence

import numpy as np
import polars as pl

from assistlearn.tables.by_column import by_column


def fingerprint(columns: Iterable[pl.Series]) -> str:
    """Return a digest of these columns: names, types, values, which are missing, and the order of the rows.

    It depends on nothing else, neither on the file's format nor on how the engine stores a column.

    >>> a = pl.Series("x", [1.0, None])
    >>> fingerprint([a]) == fingerprint([pl.Series("x", [1.0, 0.0])])
    False
    >>> len(fingerprint([a]))
    64
    """
    digest = hashlib.sha256()
    for parts in by_column(lambda column: [*_parts(column)], columns):
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


_PIECE = 20_000
"""How many rows of text are joined at a time. All rows would not fit into the processor's cache."""


def _bytes(numbers: pl.Series) -> list[memoryview]:
    return [
        np.ascontiguousarray(each.astype(each.dtype.newbyteorder("<"), copy=False)).data.cast("B")
        for each in (chunk.to_numpy() for chunk in numbers.get_chunks())
    ]
