"""Arrays as they travel: typed, sized, inert bytes, entropy-coded where that is smaller.

Every form says how many values it holds. Whoever decodes one says how many there must be, and a wrong number is refused
before anything is allocated: nobody can be made to use memory by a message that claims to be large.
"""

from __future__ import annotations

import math
from typing import Any, Literal, TypeAlias

import constriction
import msgspec
import numpy as np
from numpy.typing import NDArray

from assistlearn.errors import ProtocolError

Bools: TypeAlias = NDArray[np.bool_]
Coding = Literal["raw", "range"]


class Bits(msgspec.Struct, frozen=True, forbid_unknown_fields=True, array_like=True, tag="bits"):
    """Booleans, one bit each or, entropy-coded, as many bits as they carry information.

    >>> bits = pack_bits(np.array([True, False, True]))
    >>> bits.coding, unpack_bits(bits, 3).tolist()
    ('raw', [True, False, True])
    """

    n: int
    ones: int
    coding: Coding
    data: bytes


def pack_bits(values: Bools) -> Bits:
    """Return booleans in their smaller form."""
    n, ones = len(values), int(np.count_nonzero(values))
    raw = (n + 7) // 8
    if n and 32 + _entropy_bits(n, ones) / 8 < raw:
        coded = _range_encode(values, n, ones)
        if len(coded) < raw:
            return Bits(n, ones, "range", coded)
    return Bits(n, ones, "raw", np.packbits(values).tobytes())


