"""Load an agent from its file, check it before any work begins, and say what it has and what would leave it."""

from __future__ import annotations

import datetime as dt
import os
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass
from os import PathLike
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray
from sklearn.pipeline import Pipeline

from assistlearn.agent.file import AgentDescription, load_description
from assistlearn.agent.learner import make_learner
from assistlearn.alignment.ids import normalise, without_case
from assistlearn.alignment.samples import Minimum
from assistlearn.errors import AssistLearnError, ColumnsError, DescriptionError, OverlapError, Problems, listed
from assistlearn.tables.kinds import line_for, unread_dates, unread_decimals
from assistlearn.tables.labels import notes_on_labels, tells_labels
from assistlearn.tables.preparation import check_features, default_pipeline, learner_rows
from assistlearn.tables.reading import read_table
from assistlearn.tables.schema import Column, Kind, Schema, columns_called
from assistlearn.tables.table import Table


@dataclass(frozen=True, eq=False)
class LoadedAgent:
    """An agent that is ready to work: what its file says, its table, and its unfitted learner with preprocessing.

    The estimator is None at an initiator that has labels alone.
    """

    description: AgentDescription
    table: Table
    estimator: Any

    def rows(self) -> pl.DataFrame | NDArray[Any]:
        """Features in the form that the estimator needs; without an estimator, no columns."""
        if self.estimator is None:
            return np.empty((len(self.table), 0))
        return learner_rows(self.estimator, self.table.features)


def load_agent(
    path: str | PathLike[str] | AgentDescription,
    *,
    schema: Schema | None = None,
) -> LoadedAgent:
    r"""Read an agent's file and table, make its learner, and check all of it; nothing is fitted or written.

    With the ``schema`` of the training table, rows are read for prediction: see
    :func:`~assistlearn.tables.reading.read_table`. The estimator depends on the schema and the file only, so it is the
    one of training. The first thing that is wrong in the file or the table is raised; its ``others`` are all else that
    was found.
    """
    description = path if isinstance(path, AgentDescription) else load_description(path)
    problems, learner, table = Problems(), None, None
    with problems.gathered():
        _check_models_folder(description)
    with problems.gathered():
        learner = make_learner(description)
    if not description.learners and schema is not None and schema.columns:
        raise DescriptionError(
            f"{description.places('learner')}: the key 'learner' is missing, but the models of agent "
            f"{description.name!r} were trained with one, on {len(schema.columns)} features. Bring it back."
        )
    try:
        table = read_table(description, schema=schema)
    except AssistLearnError as error:
        problems.add(error)
    except OSError:  # the file may not be read
        problems.settle()
        raise
    if table is not None and learner is not None:
        try:
            check_features(table.features, table.schema, learner, description.preprocessing)
        except ColumnsError as error:
            problems.add(ColumnsError(f"{description.places('preprocessing')}: {table.source}: {error}"))
    problems.settle()
    assert table is not None
    if learner is None:
        return LoadedAgent(description, table, None)
    return LoadedAgent(description, table, default_pipeline(table.schema, learner, description.preprocessing))


def _check_models_folder(description: AgentDescription) -> None:
    folder = description.models
    if os.path.exists(folder) and not os.path.isdir(folder):
        raise DescriptionError(f"{description.places('models')}: models = {str(folder)!r} is a file. Name a folder.")
    upwards = (folder.absolute(), *folder.absolute().parents)
    # os.path.exists is false where this user may not look; Path.exists may raise an error
    existing = next(each for each in upwards if os.path.exists(each))
    if not os.access(existing, os.W_OK, effective_ids=os.access in os.supports_effective_ids):
        raise DescriptionError(
            f"{description.places('models')}: models cannot be kept in {folder}: {existing} is not writable. Name "
            "another folder with the key 'models', or change its rights."
        )


# What an agent has, and what others would learn about it: the facts that a check shows to the owner.


MANY_ROWS = 10
"""In a column of fewer rows, numbers may rise by one by chance."""

NO_LEARNER = "none: the agent has labels alone, and takes no turns"

