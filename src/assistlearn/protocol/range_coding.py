"""Entropy coding with probabilities that both sides learn on the way: no table of counts travels.

Symbols are coded in blocks. The probabilities of a block follow from the blocks before it, which the reader has read by
then. The same code serves both sides: it asks a :class:`Writer` or a :class:`Reader` for the next symbols, and gets
those that are written or those that are read.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Protocol, TypeAlias

import constriction
import numpy as np
from numpy.typing import NDArray

from assistlearn.errors import ProtocolError

Symbols: TypeAlias = NDArray[np.int32]
Floats: TypeAlias = NDArray[np.float64]

FIRST = 8
"""How many symbols each of the first blocks has."""

_EACH_ITS_OWN = constriction.stream.model.Categorical(perfect=False)


class Coder(Protocol):
    """Writes symbols, or reads them."""

    def code(self, shares: Floats) -> Symbols:
        """Return the next symbols, one for each row of shares; a row holds the share of each possible symbol."""
        ...


class Writer:
    """Writes symbols.

    >>> shares = np.full((3, 4), 0.25)
    >>> writer = Writer(np.array([1, 2, 3], np.int32))
    >>> writer.code(shares)
    array([1, 2, 3], dtype=int32)
    >>> reader = Reader(writer.written())
    >>> reader.code(shares)
    array([1, 2, 3], dtype=int32)
    >>> reader.close()
    """

    def __init__(self, symbols: Symbols) -> None:
        self._symbols = symbols
        self._coder = constriction.stream.queue.RangeEncoder()
        self._place = 0

    def code(self, shares: Floats) -> Symbols:
        """Write the next symbols, and return them."""
        symbols = self._symbols[self._place : self._place + len(shares)]
        self._place += len(shares)
        self._coder.encode(symbols, _EACH_ITS_OWN, shares)
        return symbols

    def written(self) -> bytes:
        """Return all symbols that were written, as bytes."""
        return words_to_bytes(self._coder.get_compressed())


class Reader:
    """Reads symbols that a writer has written with the same shares, and refuses bytes that no writer wrote."""

    def __init__(self, data: bytes) -> None:
        self._coder = constriction.stream.queue.RangeDecoder(bytes_to_words(data))

    def code(self, shares: Floats) -> Symbols:
        """Read the next symbols."""
        try:
            symbols: Symbols = self._coder.decode(_EACH_ITS_OWN, shares)
        except AssertionError as error:  # how the library refuses bytes that no encoder wrote
            raise ProtocolError(f"Entropy-coded bytes do not decode: {error}") from None
        return symbols

    def close(self) -> None:
        """Refuse bytes that are left over."""
        if not self._coder.maybe_exhausted():
            raise ProtocolError("Entropy-coded bytes are left over after the last value.")


def blocks(n: int, first: int = FIRST, most: int = 2**16) -> Iterator[slice]:
    """Yield the blocks of ``n`` symbols: each a quarter of all before it, but at least ``first`` and at most ``most``.

    >>> [block.stop - block.start for block in blocks(100)]
    [8, 8, 8, 8, 8, 10, 12, 15, 19, 4]
    """
    start = 0
    while start < n:
        stop = min(n, start + min(max(first, start // 4), most))
        yield slice(start, stop)
        start = stop


def words_to_bytes(words: NDArray[Any]) -> bytes:
    """Return the words of the library's coder as bytes, least significant byte first."""
    return words.astype("<u4").tobytes()


def bytes_to_words(data: bytes) -> NDArray[np.uint32]:
    """Return the words of the library's coder from their bytes."""
    if len(data) % 4:
        raise ProtocolError(f"The number of entropy-coded bytes must be a multiple of four, not {len(data)}.")
    return np.frombuffer(data, "<u4").astype(np.uint32)
