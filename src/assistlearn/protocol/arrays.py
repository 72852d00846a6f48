"""Arrays as they travel: typed, sized, inert bytes, entropy-coded where that is smaller."""

from __future__ import annotations

import math
from collections.abc import Iterator
from decimal import Context, Decimal
from functools import lru_cache
from typing import Any, Literal, TypeAlias

import constriction
import msgspec
import numpy as np
from numpy.typing import NDArray

from assistlearn.core import Reward, ScoreVectors, SoftReward
from assistlearn.core.state import DTYPES, in_order, largest_level, truth_first
from assistlearn.core.votes import LEAST
from assistlearn.errors import ProtocolError
from assistlearn.methods.method import ABSTAINS, HoldoutAnswer
from assistlearn.types import Bools, Codes, Floats

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
        """Write the next symbols, one for each row of shares; a row holds the share of each possible symbol."""
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


Coder: TypeAlias = Writer | Reader


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


# Rewards, and answers for hold-out samples, as they travel: bits, class codes, or quantised scores.


MOST_CODED_BITS = 8
"""Levels of more bits are not entropy-coded: there are too many to learn how often each one comes."""


class Levels(msgspec.Struct, frozen=True, forbid_unknown_fields=True, array_like=True, tag="levels"):
    """Quantised numbers: whole levels times a scale.

    If they are entropy-coded, they come class by class (:func:`code_scores`); otherwise sample by sample, with ``bits``
    bits each.
    """

    n: int
    bits: int
    scale: float
    coded: bool
    data: bytes


PackedReward: TypeAlias = Bits | Levels

PackedHoldout: TypeAlias = ClassCodes | Levels


def pack_reward(reward: Reward, codes: Codes) -> PackedReward:
    """Return a reward in its smaller form. Its owner packs it once; all others pass it on unchanged.

    ``codes`` are the labels of its samples. The reader has them, too, so that scores need fewer bits.
    """
    if isinstance(reward, SoftReward):
        return pack_levels(reward.levels, reward.bits, reward.scale, codes)
    return pack_bits(reward)


def unpack_reward(packed: PackedReward, codes: Codes, n_classes: int) -> Reward:
    if isinstance(packed, Bits):
        return unpack_bits(packed, len(codes))
    return _unpack(packed, len(codes), n_classes, codes)


def pack_holdout(answer: HoldoutAnswer, n_classes: int) -> PackedHoldout:
    """Return answers for hold-out samples; an abstention travels as one code more than there are classes."""
    if isinstance(answer, SoftReward):
        return pack_levels(answer.levels, answer.bits, answer.scale)
    return pack_codes(np.where(answer == ABSTAINS, n_classes, answer), n_classes + 1)


def unpack_holdout(packed: PackedHoldout | None, n: int, n_classes: int) -> HoldoutAnswer | None:
    if packed is None:
        return None
    if isinstance(packed, Levels):
        return unpack_votes(packed, n, n_classes)
    codes: Codes = unpack_codes(packed, n, n_classes + 1)
    codes[codes == n_classes] = ABSTAINS
    return codes


def unpack_votes(packed: Levels, n: int, n_classes: int) -> SoftReward:
    return _unpack(packed, n, n_classes, None)


def loudness(said: Reward | HoldoutAnswer, model_weight: float) -> float:
    """Return the size of the loudest vote of a kept model on any sample.

    >>> loudness(SoftReward(np.array([-100, 50], np.int8), scale=0.02, bits=8), model_weight=3.0)
    6.0
    """
    if not isinstance(said, SoftReward):
        return abs(model_weight)
    return abs(model_weight) * said.loudest()


