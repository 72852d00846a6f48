"""The columns that an agent knows, and how they are prepared for its learner."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from assistlearn.errors import ColumnsError, SettingsError
from assistlearn.learners.model import take_rows
from assistlearn.tables.columns import FrameReader
from assistlearn.tables.preparation import (
    default_pipeline,
    has_gaps,
    has_own_steps,
    learner_rows,
    takes_codes_only,
    takes_kinds,
    takes_missing,
)
from assistlearn.tables.settings import PreprocessingSettings

Positions = NDArray[np.intp]

# -- the columns that an agent knows, given as for scikit-learn's ColumnTransformer ------------------------------------


def positions_of(columns: Any, X: Any, names: Sequence[str] | None, agent: str) -> Positions:
    """Return the positions of the columns that an agent knows.

    They are given as names, positions, a slice, a boolean mask, or a function of ``X`` that returns any of these.
    """
    if callable(columns):
        columns = columns(X)
    known = None if names is None else [str(name) for name in names]
    try:
        found = _found(columns, X.shape[1], known)
        if len(found) == 0:
            raise ColumnsError(
                f"its columns {columns!r} are empty. An agent needs at least one of the {X.shape[1]} columns of the "
                f"table. (An initiator that has labels alone is ({agent!r}, None, []).)"
            )
        if len(np.unique(found)) < len(found):
            twice = [p for p in np.unique(found) if np.count_nonzero(found == p) > 1]
            shown = [f"column {p}" if known is None else repr(known[p]) for p in twice]
            raise ColumnsError(f"its columns name {', '.join(shown)} more than once.")
    except ColumnsError as error:
        raise ColumnsError(f"Agent {agent!r}: {error}") from None
    return found


def take_columns(X: Any, positions: Positions) -> Any:
    if hasattr(X, "iloc"):
        return X.iloc[:, positions]
    if hasattr(X, "get_columns") or hasattr(X, "to_arrow"):  # polars takes lists, not arrays
        return X[:, positions.tolist()]
    if len(positions) and bool(np.all(np.diff(positions) == 1)):  # neighbours: a slice makes no copy
        return X[:, positions[0] : positions[-1] + 1]
    return X[:, positions]


def rows_held(own: Any) -> NDArray[np.bool_] | None:
    """Return which rows of an agent's table hold anything at all, or None where all do."""
    if hasattr(own, "isna"):
        missing = own.isna().to_numpy().all(axis=1)
    elif hasattr(own, "get_columns"):  # polars tells null and NaN apart
        columns = [column.is_null().to_numpy() | _is_nan(column.to_numpy()) for column in own.get_columns()]
        missing = np.logical_and.reduce(columns)
    elif isinstance(own, np.ndarray):
        missing = _is_nan(own).all(axis=1)
    else:  # what a sparse matrix leaves out is zero, not missing
        return None
    return ~missing if missing.any() else None


def _is_nan(values: NDArray[Any]) -> NDArray[np.bool_]:
    missing: NDArray[np.bool_] = np.zeros(values.shape, dtype=bool)
    if values.dtype.kind == "f":
        missing = np.isnan(values)
    elif values.dtype.kind == "O":  # None, or unequal to itself
        missing = np.array([value is None or value != value for value in values.ravel()]).reshape(values.shape)
    return missing


class AllColumns:
    """A callable that returns every column of the table, or every column that one of several agents knows."""

    def __init__(self, of: Sequence[tuple[str, Any]] | None = None) -> None:
        self.of = of

    def __call__(self, X: Any) -> Positions:
        if self.of is None:
            return np.arange(X.shape[1])
        names = [str(name) for name in X.columns] if hasattr(X, "columns") else None
        known = [positions_of(columns, X, names, agent) for agent, columns in self.of]
        return np.unique(np.concatenate(known))

    def __repr__(self) -> str:
        return "all columns"


def _found(columns: Any, n_columns: int, names: Sequence[str] | None) -> Positions:
    if isinstance(columns, slice):
        return _in_slice(columns, n_columns, names)
    if isinstance(columns, str | int | np.integer) and not isinstance(columns, bool):
        return np.array([_one(columns, n_columns, names)], dtype=np.intp)
    try:
        listed = list(columns)
    except TypeError:
        raise ColumnsError(
            f"columns must be names, positions, a slice, a boolean mask or a callable, not {columns!r}."
        ) from None
    if listed and all(isinstance(item, bool | np.bool_) for item in listed):
        if len(listed) != n_columns:
            raise ColumnsError(f"its boolean mask has {len(listed)} entries, but the table has {n_columns} columns.")
        return np.flatnonzero(listed)
    return np.array([_one(item, n_columns, names) for item in listed], dtype=np.intp)


