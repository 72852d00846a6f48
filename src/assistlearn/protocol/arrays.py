"""Arrays as they travel: typed, sized, inert bytes, entropy-coded where that is smaller."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any, Literal, Protocol, TypeAlias

import constriction
import msgspec
import numpy as np
from numpy.typing import NDArray

from assistlearn.errors import ProtocolError
from assistlearn.types import Bools, Floats

# Every form says how many values it holds. The code that decodes it says how many there must be. A wrong number is
# refused before anything is allocated, so that a message that only claims to be large cannot use up memory.


Coding = Literal["raw", "range"]


class Bits(msgspec.Struct, frozen=True, forbid_unknown_fields=True, array_like=True, tag="bits"):
    """Booleans: one bit each, or fewer bits if they are entropy-coded."""

    n: int
    ones: int
    coding: Coding
    data: bytes


def pack_bits(values: Bools) -> Bits:
    n, ones = len(values), int(np.count_nonzero(values))
    raw = (n + 7) // 8
    if n and 32 + _entropy_bits(n, ones) / 8 < raw:
        coded = b""
        if 0 < ones < n:
            coder = constriction.stream.queue.RangeEncoder()
            coder.encode(values.astype(np.int32), constriction.stream.model.Bernoulli(ones / n, perfect=True))
            coded = _words_to_bytes(coder.get_compressed())
        if len(coded) < raw:
            return Bits(n, ones, "range", coded)
    return Bits(n, ones, "raw", np.packbits(values).tobytes())


def unpack_bits(bits: Bits, n: int) -> Bools:
    check_number("booleans", bits.n, n)
    if not 0 <= bits.ones <= n:
        raise ProtocolError(f"{n} booleans cannot hold {bits.ones} ones.")
    if bits.coding == "range":
        values = _range_decode(bits)
    else:
        check_number("bytes", len(bits.data), (n + 7) // 8)
        if n % 8 and bits.data[-1] & (255 >> n % 8):
            raise ProtocolError(f"The bits beyond the {n} booleans are not zero.")
        values = np.unpackbits(np.frombuffer(bits.data, np.uint8), count=n).astype(bool)
    if int(np.count_nonzero(values)) != bits.ones:
        raise ProtocolError(
            f"The booleans hold {int(np.count_nonzero(values))} ones, but the message says {bits.ones}."
        )
    return values


def _entropy_bits(n: int, ones: int) -> float:
    share = ones / n
    return -n * sum(p * math.log2(p) for p in (share, 1.0 - share) if p > 0.0)


def _range_decode(bits: Bits) -> Bools:
    if bits.ones in (0, bits.n):
        check_number("bytes", len(bits.data), 0)
        return np.full(bits.n, bits.ones > 0)
    model = constriction.stream.model.Bernoulli(bits.ones / bits.n, perfect=True)
    check_smaller(len(bits.data), bits.n, bits.n // 8)
    coder = constriction.stream.queue.RangeDecoder(_bytes_to_words(bits.data))
    try:
        values: NDArray[Any] = coder.decode(model, bits.n)
    except AssertionError as error:  # how the library refuses bytes that no encoder wrote
        raise ProtocolError(f"Entropy-coded bytes do not decode: {error}") from None
    if not coder.maybe_exhausted():
        raise ProtocolError(f"Entropy-coded bytes are left over after {bits.n} values.")
    return values.astype(bool)


MAX_CLASSES = 2**16
"""A class code has two bytes at the most."""

MAX_CODED_CLASSES = 256
"""Codes of more classes are not entropy-coded: there is little to learn from a few samples of each."""

MOST_CODES = 4_096
"""The most class codes in a block: this limits the memory that a block takes."""


class ClassCodes(msgspec.Struct, frozen=True, forbid_unknown_fields=True, array_like=True, tag="codes"):
    """Class codes below ``n_classes``: one or two bytes each, or entropy-coded."""

    n: int
    n_classes: int
    coded: bool
    data: bytes


def pack_codes(codes: NDArray[Any], n_classes: int) -> ClassCodes:
    if n_classes > MAX_CLASSES:
        raise ProtocolError(
            f"There are {n_classes} classes; class codes are sent in two bytes, which is enough for {MAX_CLASSES:,} "
            "classes."
        )
    if 2 <= n_classes <= MAX_CODED_CLASSES and len(codes):
        writer = Writer(codes.astype(np.int32))
        _code_classes(writer, len(codes), n_classes)
        if len(coded := writer.written()) < len(codes):
            return ClassCodes(len(codes), n_classes, True, coded)
    return ClassCodes(len(codes), n_classes, False, codes.astype(_code_type(n_classes)).tobytes())


def unpack_codes(codes: ClassCodes, n: int, n_classes: int) -> NDArray[np.int64]:
    check_number("class codes", codes.n, n)
    check_number("classes", codes.n_classes, n_classes)
    if codes.coded:
        return _coded_classes(codes)
    kind = _code_type(n_classes)
    check_number("bytes", len(codes.data), n * kind.itemsize)
    values = np.frombuffer(codes.data, kind).astype(np.int64)
    if n and int(values.max()) >= n_classes:
        raise ProtocolError(
            f"A class code is {int(values.max())}, but there are {n_classes} classes (0 to {n_classes - 1})."
        )
    return values


def _coded_classes(codes: ClassCodes) -> NDArray[np.int64]:
    if not (2 <= codes.n_classes <= MAX_CODED_CLASSES and codes.n > 0):
        raise ProtocolError(f"{codes.n} codes of {codes.n_classes} classes must be sent plain, not entropy-coded.")
    check_smaller(len(codes.data), codes.n, codes.n)
    reader = Reader(codes.data)
    values = _code_classes(reader, codes.n, codes.n_classes)
    reader.close()
    return values


def _code_classes(coder: Coder, n: int, n_classes: int) -> NDArray[np.int64]:
    """Write or read class codes with the shares of the classes so far; each class counts one more than it occurred."""
    values = np.empty(n, dtype=np.int64)
    counts = np.ones(n_classes, dtype=np.int64)
    for block in blocks(n, most=MOST_CODES):
        shares = np.broadcast_to(counts / counts.sum(), (block.stop - block.start, n_classes))
        values[block] = coder.code(np.ascontiguousarray(shares))
        counts += np.bincount(values[block], minlength=n_classes)
    return values


def _code_type(n_classes: int) -> np.dtype[Any]:
    return np.dtype("u1") if n_classes <= 256 else np.dtype("<u2")


class Numbers(msgspec.Struct, frozen=True, forbid_unknown_fields=True, array_like=True, tag="numbers"):
    """Finite float64 numbers, or minus infinity where the receiver allows it."""

    n: int
    data: bytes


def pack_numbers(values: NDArray[np.float64]) -> Numbers:
    return Numbers(values.size, np.ascontiguousarray(values, dtype="<f8").tobytes())


def unpack_numbers(numbers: Numbers, n: int) -> NDArray[np.float64]:
    check_number("numbers", numbers.n, n)
    check_number("bytes", len(numbers.data), 8 * n)
    values = np.frombuffer(numbers.data, "<f8").astype(np.float64)
    bad = ~np.isfinite(values)
    if bad.any():
        raise ProtocolError(f"{int(bad.sum())} of {n} numbers are not finite (first at {int(np.argmax(bad))}).")
    return values


def check_number(what: str, said: int, expected: int) -> None:
    if said != expected:
        raise ProtocolError(f"Expected {expected} {what}, got {said}.")


def check_smaller(n_bytes: int, n: int, most: int) -> None:
    """Refuse more entropy-coded bytes than the ``n`` values have in their plain form."""
    if n_bytes > most:
        raise ProtocolError(f"{n_bytes} entropy-coded bytes came for {n} values, but the plain form needs only {most}.")


# Entropy coding with probabilities that both sides learn on the way: no table of counts travels.
#
# Symbols are coded in blocks. The probabilities of a block follow from the blocks before it, which the reader has read
# by then. The same code serves both sides: it asks a :class:`Writer` or a :class:`Reader` for the next symbols, and
# gets those that are written or those that are read.


Symbols: TypeAlias = NDArray[np.int32]

FIRST = 8
"""How many symbols each of the first blocks has."""

_EACH_ITS_OWN = constriction.stream.model.Categorical(perfect=False)


class Coder(Protocol):
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
        symbols = self._symbols[self._place : self._place + len(shares)]
        self._place += len(shares)
        self._coder.encode(symbols, _EACH_ITS_OWN, shares)
        return symbols

    def written(self) -> bytes:
        return _words_to_bytes(self._coder.get_compressed())


class Reader:
    """Reads symbols that a writer has written with the same shares, and refuses bytes that no writer wrote."""

    def __init__(self, data: bytes) -> None:
        self._coder = constriction.stream.queue.RangeDecoder(_bytes_to_words(data))

    def code(self, shares: Floats) -> Symbols:
        try:
            symbols: Symbols = self._coder.decode(_EACH_ITS_OWN, shares)
        except AssertionError as error:  # how the library refuses bytes that no encoder wrote
            raise ProtocolError(f"Entropy-coded bytes do not decode: {error}") from None
        return symbols

    def close(self) -> None:
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


def _words_to_bytes(words: NDArray[Any]) -> bytes:
    return words.astype("<u4").tobytes()


def _bytes_to_words(data: bytes) -> NDArray[np.uint32]:
    if len(data) % 4:
        raise ProtocolError(f"The number of entropy-coded bytes must be a multiple of four, not {len(data)}.")
    return np.frombuffer(data, "<u4").astype(np.uint32)
