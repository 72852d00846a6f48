"""Checks of an estimator's parameters, labels and persons, before any work begins."""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Mapping, Sequence, Sized
from dataclasses import dataclass
from numbers import Integral
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import issparse
from sklearn.base import is_classifier
from sklearn.tree import DecisionTreeClassifier
from sklearn.utils import check_random_state
from sklearn.utils.class_weight import compute_class_weight
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import _check_sample_weight, _num_samples, assert_all_finite, column_or_1d

from assistlearn.core.labels import without_scale
from assistlearn.core.people import Groups, groups_of
from assistlearn.errors import AssistLearnWarning, ColumnsError, SettingsError, listed
from assistlearn.evaluation.constancy import changed
from assistlearn.learners.model import MAX_SEED, take_rows
from assistlearn.methods.label_private import caution
from assistlearn.plan import SETTINGS
from assistlearn.session.judging import Votes
from assistlearn.tables import preparation
from assistlearn.tables.columns import FrameReader
from assistlearn.tables.schema import notes_on_classes
from assistlearn.tables.settings import PreprocessingSettings
from assistlearn.types import Bools, Codes, Floats

# The columns that an agent knows, and how they are prepared for its learner.

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
        return preparation.learner_rows(self.estimator, self.reader.read(own, f"Agent {self.agent!r}"))


def prepared(agent: str, learner: Any, own: Any, preprocess: str, abstains: bool) -> Prepared | None:
    """Return how an agent's columns are prepared for its learner; None if they are used unchanged.

    An agent that ``abstains`` on rows without any value needs nothing for the gaps in these rows.
    """
    if not _is_needed(learner, own, preprocess, abstains):
        return None
    if preparation.takes_codes_only(learner):
        name = type(learner).__name__
        raise ColumnsError(
            f"Agent {agent!r}: {name} takes category codes only, which the default preprocessing does not make. Put "
            f"your own encoder before it: make_pipeline(OrdinalEncoder(), {name}())."
        )
    settings = PreprocessingSettings()
    reader = FrameReader.found_in(own, settings, f"Agent {agent!r}")
    return Prepared(agent, preparation.default_pipeline(reader.schema, learner, settings), reader)


def check_preprocess(preprocess: Any) -> None:
    if preprocess not in PREPROCESS:
        raise SettingsError(f"preprocess={preprocess!r} must be one of {', '.join(map(repr, PREPROCESS))}.")


def may_be_prepared(learner: Any, preprocess: Any) -> bool:
    return preprocess != "never" and not preparation.has_own_steps(learner)


def _is_needed(learner: Any, own: Any, preprocess: str, abstains: bool) -> bool:
    if not may_be_prepared(learner, preprocess) or not (hasattr(own, "columns") or isinstance(own, np.ndarray)):
        return False
    if preprocess == "always" or not preparation.takes_kinds(learner, own):
        return True
    if preparation.takes_missing(learner):
        return False
    held: NDArray[np.bool_] | None = rows_held(own) if abstains else None
    return preparation.has_gaps(own if held is None else take_rows(own, np.flatnonzero(held)))


ALWAYS_RIGHT = (
    "Every agent's model was right about every training sample, so that the agents had nothing to tell each other. "
    "If their learners memorise the training samples, pass reward='out-of-fold' (or 'auto')."
)
"""A message for the log, not a warning: on an easy problem this is normal."""

AgentSpec: TypeAlias = tuple[str, Any, Any]


