"""Load an agent from its file, check it before any work begins, and say what it has and what would leave it.

A :class:`LoadedAgent` is what its owner's commands look at. :class:`Holdings` are what its service and runs work with.
"""

from __future__ import annotations

import datetime as dt
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import partial
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray
from sklearn.pipeline import Pipeline

from assistlearn.agent.file import ANSWER_WITHIN, AgentDescription, Allowance, load_description, make_learner
from assistlearn.agent.limits import OwnerLimits
from assistlearn.agent.privacy import PrivacyKeeper
from assistlearn.agent.store import RunStore, note_problem
from assistlearn.alignment import Ids
from assistlearn.alignment.ids import normalise, without_case
from assistlearn.alignment.roles import Minimum
from assistlearn.core.people import Groups
from assistlearn.errors import (
    AlignmentError,
    AssistLearnError,
    ColumnsError,
    DescriptionError,
    NoConsentError,
    OverlapError,
    Problems,
    RefusedError,
    WrongKeyError,
    listed,
)
from assistlearn.tables.kinds import line_for, unread_dates, unread_decimals
from assistlearn.tables.preparation import check_features, default_pipeline, learner_rows
from assistlearn.tables.schema import Column, Kind, Schema, columns_called, notes_on_labels, tells_labels
from assistlearn.tables.table import Table, distributions, get_ready_to_read, moved, read_table


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
    :func:`~assistlearn.tables.table.read_table`. The estimator depends on the schema and the file only, so it is the
    one of training. The first thing that is wrong in the file or the table is raised; its ``others`` are all else that
    was found.
    """
    description = path if isinstance(path, AgentDescription) else load_description(path)
    problems, learner, table = Problems(), None, None
    get_ready_to_read(description)  # while the learner is imported
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


# What an agent has and never shows, made from its file; and whether its columns have moved since.


@dataclass(frozen=True)
class Holdings:
    """What an agent has, and never shows.

    Without a learner, at an initiator that has labels alone, the estimator is None and the features have no columns.
    ``allow``, given the initiator and the purpose of a run, raises ``RefusedError`` if the agent does not allow it, or
    ``NoConsentError`` if its owner can be asked for consent (and answers within ``answer_within`` days). It is called
    before every answer, except to ``Forget``.

    Without ``limits``, any amount may be asked, as where all agents are on one machine of one owner; without
    ``privacy``, anything may be told, and nothing is counted. ``min_effective`` is the least effective sample size with
    which the agent takes a turn. With ``proof``, it tells nothing about a model unless the model is better than chance
    beyond doubt, on samples that it was not fitted to (:mod:`assistlearn.agent.agent`).

    ``fingerprint`` shows a change of the table in the middle of a run. ``schema``, and what ``columns`` returns (how
    the columns are distributed), are plain values, kept with the models; ``read_as`` returns the features with the
    columns of an earlier schema, and raises if they do not fit. With ``accepts_moved_columns`` the agent votes although
    columns have moved far since training.

    ``known`` says which rows have a value in any feature: a helper does not hold the people of the others. ``groups``
    says which rows are about the same person, as far as its own table says; None where no two are. ``at_home``: this is
    the initiator's own agent in a run that it leads, so nothing that it says leaves.
    """

    name: str
    estimator: Any
    ids: Ids
    features: Any
    home: Path
    secret: bytes | None = None
    allow: Callable[[str, str], None] | None = None
    answer_within: int = ANSWER_WITHIN
    limits: OwnerLimits | None = None
    privacy: PrivacyKeeper | None = None
    min_effective: float = 0.0
    proof: bool = False
    fingerprint: str = ""
    schema: Mapping[str, Any] | None = None
    read_as: Callable[[Mapping[str, Any]], Any] | None = None
    columns: Callable[[], Mapping[str, Any]] | None = None
    accepts_moved_columns: bool = False
    known: NDArray[np.bool_] | None = None
    ignores_case: bool = False
    groups: Groups | None = None
    at_home: bool = False

    def held(self) -> tuple[Ids, NDArray[np.intp] | None]:
        """Return the ids of the people whom the agent holds as a helper, and their rows; None for all rows."""
        if self.known is None:
            return self.ids, None
        rows = np.flatnonzero(self.known)
        return Ids(self.ids.take(rows), f"Agent {self.name!r}"), rows

    def features_as(self, schema: Mapping[str, Any] | None) -> Any:
        if schema is None or schema == self.schema or self.read_as is None:
            return self.features
        return self.read_as(schema)


MIN_SECRET = 16
"""In bytes."""


def holdings_of(file: Path) -> Holdings:
    return from_loaded(load_agent(file))


def from_loaded(agent: LoadedAgent) -> Holdings:
    description, allowance = agent.description, agent.description.allow
    ids = Ids(agent.table.ids, f"Agent {description.name!r}")
    return Holdings(
        name=description.name,
        estimator=agent.estimator,
        ids=ids,
        features=agent.rows(),
        home=description.models,
        known=agent.table.says_something(),
        secret=secret_of(description),
        fingerprint=agent.table.fingerprint,
        schema=agent.table.schema.to_dict(),
        read_as=partial(_read_as, agent),
        columns=partial(distributions, agent.table.features),
        ignores_case=description.id_case == "ignore",
        groups=agent.table.groups(),
        accepts_moved_columns=description.moved_columns == "accept",
        min_effective=0 if allowance is None else allowance.min_effective,
        proof=allowance is not None and allowance.proof,
        allow=None if allowance is None else gate(description.name, allowance),
        answer_within=ANSWER_WITHIN if allowance is None else allowance.answer_within,
        limits=None if allowance is None else OwnerLimits(description.name, allowance, len(agent.table)),
        privacy=None if description.privacy is None else _keeper(description, ids),
    )


def holdings_without_table(description: AgentDescription) -> Holdings:
    """Return holdings to answer askers that are not allowed anything, in the words of the agent itself."""
    return Holdings(
        name=description.name,
        estimator=None,
        ids=Ids(["nobody"], f"Agent {description.name!r}"),  # at least one id is needed; nobody asks about it
        features=None,
        home=description.models,
        allow=_nobody(description.name) if description.allow is None else gate(description.name, description.allow),
        answer_within=ANSWER_WITHIN if description.allow is None else description.allow.answer_within,
    )


def _keeper(description: AgentDescription, ids: Ids) -> PrivacyKeeper:
    """Check the methods here: by now, those of the owner's own package are registered."""
    assert description.privacy is not None
    try:
        description.privacy.check_methods()
    except WrongKeyError as error:
        raise DescriptionError(f"{description.places('privacy', error.key)}: {error}") from None
    return PrivacyKeeper(description.name, description.privacy, description.models, ids)