STAYS = (
    "the table: no value, no column's name or type, not how many columns there are",
    "the learner, its parameters, the preprocessing and every model",
)
LEAVES = (
    "the agent's name",
    "how many ids there are, and which of them the other side holds too (by private set intersection or keyed hashes)",
)
LEAVES_TURNS = (
    "in each turn: for every shared sample, whether the new model is right (with the method soft: how likely it finds "
    "the true class; with more than two classes, each class)",
    "in each turn: the weight of the new model, and its answers for the hold-out samples",
)
LEAVES_HELPER = ("in prediction: one score per class, for every sample that is asked about",)
LEAVES_PERSONS = ("once: in which fold each shared sample to train on is, so that those of a person share a fold",)
LEAVES_WEIGHTS = ("once: the weight of every shared sample (not with the method label-private)",)
LEAVES_INITIATOR = (
    "once: the label of every shared sample, as a number; which number stands for which class is secret (with the "
    "method label-private: a label that chance has changed)",
    "in prediction: the ids of the samples that are asked about, hashed or encrypted as in training",
)


@dataclass(frozen=True)
class ColumnSummary:
    name: str
    kind: str
    missing: float
    distinct: int


@dataclass(frozen=True)
class WeightSummary:
    """The weights of the rows that have a label."""

    column: str
    least: float
    greatest: float
    zero: int


@dataclass(frozen=True)
class AgentSummary:
    """What an agent has; all of it is for its owner's eyes.

    ``missing`` is a share of all feature values; ``classes`` leaves out rows without a label (None at a helper);
    ``weights`` is None where all samples count the same; ``leaves`` and ``stays`` are what others would learn, and what
    they would not.
    """

    name: str
    role: str
    source: str
    learner: str
    rows: int
    columns: tuple[ColumnSummary, ...]
    kinds: dict[str, int]
    missing: float
    classes: dict[str, int] | None
    weights: WeightSummary | None
    preprocessing: tuple[str, ...]
    leaves: tuple[str, ...]
    stays: tuple[str, ...]
    notes: tuple[str, ...]
    fingerprint: str

    def to_dict(self) -> dict[str, Any]:
        return asdict(self)


def describe(agent: LoadedAgent, now: dt.datetime) -> AgentSummary:
    """Return what an agent has and what would leave it; ``now`` decides whether the file's permission has expired."""
    table, description = agent.table, agent.description
    columns = tuple(_column(column, table.features[column.name]) for column in table.schema.columns)
    kinds = [column.kind for column in columns]
    labels = table.labels
    return AgentSummary(
        name=description.name,
        role="initiator" if description.is_initiator else "helper",
        source=table.source,
        learner=" or ".join(learner.kind for learner in description.learners) or NO_LEARNER,
        rows=len(table),
        columns=columns,
        kinds={str(kind): kinds.count(kind) for kind in Kind if kind in kinds},
        missing=sum(column.missing for column in columns) / max(len(columns), 1),
        classes=None if labels is None else _counts(labels),
        weights=_weights(table),
        preprocessing=tuple(_steps(agent.estimator)),
        leaves=_leaves(agent),
        stays=STAYS,
        notes=tuple(_notes(agent, columns, now)),
        fingerprint=table.fingerprint,
    )


def _leaves(agent: LoadedAgent) -> tuple[str, ...]:
    table = agent.table
    if table.labels is None:
        return LEAVES + LEAVES_TURNS + LEAVES_HELPER
    turns = () if agent.estimator is None else LEAVES_TURNS
    more = (() if table.weights is None else LEAVES_WEIGHTS) + (() if table.persons is None else LEAVES_PERSONS)
    return LEAVES + turns + LEAVES_INITIATOR + more


def _weights(table: Table) -> WeightSummary | None:
    if table.weights is None or table.labels is None:
        return None
    used = table.weights.filter(table.labels.is_not_null()).to_numpy()
    return WeightSummary(table.weights.name, float(used.min()), float(used.max()), int((used == 0.0).sum()))


def _column(column: Column, values: pl.Series) -> ColumnSummary:
    known = values.drop_nulls()
    return ColumnSummary(column.name, str(column.kind), values.null_count() / max(len(values), 1), known.n_unique())


def _counts(labels: pl.Series) -> dict[str, int]:
    counted = labels.drop_nulls().value_counts(sort=True)
    return {str(label): int(count) for label, count in counted.iter_rows()}


