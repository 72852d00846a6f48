"""Long arrays are worked on block by block, so that temporary arrays stay small."""

from __future__ import annotations

from collections.abc import Iterator

BLOCK_ROWS = 65_536
"""The number of rows in a block: temporary arrays stay in the processor's cache. Sums are computed block by block, so
another number of rows changes their last digits."""


def blocks(n_rows: int, size: int = BLOCK_ROWS) -> Iterator[slice]:
    """Yield slices that divide ``n_rows`` rows into blocks of ``size`` rows. The last block may be shorter.

    >>> list(blocks(5, size=2))
    [slice(0, 2, None), slice(2, 4, None), slice(4, 5, None)]
    """
    for start in range(0, n_rows, size):
        yield slice(start, min(start + size, n_rows))
