"""Which entries of one list of codes occur in another, and where."""

from __future__ import annotations

from typing import TypeAlias

import numpy as np
import polars as pl
from numpy.typing import NDArray

from assistlearn.errors import AlignmentError

CodedIds: TypeAlias = NDArray[np.uint8]
"""One code in each row: a digest or a point of the curve, all of the same width."""

Rows: TypeAlias = NDArray[np.int64]
"""For each sample its row in a table, or -1 where the table has none."""

Bools: TypeAlias = NDArray[np.bool_]

FEW = 16
"""Up to this many codes are looked up one after the other; more are joined as tables."""


def codes_from(data: bytes, width: int, what: str) -> CodedIds:
    """Return bytes as rows of ``width`` bytes, without copying them.

    >>> codes_from(b"abcdef", 3, "digests").shape
    (2, 3)
    """
    if len(data) % width:
        raise AlignmentError(f"The {what} have {len(data):,} bytes in all, which is not a multiple of {width}.")
    return np.frombuffer(data, dtype=np.uint8).reshape(-1, width)


def positions(wanted: CodedIds, among: CodedIds) -> Rows:
    """Return for each wanted code its position among the others, or -1. No code may occur twice in either.

    >>> letters = lambda text: codes_from(text, 1, "letters")
    >>> positions(letters(b"xay"), letters(b"abcxz"))
    array([ 3,  0, -1])
    """
    if len(wanted) <= FEW:
        return _positions_of_few(_numbers(wanted), _numbers(among))
    left, right = _columns(wanted), _columns(among)
    both = left.with_row_index("to").join(right.with_row_index("from"), on=left.columns)
    found = np.full(len(wanted), -1, dtype=np.int64)
    found[both["to"].to_numpy()] = both["from"].to_numpy()
    return found


def refuse_repeated(codes: CodedIds, what: str) -> None:
    """Raise if a code occurs twice: no honest agent sends such a list, because ids are unique."""
    n_different = len(np.unique(_numbers(codes), axis=0)) if len(codes) <= FEW else _columns(codes).n_unique()
    if n_different < len(codes):
        raise AlignmentError(
            f"{len(codes) - n_different:,} of {len(codes):,} {what} are repeated; each must be sent once."
        )


def pack(flags: Bools) -> bytes:
    """Return truth values as bits.

    >>> unpack(pack(np.array([True, False, True])), 3, "flags")
    array([ True, False,  True])
    """
    return np.packbits(flags).tobytes()


def unpack(data: bytes, n: int, what: str) -> Bools:
    """Return ``n`` truth values from bits; the bits beyond them must be zero."""
    if len(data) != (n + 7) // 8:
        raise AlignmentError(f"The {what} have {len(data):,} bytes; {n:,} samples need {(n + 7) // 8:,}.")
    bits = np.unpackbits(np.frombuffer(data, dtype=np.uint8))
    if bits[n:].any():
        raise AlignmentError(f"The {what} speak of more than {n:,} samples.")
    return bits[:n].astype(np.bool_)


def _positions_of_few(wanted: NDArray[np.uint64], among: NDArray[np.uint64]) -> Rows:
    """Return the positions of a few codes, looked up one after the other, as in the prediction of one sample."""
    found = np.full(len(wanted), -1, dtype=np.int64)
    for place, code in enumerate(wanted):
        near = np.flatnonzero(among[:, 0] == code[0])
        here = near[(among[near] == code).all(axis=1)]
        found[place] = here[0] if len(here) else -1
    return found


def _numbers(codes: CodedIds) -> NDArray[np.uint64]:
    """Return each code as a row of 64-bit numbers."""
    n, width = codes.shape
    padded = np.zeros((n, -(-width // 8) * 8), dtype=np.uint8)
    padded[:, :width] = codes
    return padded.view(np.uint64)


def _columns(codes: CodedIds) -> pl.DataFrame:
    """Return the codes as columns of 64-bit numbers, which polars joins fast and exactly."""
    numbers = _numbers(codes)
    return pl.DataFrame({f"part {part}": numbers[:, part] for part in range(numbers.shape[1])})
