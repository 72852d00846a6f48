"""Who is the same person: the groups that a caller names, or rows that repeat others too exactly for chance.

A row that occurs again, in training samples that were drawn with replacement or where a person was entered twice, tells
its label to every model that has seen the other one. So such rows are kept together.

Not every repeated row is a repeated person. In a table of few discrete columns, different people look alike, and so
will the people to predict. Folds without anybody who looks like that would tell too little there. So a row counts as a
repeated person only if chance is out of the question: the columns are divided into two halves that tell about the same
amount, and the values in either half alone occur in no other row. This must hold for nearly all rows that are repeated.
And the labels of copies must agree.

Where agents lack people, a row may have gaps in all of one half. Then the other half alone must tell it apart, and the
rows with values in both halves show whether the columns can. A row of gaps alone is about nobody in particular.
"""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import issparse
from sklearn.utils.validation import _num_samples, column_or_1d

from assistlearn.core.groups import Groups, groups_of
from assistlearn.core.ignorance import Bools
from assistlearn.core.votes import Codes
from assistlearn.errors import AssistLearnWarning, SettingsError
from assistlearn.estimators.checks import is_missing
from assistlearn.learners.weighting import take_rows

LEAST_REPEATS, LEAST_SHARE = 5, 0.01
"""Fewer repeated rows than this, in number or as a share, are left alone: they change hardly anything."""

LEAST_DIFFERENT, MOST_COPIES = 20, 10
"""With fewer different rows, or more copies of each on average, rows stand for kinds of people, not for persons."""

LEAST_CERTAIN = 0.9
"""The least share of the repeated rows that must be beyond doubt; if fewer are, chance has repeated rows, too."""

MOST_DISAGREEMENT = 0.5
"""Copies whose labels differ more than this share of what chance would do are not taken for one person."""

GLANCE = 1_000
"""How many different rows are looked at to find out how much a column tells."""

_ODD = np.uint64(0x9E3779B97F4A7C15)
_Hashes = NDArray[np.uint64]


def who_is_who(X: Any, codes: Codes, groups: Any) -> Groups | None:
    """Return which rows are about the same person: as the caller says, or where rows repeat others beyond chance.

    Where the rows say so, a warning tells how many, and how to say otherwise. Called by a function that a user calls.
    """
    if groups is not None:
        return check_groups(groups, len(codes))
    found = repeated_people(X, codes)
    if found is not None:
        warnings.warn(
            f"{len(codes) - int(found.max()) - 1:,} of the {len(codes):,} rows repeat an earlier row in all columns, "
            "too exactly for chance. They are taken to be the same persons, and kept together in folds and hold-out "
            "samples. Say who is who by groups=...; groups=range(len(X)) says that all are different persons.",
            AssistLearnWarning,
            stacklevel=3,
        )
    return found


def check_groups(groups: Any, n_samples: int) -> Groups | None:
    """Return the groups that a caller has named, numbered; None where every row is a person of its own.

    >>> check_groups(["ann", "bob", "ann"], 3)
    array([0, 1, 0])
    """
    named = column_or_1d(groups)
    if len(named) != n_samples:
        raise SettingsError(f"groups has {len(named)} entries, but X has {n_samples} rows. Give one for each row.")
    missing = [row for row, each in enumerate(named.tolist()) if is_missing(each)] if named.dtype.kind in "Of" else []
    if missing:
        raise SettingsError(
            f"groups has no entry for {len(missing)} rows (first: row {missing[0]}). Name the person of each row, also "
            "of those who occur once."
        )
    try:
        return groups_of(named)
    except TypeError:
        raise SettingsError(
            "groups mixes texts and other values. Name all persons by texts, or all by numbers."
        ) from None


def repeated_people(X: Any, codes: Codes) -> Groups | None:
    """Return the groups of rows that are the same person beyond doubt; None where there are none, or hardly any.

    >>> rng = np.random.default_rng(0)
    >>> X, codes = rng.normal(size=(40, 4)), rng.integers(2, size=40)
    >>> twice = np.arange(80) % 40
    >>> len(np.unique(repeated_people(X[twice], codes[twice])))
    40
    >>> repeated_people(X, codes) is None, repeated_people(X[twice] > 0, codes[twice]) is None
    (True, True)
    """
    n, n_columns = _num_samples(X), X.shape[1]
    enough = max(LEAST_REPEATS, LEAST_SHARE * n)
    if n_columns < 2 or n < LEAST_DIFFERENT + enough:
        return None
    numeric = [column for column in range(n_columns) if not issparse(X) and _column(X, column).dtype.kind in "fiub"]
    if numeric and n - len(np.unique(_hashes(X, numeric)[0])) < enough:  # texts take longer
        return None
    _, first, groups, copies = np.unique(
        _hashes(X, range(n_columns))[0], return_index=True, return_inverse=True, return_counts=True
    )
    if n - len(first) < enough or len(first) < LEAST_DIFFERENT or n > MOST_COPIES * len(first):
        return None
    alone, whole = _beyond_doubt(take_rows(X, first))
    persons = (alone & (copies > 1))[groups]
    certain, judged = (int((copies[which] - 1).sum()) for which in (alone & whole, whole))
    if certain < max(enough, LEAST_CERTAIN * judged) or _disagree(groups[persons], codes[persons]):
        return None
    unclear = np.flatnonzero(~(alone | whole)[groups])
    groups[unclear] = len(first) + np.arange(len(unclear))
    return groups_of(groups)


