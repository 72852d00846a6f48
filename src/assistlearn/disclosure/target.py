"""What an attacker guesses about a column: a question with two answers, for numbers as well as for other values."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from assistlearn.core.ignorance import Bools, Floats


@dataclass(frozen=True, eq=False)
class Target:
    """What an attacker wants to guess about a column.

    Attributes
    ----------
    what : str
        What is guessed, in words.
    positive : ndarray of bool of shape (n_samples,)
        The answer; false where the value is missing.
    present : ndarray of bool of shape (n_samples,)
        Where the column has a value.
    numbers : ndarray or None
        The values themselves, where the column has more than two different numbers. Their order can be guessed, too.
    """

    what: str
    positive: Bools
    present: Bools
    numbers: Floats | None


def target_of(values: NDArray[Any]) -> Target | None:
    """Return what is guessed about a column; None where all its values are the same.

    Of more than two different numbers, the attacker guesses which lie above the median (or at it, where that divides
    the samples more evenly). Of two different numbers, it guesses which is the larger. Of other values, it guesses
    which is the most frequent value.

    Parameters
    ----------
    values : ndarray
        Numbers (NaN: missing) or text (None: missing).

    Examples
    --------
    >>> target = target_of(np.array([3.0, 1.0, 2.0, 8.0]))
    >>> target.what, target.positive.tolist()
    ('above the median', [True, False, False, True])
    >>> target_of(np.array(["a", "b", "a", None], dtype=object)).positive.tolist()
    [True, False, True, False]
    """
    numeric = values.dtype.kind in "fiub"
    present = np.isfinite(values.astype(float)) if numeric else np.array([value is not None for value in values])
    known = values[present]
    distinct, counts = np.unique(known if numeric else known.astype(str), return_counts=True)
    if len(distinct) < 2:
        return None
    if numeric and len(distinct) > 2:
        numbers = values.astype(float)
        return Target("above the median", _upper_half(numbers, present), present, numbers)
    if numeric:
        return Target("the larger value", present & (values == distinct[1]), present, None)
    frequent = distinct[int(np.argmax(counts))]
    return Target("the most frequent value", present & (values == frequent), present, None)


def _upper_half(numbers: Floats, present: Bools) -> Bools:
    """Return which numbers lie above the median, or at it or above, if these are nearer to half of the samples."""
    median = np.median(numbers[present])
    with np.errstate(invalid="ignore"):
        above, beyond = present & (numbers > median), present & (numbers >= median)
    half = np.count_nonzero(present) / 2
    return min((above, beyond), key=lambda upper: abs(np.count_nonzero(upper) - half))
