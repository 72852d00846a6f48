"""Rotate score vectors to begin with the true class. So a state needs no labels, and one rule fits every sample."""

from __future__ import annotations

from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from assistlearn.core.votes import Codes

Number = TypeVar("Number", bound=np.generic)


def truth_first(vectors: NDArray[Number], codes: Codes) -> NDArray[Number]:
    """Return each row rotated so that it begins with the true class. The other classes follow in cyclic order.

    >>> truth_first(np.array([[10, 11, 12], [20, 21, 22]]), np.array([1, 0]))
    array([[11, 12, 10],
           [20, 21, 22]])
    """
    return _turned(vectors, codes)


def in_order(vectors: NDArray[Number], codes: Codes) -> NDArray[Number]:
    """Undo :func:`truth_first`: return the rows with their classes in the original order.

    >>> in_order(np.array([[11, 12, 10], [20, 21, 22]]), np.array([1, 0]))
    array([[10, 11, 12],
           [20, 21, 22]])
    """
    return _turned(vectors, -codes.astype(np.int64))


def _turned(vectors: NDArray[Number], by: NDArray[Any]) -> NDArray[Number]:
    n_classes = vectors.shape[1]
    columns = (np.arange(n_classes) + by.astype(np.int64)[:, np.newaxis]) % n_classes
    return np.take_along_axis(vectors, columns, axis=1)
