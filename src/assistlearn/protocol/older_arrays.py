"""Arrays as older releases wrote them: read from one's own disk, never from the network."""

from __future__ import annotations

from typing import Literal

import constriction
import msgspec
import numpy as np
from numpy.typing import NDArray

from assistlearn.core.quantise import DTYPES
from assistlearn.errors import ProtocolError
from assistlearn.protocol.arrays import ClassCodes, check_number, decoded, pack_codes, unpack_codes
from assistlearn.protocol.levels import Levels, plain_levels


class ClassCodesOfVersion3(msgspec.Struct, frozen=True, forbid_unknown_fields=True, array_like=True, tag="codes"):
    """Class codes, one or two bytes each."""

    n: int
    n_classes: int
    data: bytes

    def now(self) -> ClassCodes:
        """Return the same codes as they are packed now."""
        plain = ClassCodes(self.n, self.n_classes, False, self.data)
        return pack_codes(unpack_codes(plain, self.n, self.n_classes), self.n_classes)


class LevelsOfVersion3(msgspec.Struct, frozen=True, forbid_unknown_fields=True, array_like=True, tag="levels"):
    """Quantised numbers. Where they were entropy-coded, they came with a table of how often each level occurs.

    The table lists the levels that occur, in order (plus 128, one byte each), then how often each does (four bytes
    each).
    """

    n: int
    bits: int
    scale: float
    coding: Literal["raw", "range"]
    counts: bytes
    data: bytes

    def now(self) -> Levels:
        """Return the same levels, not entropy-coded, because today's coding depends on the labels."""
        if self.coding == "raw":
            return Levels(self.n, self.bits, self.scale, False, self.data)
        counts = _counts(self.counts)
        check_number("counted levels", int(counts.sum()), self.n)
        if self.bits > 8 or self.n < 1:
            raise ProtocolError(f"{self.n} levels of {self.bits} bits must be sent plain, not entropy-coded.")
        model = constriction.stream.model.Categorical(counts / counts.sum(), perfect=False)
        values = decoded(self.data, model, self.n, self.n * self.bits // 8)
        return plain_levels((values - 128).astype(DTYPES[self.bits]), self.bits, self.scale)


def _counts(data: bytes) -> NDArray[np.int64]:
    there = np.frombuffer(data[: len(data) // 5], np.uint8).astype(np.int64)
    if len(data) % 5 or (np.diff(there) <= 0).any():
        raise ProtocolError("The counts of levels are not in order, each level once.")
    counts = np.zeros(256, np.int64)
    counts[there] = np.frombuffer(data[len(there) :], "<u4")
    return counts