def _beyond_doubt(rows: Any) -> tuple[Bools, Bools]:
    """Return which of these rows, which all differ, no other row is like in either half of the columns.

    A half of gaps says nothing for or against; the second answer is which rows have values in both halves.
    """
    glance = take_rows(rows, slice(0, GLANCE))
    told: dict[Any, tuple[int, int]] = {}  # columns that say the same in other words count once
    for column in range(rows.shape[1]):
        _, first, which = np.unique(_hashes(glance, [column])[0], return_index=True, return_inverse=True)
        apart = len(first) == _num_samples(glance)  # then it says who the person is, as other columns may
        told.setdefault(column if apart else first[which].tobytes(), (len(first), column))
    by_worth = [column for _, column in sorted(told.values(), reverse=True)]
    alone = np.full(_num_samples(rows), len(by_worth) > 1)
    known = []
    for half in (by_worth[::2], by_worth[1::2]):
        hashes, says, there = _hashes(rows, half)
        _, which, others = np.unique(hashes, return_inverse=True, return_counts=True)
        alone &= ~there | (says & (others[which] == 1))
        known.append(there)
    return alone & np.any(known, axis=0), np.all(known, axis=0)


def _disagree(groups: Groups, codes: Codes) -> bool:
    """Whether labels within groups differ nearly as often as those of any two rows."""
    _, sizes = np.unique(groups, return_counts=True)
    _, of_pair = np.unique(np.column_stack([groups, codes]), axis=0, return_counts=True)
    _, of_class = np.unique(codes, return_counts=True)
    pairs = float((sizes * (sizes - 1)).sum())
    differ = pairs - float((of_pair * (of_pair - 1)).sum())
    by_chance = 1.0 - float(((of_class / len(codes)) ** 2).sum())
    return differ > MOST_DISAGREEMENT * by_chance * pairs


def _hashes(X: Any, columns: Any) -> tuple[_Hashes, Bools, Bools]:
    """Return a number for each row's values in some columns; whether any is neither missing nor zero; or is there."""
    n = _num_samples(X)
    if issparse(X):
        part = X.tocsr()[:, list(columns)].copy()
        part.eliminate_zeros()
        sums = np.concatenate([[np.uint64(0)], np.cumsum(_mixed(_numbers(part.data)[0], part.indices))])
        return sums[part.indptr[1:]] - sums[part.indptr[:-1]], np.diff(part.indptr) > 0, np.ones(n, dtype=bool)
    total, says, known = np.zeros(n, dtype=np.uint64), np.zeros(n, dtype=bool), np.zeros(n, dtype=bool)
    for column in columns:
        values, there = _numbers(_column(X, column))
        total += _mixed(values, np.full(1, column))
        known |= there
        says |= there & (values != 0)
    return total, says, known


def _mixed(numbers: _Hashes, column: NDArray[Any]) -> _Hashes:
    """Return numbers that look random, other ones for every column: their sum tells rows apart."""
    mixed = numbers + (column.astype(np.uint64) + np.uint64(1)) * _ODD
    for shift in (30, 27):
        mixed = (mixed ^ (mixed >> np.uint64(shift))) * np.uint64(0xBF58476D1CE4E5B9)
    out: _Hashes = mixed ^ (mixed >> np.uint64(31))
    return out


def _column(X: Any, column: int) -> NDArray[Any]:
    if hasattr(X, "iloc"):
        return np.asarray(X.iloc[:, column])
    if hasattr(X, "get_columns") or hasattr(X, "to_arrow"):
        return np.asarray(X[:, column].to_numpy())
    return np.asarray(X[:, column])


def _numbers(values: NDArray[Any]) -> tuple[_Hashes, Bools]:
    """Return a number for each value, the same for equal ones and zero for zero, and whether it is not missing."""
    if values.dtype.kind in "fiub":
        found = values.astype(np.float64) + 0.0  # minus zero is zero
        missing = np.isnan(found)
        found[missing] = np.nan
        return found.view(np.uint64), ~missing
    listed = values.tolist()
    places: dict[Any, int] = {}
    try:
        numbers = [places.setdefault(each, len(places) + 1) for each in listed]
    except TypeError:  # lists, say
        numbers = [places.setdefault(repr(each), len(places) + 1) for each in listed]
    return np.array(numbers, dtype=np.uint64), ~np.array([is_missing(each) for each in listed], dtype=bool)