def _nobody(name: str) -> Callable[[str, str], None]:
    def refuse(initiator: str, purpose: str) -> None:
        raise RefusedError(
            f"Agent {name!r} works for nobody: its file does not say who may start runs with it ([allow])."
        )

    return refuse


def _read_as(agent: LoadedAgent, schema: Mapping[str, Any]) -> Any:
    description = agent.description
    again = load_agent(description, schema=Schema.from_dict(schema))
    if not again.table.ids.equals(agent.table.ids):
        raise AlignmentError(f"Agent {description.name!r}: its table changed while it was being read. Try again.")
    return again.rows()


def secret_of(description: AgentDescription) -> bytes | None:
    if description.secret is None:
        return None
    try:
        secret = description.secret.read_bytes().strip()
    except OSError as error:
        raise DescriptionError(
            f"{description.places('secret')}: the secret cannot be read: {error}. All agents need the same file."
        ) from None
    if len(secret) < MIN_SECRET:
        raise DescriptionError(
            f"{description.places('secret')}: the secret has {len(secret)} bytes; at least {MIN_SECRET} are needed. "
            "Make one: openssl rand -hex 32 > shared.key"
        )
    return secret


def gate(
    name: str, allowance: Allowance, clock: Callable[[], datetime] = lambda: datetime.now(UTC)
) -> Callable[[str, str], None]:
    """Return a check that raises ``NoConsentError``, where the owner can be asked for consent, or ``RefusedError``."""
    unknown = RefusedError if allowance.unknown == "refuse" else NoConsentError

    def check(initiator: str, purpose: str) -> None:
        known = initiator in allowance.initiators
        if allowance.expired(clock()) and (known or unknown is NoConsentError):
            raise RefusedError(
                f"Agent {name!r}: its owner's permission has expired: it was valid until {allowance.until}."
            )
        if not known:
            raise unknown(f"Agent {name!r} does not work for {initiator!a}, but for {list(allowance.initiators)}.")
        if allowance.purpose is not None and purpose != allowance.purpose:
            raise unknown(f"Agent {name!r} works for the purpose {allowance.purpose!r} only, not {purpose!r}.")

    return check