def check_agents(agents: Any) -> list[AgentSpec]:
    """Check the agents and return them as a list. None means one agent with all columns and trees of depth one."""
    if agents is None:
        return [("agent", DecisionTreeClassifier(max_depth=1), AllColumns())]
    if not isinstance(agents, Iterable):
        raise SettingsError(f"agents must be a list of (name, estimator, columns), not {agents!r}.")
    agents = list(agents)
    for item in agents:
        if not (isinstance(item, tuple | list) and len(item) == 3 and isinstance(item[0], str)):
            raise SettingsError(f"agents must be a list of (name, estimator, columns), but it holds {item!r}.")
        if not item[0].strip() or not item[0].isprintable():
            raise SettingsError(f"An agent's name must be a text that can be printed; {item[0]!r} is not.")
        if item[1] is None and item is agents[0]:
            _check_label_only(item[0], item[2], n_helpers=len(agents) - 1)
        elif isinstance(item[1], type) or not hasattr(item[1], "fit") or not is_classifier(item[1]):
            raise SettingsError(
                f"Agent {item[0]!r}: {item[1]!r} is not a classifier. Pass an instance, for example "
                "DecisionTreeClassifier()."
            )
    if not agents:
        raise SettingsError("agents is empty: at least one agent, the initiator, is needed.")
    return [(name, estimator, columns) for name, estimator, columns in agents]


def has_labels_alone(agents: Any) -> bool:
    """Return whether the first agent, the initiator, has labels but no learner. It then takes no turns."""
    return check_agents(agents)[0][1] is None


def _check_label_only(name: str, columns: Any, n_helpers: int) -> None:
    if not (isinstance(columns, Sized) and not isinstance(columns, str) and len(columns) == 0):
        raise SettingsError(
            f"Agent {name!r}: None is not a classifier. Pass an instance, for example DecisionTreeClassifier(), for "
            f"its columns {columns!r}. An initiator that has labels alone, and takes no turns, is ({name!r}, None, [])."
        )
    if n_helpers == 0:
        raise SettingsError(f"Agent {name!r} has only labels, and there is nobody to help it. Add a helper.")


def check_labels(y: Any, estimator_name: str) -> Any:
    labels = column_or_1d(y, warn=True)
    rows = [] if labels.dtype.kind not in "Of" else [i for i, label in enumerate(labels.tolist()) if is_missing(label)]
    if rows:
        verb, row, it = ("is", "row", "it") if len(rows) == 1 else ("are", "rows", "them")
        which = f"{row} {listed(rows, at_most=5)}"
        raise SettingsError(
            f"Input y contains NaN: {len(rows)} of {len(labels)} labels {verb} missing ({which}). Leave {it} out, or "
            f"label {it}."
        )
    if labels.dtype.kind == "O" and len({isinstance(label, str) for label in labels.tolist()}) > 1:
        numbers = [label for label in labels.tolist() if not isinstance(label, str)]
        raise SettingsError(
            f"Input y mixes texts and {len(numbers)} other values (first: {numbers[0]!r}). Write all labels as texts, "
            "or all as numbers."
        )
    assert_all_finite(labels, input_name="y", estimator_name=estimator_name)
    check_classification_targets(labels)
    return labels


def warn_of_labels(classes: Any) -> None:
    """Warn of labels that are probably no classes: a single one, many numbers, or texts that differ only by case."""
    plain = [label.item() if isinstance(label, np.generic) else label for label in classes]
    notes = notes_on_classes(plain)
    if len(plain) == 1:
        notes.append(f"All labels are {plain[0]!r}: there is nothing to learn, and every prediction is that.")
    for note in notes:
        warnings.warn(f"y: {note}", AssistLearnWarning, stacklevel=3)


def is_missing(label: Any) -> bool:
    nan = isinstance(label, float) and label != label
    return label is None or nan or type(label).__name__ in ("NAType", "NaTType")


def check_sample_weight(sample_weight: Any, X: Any) -> Floats | None:
    """Return the initial weights as an array without their scale, or None: equal weights are no weights."""
    if sample_weight is None:
        return None
    weight: Floats = _check_sample_weight(sample_weight, X, dtype=np.float64, ensure_non_negative=True)
    if not weight.sum() > 0.0:
        raise SettingsError("Every sample_weight is zero: there is nothing to learn from.")
    return without_scale(weight)