def _steps(estimator: Any) -> Iterator[str]:
    if not isinstance(estimator, Pipeline) or "prepare" not in estimator.named_steps:
        return
    for name, branch, columns in estimator["prepare"].transformers:
        steps = [type(step).__name__ for _, step in branch.steps] if isinstance(branch, Pipeline) else [_name(branch)]
        yield f"{len(columns)} column{'s' * (len(columns) != 1)} of {name}: {', '.join(steps)}"


def _name(branch: Any) -> str:
    return "as they are" if isinstance(branch, str) else type(branch).__name__


def _notes(agent: LoadedAgent, columns: tuple[ColumnSummary, ...], now: dt.datetime) -> Iterator[str]:
    rows, labels, allow = len(agent.table), agent.table.labels, agent.description.allow
    if agent.table.left_out:
        yield f"Left out, because no row has a value: {listed(agent.table.left_out)}."
    known = agent.table.says_something()
    if known is not None:
        empty = rows - int(known.sum())
        so = "their gaps are filled" if agent.description.is_initiator else "this agent does not hold these people"
        yield f"{empty:,} of {rows:,} rows have no value in any feature: {so}."
    if agent.table.index:
        yield f"Not used as a feature, because it looks like the index of a data frame: {listed(agent.table.index)}."
    counters = [column.name for column in columns if _counts_rows(agent.table.features[column.name])]
    if counters:
        yield f"Numbers that only count the rows: {listed(counters)}. Exclude them."
    constant = [column.name for column in columns if column.distinct == 1 and column.missing == 0.0]
    if constant:
        yield f"The same value in every row: {listed(constant)}. They add nothing; exclude them."
    unique = [column.name for column in columns if column.kind == Kind.CATEGORY and 20 < column.distinct > rows / 2]
    if unique:
        yield f"Text that is different in most rows: {listed(unique)}. Exclude names, notes and the like."
    yield from _notes_on_ids(agent)
    yield from _notes_on_notation(agent)
    if labels is not None:
        yield from notes_on_labels(labels, agent.table.features)
        if labels.null_count():
            yield f"{labels.null_count():,} rows have no label: they are not trained on, and can be predicted."
    if allow is not None and allow.expired(now):
        valid = f"it was valid until {allow.until}"
        yield f"The permission under [allow] has expired ({valid}): nobody can start a run with this agent."


def _notes_on_ids(agent: LoadedAgent) -> Iterator[str]:
    ids, repeated, taken = agent.table.ids, agent.table.repeated, agent.description.duplicates
    if repeated:
        yield f"{repeated:,} rows repeat an id and are left out: the {taken} row of each id is taken (duplicates)."
    folded = without_case(ids)
    if folded.n_unique() < len(ids):
        alike = ids.filter(folded == folded.filter(folded.is_duplicated())[0])
        n_alike = int(folded.is_duplicated().sum())
        yield (
            f"{n_alike:,} ids differ only by case from another one (first: {listed(alike)}), and each is a person of "
            'its own. If they are the same, add: id_case = "ignore", and for the row to take duplicates = "first" or '
            '"last".'
        )


def _notes_on_notation(agent: LoadedAgent) -> Iterator[str]:
    """Yield which columns of text hold dates or numbers, and the line of the file by which they are read as such."""
    settings, features = agent.description.preprocessing, agent.table.features
    codes = {name for each in settings.as_category for name in columns_called(each, features.columns)}
    texts = {name: features[name] for name in agent.table.schema.categories if name not in codes}
    decimals = unread_decimals(texts)
    if decimals:
        yield (
            f"Numbers with decimal commas, read as text: {_with_examples(decimals)}. To read them as numbers, add "
            'under [preprocessing]: decimal = ","'
        )
    found = unread_dates(texts)
    known = [each for each in found if each.forms]
    if known:
        examples = {each.column: each.example for each in known}
        doubtful = [each.column for each in known if len(each.forms) > 1]
        choose = f" In {listed(doubtful)} the day or the month may come first: choose." if doubtful else ""
        yield (
            f"Dates, read as text: {_with_examples(examples)}. To read them as dates, add under [preprocessing]: "
            f"{line_for(known, settings.dates)}.{choose}"
        )
    others = {each.column: each.example for each in found if not each.forms}
    if others:
        yield (
            f"Text that looks like dates, but has no one form with four digits for the year: {_with_examples(others)}. "
            "Write these dates like this: 2020-02-29."
        )