def _unpack(packed: Levels, n: int, n_classes: int, truth: Codes | None) -> SoftReward:
    if packed.bits not in DTYPES:
        raise ProtocolError(f"Quantised numbers have {sorted(DTYPES)} bits, not {packed.bits}.")
    n_scores = 1 if n_classes == 2 else n_classes
    levels, scale = unpack_levels(packed, n * n_scores, packed.bits, n_scores, truth)
    if not scale > 0.0:
        raise ProtocolError(f"The scale {scale} of quantised numbers is not positive.")
    if n_scores == 1:
        return SoftReward(levels, scale, packed.bits)
    return ScoreVectors(levels.reshape(n, n_scores), scale, packed.bits)


# Quantised scores: a fixed number of bits each, or entropy-coded.


def pack_levels(levels: NDArray[Any], bits: int, scale: float, truth: Codes | None = None) -> Levels:
    """Return quantised numbers, a row per sample, in their smaller form; up to 8 bits may be entropy-coded.

    With ``truth``, the samples' classes, which the receiver has, too, a row of several scores has one for each class,
    the true class first.
    """
    n = levels.size
    if bits <= MOST_CODED_BITS and n:
        rows = levels.reshape(len(levels), -1)
        ordered = rows if truth is None or rows.shape[1] == 1 else in_order(rows, truth)
        most = largest_level(bits)
        writer = Writer((ordered.T.astype(np.int32) + most).reshape(-1))
        code_scores(writer, (rows.shape[0], rows.shape[1]), 2 * most + 1, scale, truth)
        if len(coded := writer.written()) < _plain_bytes(n, bits):
            return Levels(n, bits, scale, True, coded)
    return plain_levels(levels, bits, scale)


def plain_levels(levels: NDArray[Any], bits: int, scale: float) -> Levels:
    flat = np.ascontiguousarray(levels).reshape(-1)
    return Levels(len(flat), bits, scale, False, _plain(flat, bits))


def unpack_levels(
    levels: Levels, n: int, bits: int, n_scores: int = 1, truth: Codes | None = None
) -> tuple[NDArray[Any], float]:
    """Return the levels, one after another, and their scale; ``truth`` must be the same as in packing."""
    check_number("levels", levels.n, n)
    check_number("bits", levels.bits, bits)
    if not (math.isfinite(levels.scale) and levels.scale >= 0.0):
        raise ProtocolError(f"The scale {levels.scale} of quantised numbers is not a finite number of at least zero.")
    if levels.coded:
        return _decoded(levels, n_scores, truth), levels.scale
    check_number("bytes", len(levels.data), _plain_bytes(n, bits))
    values = _from_plain(levels.data, n, bits)
    limit = largest_level(bits)
    if n and int(np.abs(values.astype(np.int64)).max()) > limit:
        raise ProtocolError(f"A level of {bits} bits lies outside -{limit} to {limit}.")
    return values, levels.scale


