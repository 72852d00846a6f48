"""Long arrays are worked on block by block, so that temporary arrays stay small."""

from __future__ import annotations

from collections.abc import Iterator

BLOCK_ROWS = 65_536
"""Rows that are worked on at a time: temporaries stay in the processor's cache. Sums are taken block by block, so that
another number changes their last digits."""


def blocks(n_rows: int, size: int = BLOCK_ROWS) -> Iterator[slice]:
    """Yield slices that cut so many rows into blocks.

    >>> list(blocks(5, size=2))
    [slice(0, 2, None), slice(2, 4, None), slice(4, 5, None)]
    """
    for start in range(0, n_rows, size):
        yield slice(start, min(start + size, n_rows))