def moved_columns(own: Holdings, store: RunStore) -> list[str]:
    """Return in words for the owner which columns have moved far since a run was trained."""
    then = store.columns()
    if then is None or own.columns is None or store.fingerprint() == own.fingerprint:
        return []
    return moved(then, own.columns())


def check_columns(own: Holdings, store: RunStore) -> None:
    """Tell the owner which columns have moved far, and refuse to vote with them unless the owner accepts it.

    Others are not told which columns these are, or how they have moved.
    """
    words = moved_columns(own, store)
    if not words:
        return
    lines = "".join(f"  {each}\n" for each in words)
    told = f"Run {store.folder.name!r}: the table has changed since training, as if units had changed:\n{lines}"
    note_problem(own.home, told)
    if not own.accepts_moved_columns:
        raise AlignmentError(
            f"Agent {own.name!r}: {len(words)} of the columns of its table have moved far since training, as if their "
            "units had changed. Its votes would mean nothing. Its owner finds the columns in problems.log, and "
            'corrects the table, or accepts the change: moved_columns = "accept" in the agent file.'
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


def describe(agent: LoadedAgent, now: dt.datetime) -> dict[str, Any]:
    """Return, as plain values, what an agent has and what would leave it; all of it is for its owner's eyes.

    ``missing`` is a share of all feature values; ``classes`` leaves out rows without a label (None at a helper);
    ``weights``, of the rows that have a label, is None where all samples count the same; ``leaves`` and ``stays`` are
    what others would learn, and what they would not. ``now`` decides whether the file's permission has expired.
    """
    table, description = agent.table, agent.description
    columns = [_column(column, table.features[column.name]) for column in table.schema.columns]
    kinds = [column.kind for column in table.schema.columns]
    return {
        "name": description.name,
        "role": "initiator" if description.is_initiator else "helper",
        "source": table.source,
        "learner": " or ".join(learner.kind for learner in description.learners) or NO_LEARNER,
        "rows": len(table),
        "columns": columns,
        "kinds": {str(kind): kinds.count(kind) for kind in Kind if kind in kinds},
        "missing": sum(column["missing"] for column in columns) / max(len(columns), 1),
        "classes": None if table.labels is None else _counts(table.labels),
        "weights": _weights(table),
        "preprocessing": tuple(_steps(agent.estimator)),
        "leaves": _leaves(agent),
        "stays": STAYS,
        "notes": tuple(_notes(agent, columns, now)),
        "fingerprint": table.fingerprint,
    }


def _leaves(agent: LoadedAgent) -> tuple[str, ...]:
    table = agent.table
    if table.labels is None:
        return LEAVES + LEAVES_TURNS + LEAVES_HELPER
    turns = () if agent.estimator is None else LEAVES_TURNS
    more = (() if table.weights is None else LEAVES_WEIGHTS) + (() if table.persons is None else LEAVES_PERSONS)
    return LEAVES + turns + LEAVES_INITIATOR + more


def _weights(table: Table) -> dict[str, Any] | None:
    if table.weights is None or table.labels is None:
        return None
    used = table.weights.filter(table.labels.is_not_null()).to_numpy()
    least, greatest = float(used.min()), float(used.max())
    return {"column": table.weights.name, "least": least, "greatest": greatest, "zero": int((used == 0.0).sum())}


def _column(column: Column, values: pl.Series) -> dict[str, Any]:
    distinct, missing = values.drop_nulls().n_unique(), values.null_count() / max(len(values), 1)
    return {"name": column.name, "kind": str(column.kind), "missing": missing, "distinct": distinct}


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


def _notes(agent: LoadedAgent, columns: Sequence[Mapping[str, Any]], now: dt.datetime) -> Iterator[str]:
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
    counters = [name for name, values in agent.table.features.to_dict().items() if _counts_rows(values)]
    if counters:
        yield f"Numbers that only count the rows: {listed(counters)}. Exclude them."
    constant = [column["name"] for column in columns if column["distinct"] == 1 and column["missing"] == 0.0]
    if constant:
        yield f"The same value in every row: {listed(constant)}. They add nothing; exclude them."
    texts = [column for column in columns if column["kind"] == Kind.CATEGORY]
    unique = [column["name"] for column in texts if 20 < column["distinct"] > rows / 2]
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