def _one(column: Any, n_columns: int, names: Sequence[str] | None) -> int:
    if isinstance(column, str):
        return _named(column, names)
    if isinstance(column, bool | np.bool_) or not isinstance(column, int | np.integer):
        raise ColumnsError(f"{column!r} is neither a column's name nor its position.")
    position = int(column)
    if not -n_columns <= position < n_columns:
        raise ColumnsError(f"there is no column {position}. The table has {n_columns} columns, 0 to {n_columns - 1}.")
    return position % n_columns


def _named(name: str, names: Sequence[str] | None) -> int:
    if names is None:
        raise ColumnsError(
            f"column {name!r} is named, but the table has no column names. Pass a data frame, or give the positions of "
            "the columns."
        )
    if name not in names:
        more = ", ..." if len(names) > 20 else ""
        raise ColumnsError(f"there is no column {name!r}. The columns are {', '.join(map(repr, names[:20]))}{more}.")
    if names.count(name) > 1:
        raise ColumnsError(f"{name!r} is the name of {names.count(name)} columns. Give their positions instead.")
    return names.index(name)


def _in_slice(columns: slice, n_columns: int, names: Sequence[str] | None) -> Positions:
    start, stop = columns.start, columns.stop
    if isinstance(start, str):
        start = _named(start, names)
    if isinstance(stop, str):  # by name, a slice includes its end, as in pandas
        stop = _named(stop, names) + 1
    try:
        return np.arange(n_columns, dtype=np.intp)[start : stop : columns.step]
    except (TypeError, ValueError) as error:
        raise ColumnsError(f"its columns {columns!r} are not a valid slice: {error}.") from None


# -- preparing them for a learner that cannot use them unchanged, as the command line does -----------------------------


PREPROCESS = ("auto", "always", "never")
"""When to prepare an agent's columns: if its learner cannot use them unchanged, always, or never. Columns are not
prepared for a pipeline with steps of its own."""


@dataclass(frozen=True)
class Prepared:
    """An agent's learner with its preprocessing, and the reader of the agent's columns.

    Without a pipeline the estimator is the learner alone: then reading the columns by their kinds, which were found in
    all rows given to ``fit``, is enough.
    """

    agent: str
    estimator: Any
    reader: FrameReader

    def rows(self, own: Any) -> Any:
        return learner_rows(self.estimator, self.reader.read(own, f"Agent {self.agent!r}"))


def prepared(agent: str, learner: Any, own: Any, preprocess: str, abstains: bool) -> Prepared | None:
    """Return how an agent's columns are prepared for its learner; None if they are used unchanged.

    An agent that ``abstains`` on rows without any value needs nothing for the gaps in these rows.
    """
    if not _is_needed(learner, own, preprocess, abstains):
        return None
    if takes_codes_only(learner):
        name = type(learner).__name__
        raise ColumnsError(
            f"Agent {agent!r}: {name} takes category codes only, which the default preprocessing does not make. Put "
            f"your own encoder before it: make_pipeline(OrdinalEncoder(), {name}())."
        )
    settings = PreprocessingSettings()
    reader = FrameReader.found_in(own, settings, f"Agent {agent!r}")
    return Prepared(agent, default_pipeline(reader.schema, learner, settings), reader)


def check_preprocess(preprocess: Any) -> None:
    if preprocess not in PREPROCESS:
        raise SettingsError(f"preprocess={preprocess!r} must be one of {', '.join(map(repr, PREPROCESS))}.")


def may_be_prepared(learner: Any, preprocess: Any) -> bool:
    return preprocess != "never" and not has_own_steps(learner)


def _is_needed(learner: Any, own: Any, preprocess: str, abstains: bool) -> bool:
    if not may_be_prepared(learner, preprocess) or not (hasattr(own, "columns") or isinstance(own, np.ndarray)):
        return False
    if preprocess == "always" or not takes_kinds(learner, own):
        return True
    if takes_missing(learner):
        return False
    held: NDArray[np.bool_] | None = rows_held(own) if abstains else None
    return has_gaps(own if held is None else take_rows(own, np.flatnonzero(held)))