def _with_examples(examples: dict[str, str]) -> str:
    return ", ".join(f"{name!r} ({example!r})" for name, example in examples.items())


def _counts_rows(values: pl.Series) -> bool:
    if not values.dtype.is_float() or values.has_nulls() or len(values) < MANY_ROWS:
        return False
    steps = values.diff().drop_nulls()
    return bool((steps == steps[0]).all()) and abs(steps[0]) == 1.0


# Two agents' tables on one machine, side by side: whether their ids match, and whether a helper has the label.


FEW = 0.1
"""If a helper holds a smaller share of the initiator's samples, the ids are probably written differently."""

IGNORE_CASE = 'If ids that differ only by case mean the same person, add to the files of both: id_case = "ignore".'
_CASE = "upper and lower case were the same"

_OTHER_WAYS: dict[str, Callable[[pl.Series], pl.Series]] = {
    "leading zeros were removed": lambda ids: ids.str.replace(r"^0+(\d)", "$1"),
    _CASE: without_case,
    "only letters and digits counted": lambda ids: ids.str.replace_all(r"[^\pL\pN]", ""),
    "only digits counted": lambda ids: ids.str.replace_all(r"\D", "").str.replace(r"^0+(\d)", "$1"),
}


def overlap(initiator: LoadedAgent, helper: LoadedAgent) -> int:
    own, theirs = normalise(initiator.table.ids), _held(helper)
    shared = _shared(own, theirs)
    try:
        Minimum().check(shared, len(own), f"Agent {helper.description.name!r} holds")
    except OverlapError as error:
        hint = _hint(own, theirs, shared)
        if hint:
            error.add_note(hint)
        raise
    return shared


def notes_together(initiator: LoadedAgent, helper: LoadedAgent) -> Iterator[str]:
    own, theirs = normalise(initiator.table.ids), _held(helper)
    shared, name, features = _shared(own, theirs), helper.description.name, helper.table.features.columns
    hint = _hint(own, theirs, shared)
    folded = _shared(without_case(own), without_case(theirs))
    if shared < FEW * len(own) and hint:
        yield f"{name!r} holds {shared:,} of the {len(own):,} samples. {hint}"
    elif folded > shared:
        yield (
            f"{name!r} holds {shared:,} of the {len(own):,} samples, and would hold {folded:,} if upper and lower case "
            f"were the same. {IGNORE_CASE}"
        )
    label = initiator.description.label
    if label in features:
        yield (
            f"{name!r} has a feature {label!r}, which is the name of the label. If it is the label, exclude it in its "
            "file."
        )
    copies = [column for column in features if column != label and _tells(initiator, helper, column)]
    if copies:
        yield f"{name!r} has the values of the label in {listed(copies)}. If that is the label, exclude it in its file."


def _held(helper: LoadedAgent) -> pl.Series:
    ids, known = normalise(helper.table.ids), helper.table.says_something()
    return ids if known is None else ids.filter(known)


def _shared(own: pl.Series, theirs: pl.Series) -> int:
    return int(own.is_in(theirs.implode()).sum())


def _hint(own: pl.Series, theirs: pl.Series, shared: int) -> str:
    for way, change in _OTHER_WAYS.items():
        here, there = change(own), change(theirs)
        found = _shared(here, there)
        if found > 2 * shared + 10 and here.n_unique() == len(here):
            remedy = IGNORE_CASE if way == _CASE else "Write ids in the same way in both tables."
            return f"{found:,} would match if {way}. {remedy}"
    return ""


def _tells(initiator: LoadedAgent, helper: LoadedAgent, column: str) -> bool:
    labels = initiator.table.labels
    assert labels is not None
    left = pl.DataFrame({"id": normalise(initiator.table.ids), "label": labels}).drop_nulls()
    right = pl.DataFrame({"id": normalise(helper.table.ids), "value": helper.table.features[column]})
    both = left.join(right, on="id")
    return tells_labels(both["value"], both["label"])