def drawn_seed(random_state: Any) -> int:
    if not isinstance(random_state, Integral):
        return int(check_random_state(random_state).randint(MAX_SEED))
    complaint = SETTINGS["seed"].check(random_state)
    if complaint is not None:
        raise SettingsError(f"random_state={random_state!r} cannot be a seed: it {complaint}")
    return int(random_state)


def class_factors(class_weight: Mapping[Any, float], classes: Any, labels: Any) -> dict[int, float]:
    try:
        factors = compute_class_weight(dict(class_weight), classes=classes, y=labels).astype(float)
    except (TypeError, ValueError) as error:
        raise SettingsError(f"class_weight={class_weight!r} cannot be used: {error}") from None
    if not ((factors >= 0.0) & np.isfinite(factors)).all() or not factors.any():
        raise SettingsError(
            f"class_weight={class_weight!r} must have finite numbers of at least 0, and not all of them may be 0."
        )
    return dict(enumerate(factors.tolist()))


def find_columns(agents: Sequence[AgentSpec], X: Any, names: Sequence[str] | None) -> dict[str, Positions]:
    found = {
        name: np.empty(0, dtype=np.intp) if estimator is None else positions_of(columns, X, names, name)
        for name, estimator, columns in agents
    }
    unknown = np.setdiff1d(np.arange(X.shape[1]), np.concatenate(list(found.values())))
    if len(unknown) and len(agents) > 1:
        shown = [repr(str(names[i])) if names is not None else str(i) for i in unknown[:10]]
        more = f" and {len(unknown) - 10} more" if len(unknown) > 10 else ""
        warnings.warn(
            f"No agent knows {len(unknown)} of the {X.shape[1]} columns: {', '.join(shown)}{more}. They are not used.",
            AssistLearnWarning,
            stacklevel=3,
        )
    return found


def warn_nothing_learned(n_classes: int) -> None:
    warnings.warn(
        "No model was kept: no agent's model was better than chance, "
        f"that is, right on more than 1/{n_classes} of the ignorance. "
        "Predictions are the most frequent class. Give the agents other columns or learners.",
        AssistLearnWarning,
        stacklevel=3,
    )


def warn_large_epsilon(epsilon: float) -> None:
    words = caution(epsilon)
    if words:
        warnings.warn(words, AssistLearnWarning, stacklevel=4)


def warn_of_changed_votes(then: Mapping[str, Floats], said: Mapping[str, Votes]) -> None:
    """Name the helpers that vote otherwise than in training, and say how to predict without them.

    Each table that is predicted is a look of its own, with the whole rate of false alarms.
    """
    now = {name: each.scores / each.weight for name, each in said.items() if each.weight > 0.0}
    found = changed(then, now, next(iter(said)))
    if found:
        rest = [name for name in said if name not in {each.helper for each in found}]
        words = " ".join(str(each) for each in found)
        warnings.warn(f"{words} For predictions without: subset({rest}).", AssistLearnWarning, stacklevel=4)


# -- who is the same person: the groups that a caller names, or rows that repeat others too exactly for chance ---------
# A row that occurs again, in training samples that were drawn with replacement or where a person was entered twice,
# tells its label to every model that has seen the other one. So such rows are kept together.
#
# Not every repeated row is a repeated person. In a table of few discrete columns, different people look alike, and so
# will the people to predict. Folds without anybody who looks like that would tell too little there. So a row counts as
# a repeated person only if chance is out of the question: the columns are divided into two halves that tell about the
# same amount, and the values in either half alone occur in no other row. This must hold for nearly all rows that are
# repeated. And the labels of copies must agree.
#
# Where agents lack people, a row may have gaps in all of one half. Then the other half alone must tell it apart, and
# the rows with values in both halves show whether the columns can. A row of gaps alone is about nobody in particular.


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
    """Return the groups that a caller has named, numbered; None where every row is a person of its own."""
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
    """Return the groups of rows that are the same person beyond doubt; None where there are none, or hardly any."""
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