def unpack_bits(bits: Bits, n: int) -> Bools:
    """Return the booleans; there must be ``n`` of them."""
    _check_number("booleans", bits.n, n)
    if not 0 <= bits.ones <= n:
        raise ProtocolError(f"{n} booleans cannot hold {bits.ones} ones.")
    if bits.coding == "range":
        values = _range_decode(bits)
    else:
        _check_number("bytes", len(bits.data), (n + 7) // 8)
        if n % 8 and bits.data[-1] & (255 >> n % 8):
            raise ProtocolError(f"The bits beyond the {n} booleans are not zero.")
        values = np.unpackbits(np.frombuffer(bits.data, np.uint8), count=n).astype(bool)
    if int(np.count_nonzero(values)) != bits.ones:
        raise ProtocolError(f"The booleans hold {int(np.count_nonzero(values))} ones, not {bits.ones} as said.")
    return values


MAX_CLASSES = 2**16
"""A class code has two bytes at the most."""


class ClassCodes(msgspec.Struct, frozen=True, forbid_unknown_fields=True, array_like=True, tag="codes"):
    """Class codes below ``n_classes``, one or two bytes each."""

    n: int
    n_classes: int
    data: bytes


def pack_codes(codes: NDArray[Any], n_classes: int) -> ClassCodes:
    """Return class codes in the smallest whole number of bytes.

    >>> unpack_codes(pack_codes(np.array([0, 2, 1]), 3), n=3, n_classes=3).tolist()
    [0, 2, 1]
    """
    if n_classes > MAX_CLASSES:
        raise ProtocolError(
            f"There are {n_classes} classes; class codes travel in two bytes, for {MAX_CLASSES:,} at most."
        )
    return ClassCodes(len(codes), n_classes, codes.astype(_code_type(n_classes)).tobytes())


def unpack_codes(codes: ClassCodes, n: int, n_classes: int) -> NDArray[np.int64]:
    """Return the class codes; there must be ``n`` of them, all below ``n_classes``."""
    _check_number("class codes", codes.n, n)
    _check_number("classes", codes.n_classes, n_classes)
    kind = _code_type(n_classes)
    _check_number("bytes", len(codes.data), n * kind.itemsize)
    values = np.frombuffer(codes.data, kind).astype(np.int64)
    if n and int(values.max()) >= n_classes:
        raise ProtocolError(
            f"A class code is {int(values.max())}, but there are {n_classes} classes (0 to {n_classes - 1})."
        )
    return values


class Numbers(msgspec.Struct, frozen=True, forbid_unknown_fields=True, array_like=True, tag="numbers"):
    """Finite float64 numbers, or minus infinity where the receiver allows it."""

    n: int
    data: bytes


def pack_numbers(values: NDArray[np.float64]) -> Numbers:
    """Return numbers as their bytes, least significant first.

    >>> unpack_numbers(pack_numbers(np.array([0.5, -1.0])), 2)
    array([ 0.5, -1. ])
    """
    return Numbers(values.size, np.ascontiguousarray(values, dtype="<f8").tobytes())


def unpack_numbers(numbers: Numbers, n: int, *, logarithms: bool = False) -> NDArray[np.float64]:
    """Return the numbers; there must be ``n`` of them, all finite (or minus infinity, if they are logarithms)."""
    _check_number("numbers", numbers.n, n)
    _check_number("bytes", len(numbers.data), 8 * n)
    values = np.frombuffer(numbers.data, "<f8").astype(np.float64)
    bad = ~np.isfinite(values)
    if logarithms:
        bad &= values != -np.inf
    if bad.any():
        raise ProtocolError(f"{int(bad.sum())} of {n} numbers are not finite (first at {int(np.argmax(bad))}).")
    return values


class Levels(msgspec.Struct, frozen=True, forbid_unknown_fields=True, array_like=True, tag="levels"):
    """Quantised numbers: whole levels times a scale, a fixed number of bits each or entropy-coded.

    With entropy coding ``counts`` says how often each level occurs: the levels that do, in order (plus 128, one byte
    each), then their numbers (four bytes each).
    """

    n: int
    bits: int
    scale: float
    coding: Coding
    counts: bytes
    data: bytes


_LEVEL_TYPES: dict[int, np.dtype[Any]] = {
    4: np.dtype("i1"),
    8: np.dtype("i1"),
    16: np.dtype("<i2"),
    32: np.dtype("<i4"),
}


def pack_levels(levels: NDArray[Any], bits: int, scale: float) -> Levels:
    """Return quantised numbers in their smaller form; entropy coding is tried for up to 8 bits.

    >>> levels, scale = unpack_levels(pack_levels(np.array([-3, 127, 0], np.int8), 8, 0.5), 3, 8)
    >>> levels.tolist(), scale
    ([-3, 127, 0], 0.5)
    """
    flat = np.ascontiguousarray(levels).reshape(-1)
    n = len(flat)
    if bits <= 8 and n:
        counts = np.bincount(flat.astype(np.int64) + 128, minlength=256)
        shares = counts[counts > 0] / n
        table = _pack_counts(counts)
        if len(table) + 32 - float(np.sum(n * shares * np.log2(shares))) / 8 < n * bits / 8:
            coder = constriction.stream.queue.RangeEncoder()
            coder.encode(flat.astype(np.int32) + 128, _level_model(counts))
            coded = _words_to_bytes(coder.get_compressed())
            if len(table) + len(coded) < n * bits / 8:
                return Levels(n, bits, scale, "range", table, coded)
    if bits == 4:
        nibbles = np.zeros(n + n % 2, np.uint8)
        nibbles[:n] = flat.astype(np.int64) + 8
        return Levels(n, bits, scale, "raw", b"", (nibbles[0::2] << 4 | nibbles[1::2]).tobytes())
    return Levels(n, bits, scale, "raw", b"", flat.astype(_LEVEL_TYPES[bits]).tobytes())


def unpack_levels(levels: Levels, n: int, bits: int) -> tuple[NDArray[Any], float]:
    """Return the levels and their scale; there must be ``n`` of them, of ``bits`` bits."""
    _check_number("levels", levels.n, n)
    _check_number("bits", levels.bits, bits)
    if not (math.isfinite(levels.scale) and levels.scale >= 0.0):
        raise ProtocolError(f"The scale {levels.scale} of quantised numbers is not a finite number of at least zero.")
    if levels.coding == "range":
        values = _decode_levels(levels)
    elif levels.counts:
        raise ProtocolError("Levels that are not entropy-coded have no counts.")
    elif bits == 4:
        _check_number("bytes", len(levels.data), (n + 1) // 2)
        if n % 2 and levels.data[-1] & 15:
            raise ProtocolError(f"The half byte beyond the {n} levels is not zero.")
        pairs = np.frombuffer(levels.data, np.uint8)
        values = (np.column_stack([pairs >> 4, pairs & 15]).reshape(-1)[:n].astype(np.int64) - 8).astype(np.int8)
    else:
        kind = _LEVEL_TYPES[bits]
        _check_number("bytes", len(levels.data), n * kind.itemsize)
        values = np.frombuffer(levels.data, kind).astype(kind.newbyteorder("="))
    limit = 2 ** (bits - 1) - 1
    if n and int(np.abs(values.astype(np.int64)).max()) > limit:
        raise ProtocolError(f"A level of {bits} bits lies outside -{limit} to {limit}.")
    return values, levels.scale


def _decode_levels(levels: Levels) -> NDArray[np.int8]:
    if levels.n < 1 or levels.bits > 8:
        raise ProtocolError(f"{levels.n} levels of {levels.bits} bits are never entropy-coded.")
    counts = _unpack_counts(levels.counts)
    _check_number("counted levels", int(counts.sum()), levels.n)
    values = _decoded(levels.data, _level_model(counts), levels.n, levels.n * levels.bits // 8)
    if not np.array_equal(np.bincount(values, minlength=256), counts):
        raise ProtocolError("The levels are not those that were counted.")
    return (values - 128).astype(np.int8)


def _pack_counts(counts: NDArray[np.int64]) -> bytes:
    there = np.flatnonzero(counts)
    return there.astype(np.uint8).tobytes() + counts[there].astype("<u4").tobytes()


def _unpack_counts(data: bytes) -> NDArray[np.int64]:
    there = np.frombuffer(data[: len(data) // 5], np.uint8).astype(np.int64)
    if len(data) % 5 or (np.diff(there) <= 0).any():
        raise ProtocolError("The counts of levels are not in order, each level once.")
    counts = np.zeros(256, np.int64)
    counts[there] = np.frombuffer(data[len(there) :], "<u4")
    return counts


def _level_model(counts: NDArray[np.int64]) -> Any:
    return constriction.stream.model.Categorical(counts / counts.sum(), perfect=False)


def _entropy_bits(n: int, ones: int) -> float:
    """Return the bits of information in a sequence of ``n`` booleans of which ``ones`` are true."""
    share = ones / n
    return -n * sum(p * math.log2(p) for p in (share, 1.0 - share) if p > 0.0)


def _range_encode(values: Bools, n: int, ones: int) -> bytes:
    if ones in (0, n):
        return b""
    coder = constriction.stream.queue.RangeEncoder()
    coder.encode(values.astype(np.int32), constriction.stream.model.Bernoulli(ones / n, perfect=True))
    return _words_to_bytes(coder.get_compressed())


def _range_decode(bits: Bits) -> Bools:
    if bits.ones in (0, bits.n):
        _check_number("bytes", len(bits.data), 0)
        return np.full(bits.n, bits.ones > 0)
    model = constriction.stream.model.Bernoulli(bits.ones / bits.n, perfect=True)
    return _decoded(bits.data, model, bits.n, bits.n // 8).astype(bool)


def _decoded(data: bytes, model: Any, n: int, most: int) -> NDArray[Any]:
    """Return the ``n`` values in entropy-coded bytes, of which an honest encoder writes ``most`` at the most."""
    if len(data) > most:
        raise ProtocolError(f"{len(data)} entropy-coded bytes came for {n} values; the plain form has {most}.")
    coder = constriction.stream.queue.RangeDecoder(_bytes_to_words(data))
    try:
        values: NDArray[Any] = coder.decode(model, n)
    except AssertionError as error:  # how the library refuses bytes that no encoder wrote
        raise ProtocolError(f"Entropy-coded bytes do not decode: {error}") from None
    if not coder.maybe_exhausted():
        raise ProtocolError(f"Entropy-coded bytes are left over after {n} values.")
    return values


def _words_to_bytes(words: NDArray[np.uint32]) -> bytes:
    return words.astype("<u4").tobytes()


def _bytes_to_words(data: bytes) -> NDArray[np.uint32]:
    if len(data) % 4:
        raise ProtocolError(f"Entropy-coded bytes come in fours, not {len(data)}.")
    return np.frombuffer(data, "<u4").astype(np.uint32)


def _code_type(n_classes: int) -> np.dtype[Any]:
    return np.dtype("u1") if n_classes <= 256 else np.dtype("<u2")


def _check_number(what: str, said: int, expected: int) -> None:
    if said != expected:
        raise ProtocolError(f"Expected {expected} {what}, got {said}.")
