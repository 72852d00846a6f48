"""The best split of a node, from the sums of its samples' weights."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from assistlearn.core.ignorance import Floats


@dataclass(frozen=True)
class PossibleSplit:
    """A possible split, and the weight of each class on both sides. Where no split helps, its gain is about zero."""

    gain: float
    column: int
    bin: int
    missing_left: bool
    left: Floats
    right: Floats


def best_split(sums: Floats, first_column: int) -> PossibleSplit:
    """Return the best split of a node from its weights by column, class and bin."""
    known, missing = sums[:, :, :-1], sums[:, :, -1:]
    left = np.cumsum(known, axis=2)
    right = np.zeros_like(left)  # summed from the other end: exactly zero where nothing is left
    np.cumsum(known[:, :, :0:-1], axis=2, out=right[:, :, -2::-1])
    sides = [(left, right + missing)]
    if missing.any():
        sides.append((left + missing, right))
    gains = np.stack([_purity(one) + _purity(other) for one, other in sides])
    total = sums[0].sum(axis=1)
    way, column, bin = np.unravel_index(np.argmax(gains), gains.shape)
    to_left, to_right = (side[column, :, bin] for side in sides[way])
    seen_missing = bool(missing[column].any())
    return PossibleSplit(
        float(gains[way, column, bin] - _purity(total[None, :, None])[0, 0]),
        first_column + int(column),
        int(bin) + 1,
        bool(way) if seen_missing else bool(to_left.sum() > to_right.sum()),
        to_left,
        to_right,
    )


def _purity(weights: Floats) -> Floats:
    """Return the sum of the squared weights of the classes (second axis) over their sum; zero where that is zero."""
    total = weights.sum(axis=1)
    squares = np.einsum("ckb,ckb->cb", weights, weights)
    out: Floats = np.divide(squares, total, out=np.zeros_like(total), where=total > 0.0)
    return out