def _decoded(levels: Levels, n_scores: int, truth: Codes | None) -> NDArray[Any]:
    if levels.n < 1 or levels.bits > MOST_CODED_BITS:
        raise ProtocolError(f"{levels.n} levels of {levels.bits} bits must be sent plain, not entropy-coded.")
    check_smaller(len(levels.data), levels.n, _plain_bytes(levels.n, levels.bits))
    most = largest_level(levels.bits)
    reader = Reader(levels.data)
    said = code_scores(reader, (levels.n // n_scores, n_scores), 2 * most + 1, levels.scale, truth)
    reader.close()
    rows = (said.T.astype(np.int16) - most).astype(DTYPES[levels.bits])
    if truth is not None and n_scores > 1:
        rows = truth_first(rows, truth)
    return rows.reshape(-1)


def _plain_bytes(n: int, bits: int) -> int:
    return (n * bits + 7) // 8


def _plain(flat: NDArray[Any], bits: int) -> bytes:
    """Return levels in ``bits`` bits each: whole bytes, least significant first, or a few bits of a byte."""
    if bits >= 8:
        return flat.astype(np.dtype(DTYPES[bits]).newbyteorder("<")).tobytes()
    raised = (flat.astype(np.int64) + 2 ** (bits - 1)).astype(np.uint8)
    return np.packbits(np.unpackbits(raised[:, np.newaxis], axis=1)[:, -bits:]).tobytes()


def _from_plain(data: bytes, n: int, bits: int) -> NDArray[Any]:
    if bits >= 8:
        return np.frombuffer(data, np.dtype(DTYPES[bits]).newbyteorder("<")).astype(DTYPES[bits])
    every = np.unpackbits(np.frombuffer(data, np.uint8))
    if every[n * bits :].any():
        raise ProtocolError(f"The bits beyond the {n} levels are not zero.")
    raised = np.packbits(every[: n * bits].reshape(n, bits), axis=1)[:, 0] >> (8 - bits)
    out: NDArray[Any] = (raised.astype(np.int64) - 2 ** (bits - 1)).astype(DTYPES[bits])
    return out


# How likely each level of a score is, given what both sides know: the shares that score vectors are coded with.
#
# Scores are coded class by class: the scores of all samples for one class, then those for the next. Three things are
# known about a score before it is read: whether its class is the true one (both sides have the labels), how much
# probability the earlier classes have left, and the level of the class before. Levels are logarithms: they count from
# the smallest probability that is distinguished. The probabilities of a sample sum to one, so that the last class is
# nearly determined.
#
# There are three contexts, from coarse to fine. Each counts the levels that occurred in it. The shares of the coarser
# context are added, as if some levels had occurred already. In the two coarse contexts, a level that occurred makes
# its neighbours likelier, too. In the finest context it does not. There, the shares of the coarser context weigh more,
# the more different levels occurred.
#
# All counts are whole numbers and the rest is sums, products and quotients, so that both sides have the same shares.


Places: TypeAlias = NDArray[np.int64]

Small: TypeAlias = NDArray[np.uint8]

TRUST = 4
"""In a coarse context, the shares of the coarser one weigh as much as this many levels."""

TRUST_PER_LEVEL = 2
"""In the finest context, they weigh as much as this many levels for each different level that occurred there."""

STEPS = 16
"""The most steps in which a context distinguishes levels."""

OWN = 8
"""How often a level that occurred counts for itself. It counts once for each of its neighbours."""

NEARLY_LAST = 3
"""Contexts that all classes share do not distinguish classes that are this many places before the last one, or more."""

ONE = 1024
"""The smallest probability that is distinguished; probabilities are added up as whole numbers of it."""

CERTAIN = round(ONE / LEAST)

HIGHEST = 10.0
"""A height above the smallest probability that no probability reaches."""

CELLS = 2**20
"""The most shares that are in memory at a time."""


def code_scores(coder: Coder, shape: tuple[int, int], n_levels: int, scale: float, truth: Codes | None) -> Small:
    """Write or read the levels of scores, column after column, and return them, counted from zero.

    ``shape`` is the number of samples, and how many scores each has; the result has a row for each score. ``scale`` is
    what one level is worth, in logarithms. ``truth`` is the column of each sample's true class, where both sides know
    it.
    """
    n, n_columns = shape
    said = np.empty((n_columns, n), dtype=np.uint8)
    shared = _Counts(2 * (NEARLY_LAST + 1) * (2 * STEPS + 1), n_levels)
    rest = _Rest(n, n_levels, scale)
    before = np.zeros(n, dtype=np.int64)
    first = max(FIRST, n_columns // 4)
    for column in range(n_columns):
        left = n_columns - 1 - column
        true = np.zeros(n, dtype=np.int64) if truth is None else (truth == column).astype(np.int64)
        model = _Column(shared, n_levels, min(left, NEARLY_LAST))
        room = rest.steps(last=left == 0)
        for block in blocks(n, first, max(CELLS // n_levels, 1)):
            said[column, block] = model.code(coder, true[block], room[block], before[block])
        rest.take(said[column])
        before = _coarse(said[column], n_levels)
    return said


class _Counts:
    def __init__(self, n_contexts: int, n_levels: int) -> None:
        self._counts = np.zeros((n_contexts, n_levels), dtype=np.int64)
        self._reach = max(n_levels // STEPS, 1)

    def shares(self, contexts: Places, coarser: Floats) -> Floats:
        came = self._counts[contexts]
        near = (OWN - 1) * came + self._around(came)
        trust = TRUST * (OWN + 2 * self._reach)
        out: Floats = (near + trust * coarser) / (near.sum(axis=1, keepdims=True) + trust)
        return out

    def fine_shares(self, contexts: Places, coarser: Floats) -> Floats:
        came = self._counts[contexts]
        trust = TRUST_PER_LEVEL * (np.count_nonzero(came, axis=1)[:, np.newaxis] + 1)
        out: Floats = (came + trust * coarser) / (came.sum(axis=1, keepdims=True) + trust)
        return out

    def _around(self, came: Places) -> Places:
        n_levels = came.shape[1]
        up_to = np.zeros((len(came), n_levels + 1), dtype=np.int64)
        np.cumsum(came, axis=1, out=up_to[:, 1:])
        levels = np.arange(n_levels)
        above = np.minimum(levels + self._reach + 1, n_levels)
        out: Places = up_to[:, above] - up_to[:, np.maximum(levels - self._reach, 0)]
        return out

    def add(self, contexts: Places, levels: Symbols) -> None:
        n_levels = self._counts.shape[1]
        np.add.at(self._counts.reshape(-1), contexts * n_levels + levels, 1)


class _Column:
    """The contexts of a class: those that all classes share, and two kinds of its own."""

    def __init__(self, shared: _Counts, n_levels: int, left: int) -> None:
        rooms = 2 * STEPS + 1
        self._even = np.full((1, n_levels), 1.0 / n_levels)
        self._shared = shared
        self._rooms = _Counts(2 * rooms, n_levels)
        self._fine = _Counts(2 * rooms * STEPS, n_levels)
        self._left = left

    def code(self, coder: Coder, true: Places, room: Places, before: Places) -> Symbols:
        fine = (true * (2 * STEPS + 1) + room) * STEPS + before
        contexts, which = np.unique(fine, return_inverse=True)
        rooms, places = contexts // STEPS, fine // STEPS
        of_all = 2 * (2 * STEPS + 1) * self._left
        shares = self._shared.shares(of_all + rooms, self._even)  # from coarse to fine
        shares = self._rooms.shares(rooms, shares)
        shares = self._fine.fine_shares(contexts, shares)
        levels = coder.code(shares[which])
        self._shared.add(of_all + places, levels)
        self._rooms.add(places, levels)
        self._fine.add(fine, levels)
        return levels


class _Rest:
    """How much of each sample's probability the earlier classes have left, in whole numbers."""

    def __init__(self, n: int, n_levels: int, scale: float) -> None:
        self._rest = np.full(n, CERTAIN, dtype=np.int64)
        scale = min(scale, HIGHEST)
        self._worth = np.array([_worth(level * scale) for level in range(n_levels)])
        self._worth[0] = ONE // 2  # the lowest level also stands for everything below it
        steps = min(n_levels, STEPS)
        width = scale * n_levels / steps / 2.0
        self._steps = np.array([_worth(step * width) for step in range(2 * steps)])

    def take(self, levels: Small) -> None:
        self._rest -= self._worth[levels]
        np.maximum(self._rest, 0, out=self._rest)

    def steps(self, *, last: bool) -> Places:
        """Return how much is left, in half steps for the last class and in whole steps for the others."""
        steps = np.searchsorted(self._steps, self._rest)
        return steps if last else (steps + 1) // 2


@lru_cache(maxsize=4_096)
def _worth(height: float) -> int:
    """Return a probability from its height above the smallest, as a whole number that is the same on every machine."""
    above = Context(prec=20).exp(Decimal(min(height, HIGHEST)))
    return min(int(above * ONE), CERTAIN)


def _coarse(levels: Small, n_levels: int) -> Places:
    coarse: Places = levels.astype(np.int64)
    return coarse if n_levels <= STEPS else coarse * STEPS // n_levels
