"""Quantised scores as they travel: whole levels times a scale, a fixed number of bits each or entropy-coded."""

from __future__ import annotations

import math
from typing import Any

import msgspec
import numpy as np
from numpy.typing import NDArray

from assistlearn.core.quantise import DTYPES, largest_level
from assistlearn.core.truth_first import in_order, truth_first
from assistlearn.core.votes import Codes
from assistlearn.errors import ProtocolError
from assistlearn.protocol.arrays import check_number, check_smaller
from assistlearn.protocol.range_coding import Reader, Writer
from assistlearn.protocol.score_shares import code_scores

MOST_CODED_BITS = 8
"""Levels of more bits are not entropy-coded: there are too many to learn how often each one comes."""


class Levels(msgspec.Struct, frozen=True, forbid_unknown_fields=True, array_like=True, tag="levels"):
    """Quantised numbers: whole levels times a scale.

    If they are entropy-coded, they come class by class (:mod:`assistlearn.protocol.score_shares`); otherwise sample by
    sample, with ``bits`` bits each.
    """

    n: int
    bits: int
    scale: float
    coded: bool
    data: bytes


def pack_levels(levels: NDArray[Any], bits: int, scale: float, truth: Codes | None = None) -> Levels:
    """Return quantised numbers in their smaller form; entropy coding is tried for up to 8 bits.

    Parameters
    ----------
    levels : ndarray of shape (n,) or (n, n_scores)
        One row per sample.
    bits : int
        How many bits a level has.
    scale : float
        What one level is worth.
    truth : ndarray of int, optional
        The samples' true classes, which the receiver has, too. A row of several scores then has one for each class, the
        true class first.

    Examples
    --------
    >>> levels, scale = unpack_levels(pack_levels(np.array([-3, 127, 0], np.int8), 8, 0.5), 3, 8)
    >>> levels.tolist(), scale
    ([-3, 127, 0], 0.5)
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
    """Return quantised numbers with a fixed number of bits each, whether that is smaller or not."""
    flat = np.ascontiguousarray(levels).reshape(-1)
    return Levels(len(flat), bits, scale, False, _plain(flat, bits))


def unpack_levels(
    levels: Levels, n: int, bits: int, n_scores: int = 1, truth: Codes | None = None
) -> tuple[NDArray[Any], float]:
    """Return the levels, one after another, and their scale.

    There must be ``n`` levels of ``bits`` bits each. ``n_scores`` is how many scores each sample has. ``truth`` must be
    the same as when the levels were packed.
    """
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
    told = (flat.astype(np.int64) + 2 ** (bits - 1)).astype(np.uint8)
    return np.packbits(np.unpackbits(told[:, np.newaxis], axis=1)[:, -bits:]).tobytes()


def _from_plain(data: bytes, n: int, bits: int) -> NDArray[Any]:
    if bits >= 8:
        return np.frombuffer(data, np.dtype(DTYPES[bits]).newbyteorder("<")).astype(DTYPES[bits])
    every = np.unpackbits(np.frombuffer(data, np.uint8))
    if every[n * bits :].any():
        raise ProtocolError(f"The bits beyond the {n} levels are not zero.")
    told = np.packbits(every[: n * bits].reshape(n, bits), axis=1)[:, 0] >> (8 - bits)
    out: NDArray[Any] = (told.astype(np.int64) - 2 ** (bits - 1)).astype(DTYPES[bits])
    return out
