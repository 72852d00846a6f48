"""An agent as its owner describes it, in a small TOML file."""

from __future__ import annotations

import datetime as dt
import importlib
import importlib.util
import inspect
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from os import PathLike
from pathlib import Path
from types import ModuleType
from typing import Annotated, Any, Literal, TypeAlias

import msgspec
from msgspec import Meta

from assistlearn.errors import LearnerError, Problems, WrongKeyError, did_you_mean, listed
from assistlearn.extras import install_line
from assistlearn.methods import names
from assistlearn.plan import LARGEST_EPSILON
from assistlearn.tables.settings import (
    ENDINGS,
    FeatureChoice,
    PreprocessingSettings,
    ReadingLimits,
    TableDescription,
    TableFile,
    TableQuery,
    TableUrl,
    check_database_url,
    check_path,
    check_table_url,
    is_url,
)
from assistlearn.toml import Count, Places, Text, from_toml, read_toml_file

MIN_EFFECTIVE = 3
"""On how many people the ignorance must lie for an agent to take a turn, where its owner says nothing else."""

ANSWER_WITHIN = 14
"""Days, where the owner does not say."""

Most: TypeAlias = Count | Annotated[str, Meta(pattern=r"\Anone\Z", description='"none"')] | None
"""How much is allowed: a number, ``"none"`` for no limit, or None where the file does not say."""


class Allowance(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The table ``[allow]`` of an agent's file: who may start runs with it, for what, how much, until when.

    A run of another initiator than ``initiators``, or for another purpose, waits for the owner's consent or is refused,
    as ``unknown`` says. ``purpose`` is compared word for word; None is any. :mod:`assistlearn.agent.limits` says which
    limits hold where the file does not say. ``min_effective`` is on how many people the ignorance must lie: the
    effective sample size. With ``proof``, the agent says nothing about a model unless it is clearly better than chance,
    on samples that it was not fitted to. ``expires`` has a time zone; of a day that is given in its place, the whole
    day is still allowed.

    >>> allowance = Allowance(("clinic",), expires=dt.date(2029, 12, 31))
    >>> str(allowance.expires)
    '2030-01-01 00:00:00+00:00'
    """

    initiators: Annotated[tuple[str, ...], Meta(examples=[["clinic"]])]
    purpose: Text | None = None
    unknown: Literal["ask", "refuse"] | None = None
    answer_within: Annotated[int, Meta(ge=1, le=3650)] = ANSWER_WITHIN
    max_runs: Most = None
    max_samples: Most = None
    min_people: Most = None
    max_turns: Most = None
    max_total_turns: Most = None
    max_ids_a_day: Most = None
    max_total_ids: Most = None
    max_votes_a_day: Most = None
    max_total_votes: Most = None
    max_total_bits: Most = None
    min_effective: Count = MIN_EFFECTIVE
    proof: bool = False
    expires: Any = None  # msgspec cannot accept both a date and a moment in one field

    def __post_init__(self) -> None:
        nobody = not self.initiators and self.unknown != "ask"
        if nobody or not all(name.strip() for name in self.initiators):
            raise WrongKeyError(
                "initiators",
                "allow.initiators names nobody. List the agents that may start a run, or let everybody ask for consent "
                '(unknown = "ask"), or remove [allow].',
            )
        msgspec.structs.force_setattr(self, "expires", _moment(self.expires))

    @property
    def until(self) -> str:
        """The last day that is allowed, or the moment, in words.

        >>> Allowance(("clinic",), expires=dt.date(2029, 12, 31)).until
        'the end of 2029-12-31'
        """
        if self.expires is None:
            return "ever"
        if self.expires.time() == dt.time() and self.expires.tzinfo is dt.UTC:
            return f"the end of {self.expires.date() - dt.timedelta(days=1)}"
        return str(self.expires)

    def expired(self, now: dt.datetime) -> bool:
        return self.expires is not None and now >= self.expires


def _moment(value: object) -> dt.datetime | None:
    if isinstance(value, dt.datetime):
        return value if value.tzinfo is not None else value.replace(tzinfo=dt.UTC)
    if value == dt.date.max:  # there is no later day
        return dt.datetime.max.replace(tzinfo=dt.UTC)
    if isinstance(value, dt.date):
        return dt.datetime.combine(value + dt.timedelta(days=1), dt.time(), tzinfo=dt.UTC)
    if value is not None:
        raise WrongKeyError(
            "expires", f"allow.expires = {value!r} must be a date or a moment without quotes: expires = 2030-12-31"
        )
    return None


Epsilon: TypeAlias = Annotated[float, Meta(gt=0.0, le=LARGEST_EPSILON)]
Positive: TypeAlias = Annotated[float, Meta(gt=0.0)]


class PrivacyRules(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The table ``[privacy]`` of an agent's file: what others may be told about each person. None: no rule.

    Sums over all runs of one initiator, for any one person: ``max_bits_per_sample``, ``max_predictions``,
    ``max_epsilon`` and, in an initiator's file, ``max_label_epsilon``, of what helpers are told about the label.
    ``max_rounds`` counts the turns of one run in which this agent tells something about samples. ``min_samples`` is how
    many of a run's training samples it must hold, in all and of each class that it holds any of. ``randomise`` is the
    epsilon of randomised response on one-bit rewards, and on the classes that a model answers for hold-out samples and
    in prediction.

    In an initiator's file, ``told_labels`` says whether what helpers were told about a label stays told, also if the
    label changes; or the labels of everybody in a run are drawn anew, which adds up. ``label_name`` is by which name
    the ledger of told labels knows the column.
    """

    max_bits_per_sample: Positive | None = None
    max_rounds: Count | None = None
    max_predictions: Count | None = None
    min_samples: Count | None = None
    methods: tuple[str, ...] | None = None
    randomise: Epsilon | None = None
    max_epsilon: Positive | None = None
    max_label_epsilon: Positive | None = None
    told_labels: Literal["stay", "afresh"] = "stay"
    label_name: Text | None = None

    def __post_init__(self) -> None:
        if self.methods == ():
            raise WrongKeyError("methods", "privacy.methods names no method. List some, or remove the line.")
        if self.max_epsilon is not None and self.randomise is None:
            raise WrongKeyError(
                "max_epsilon",
                "privacy.max_epsilon limits what privacy.randomise spends, which the file does not set. Add a line "
                "such as: randomise = 1.0",
            )
        if self.told_labels == "afresh" and self.max_label_epsilon is None:
            raise WrongKeyError(
                "told_labels",
                'privacy.told_labels = "afresh" draws the labels of everybody anew in each run, and what all runs tell '
                "adds up. Say up to which sum, with a line such as: max_label_epsilon = 3.0",
            )

    def check_methods(self) -> None:
        """Raise for an unknown method. One of another package is known once that package is imported."""
        for name in self.methods or ():
            if name not in names():
                raise WrongKeyError(
                    "methods",
                    f"privacy.methods has {name!r}, which is not known.{did_you_mean(name, names())} The methods are "
                    f"{listed(names())}.",
                )


AgentName = Annotated[
    str,
    Meta(
        pattern=r"\A\w[\w.-]{0,63}\Z",
        description="an agent's name in quotes: at most 64 letters, digits, '_', '-' and '.', beginning with a letter "
        "or digit",
        examples=["lab"],
    ),
]
Separator = Annotated[str, Meta(pattern=r"\A[\x00-\x7f]\Z", description='one character, such as ";" or "\\t"')]
TablePlace = Annotated[str, Meta(pattern=r"\S", description="a path or a URL in quotes")]
Seconds = Annotated[float, Meta(gt=0, le=86_400)]
Name = Annotated[str, Meta(description="a text in quotes, not an empty one")]
"""Like ``Text``, for a key whose value may also be a list. If such a type has a pattern, msgspec 0.22 crashes when the
program ends, so ``__post_init__`` refuses empty texts instead."""
LearnerName = Annotated[Name, Meta(examples=["sklearn.tree.DecisionTreeClassifier"])]


class LearnerDescription(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A class, ``"sklearn.tree.DecisionTreeClassifier"``, or a function that makes a learner, ``"module:function"``."""

    kind: Annotated[Text, Meta(examples=["sklearn.tree.DecisionTreeClassifier"])]
    parameters: Mapping[str, Any] = {}


class AgentKeys(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """Every key of an agent's file; ``docs/reference/agent-file.md`` says what they mean. Paths are relative to it."""

    name: AgentName
    table: TablePlace | None = None
    separator: Separator | None = None
    query: Text | None = None
    database: TablePlace | None = None
    read_seconds: Seconds = 600.0
    local_server: bool = False
    id: Annotated[Name | tuple[Name, ...], Meta(examples=["id"])]
    id_case: Literal["exact", "ignore"] = "exact"
    duplicates: Literal["refuse", "first", "last"] = "refuse"
    label: Text | None = None
    weight: Text | None = None
    person: Text | None = None
    features: FeatureChoice = FeatureChoice()
    learner: LearnerDescription | LearnerName | tuple[LearnerDescription | LearnerName, ...] | None = None
    moved_columns: Literal["refuse", "accept"] = "refuse"
    models: Path | None = None
    secret: Path | None = None
    preprocessing: PreprocessingSettings = PreprocessingSettings()
    reading: ReadingLimits = ReadingLimits()
    allow: Allowance | None = None
    privacy: PrivacyRules | None = None

    def __post_init__(self) -> None:
        problems = Problems()
        checks = (
            *(self._check_id, self._check_learner, self._check_weight, self._check_person, self._check_privacy),
            self._check_file if self.query is None else self._check_query,
        )
        for check in checks:
            with problems.gathered():
                check()
        problems.settle()

    @property
    def id_columns(self) -> tuple[str, ...]:
        return (self.id,) if isinstance(self.id, str) else self.id

    def _check_id(self) -> None:
        _refuse_empty("id", self.id)
        if len(set(self.id_columns)) < len(self.id_columns):
            raise WrongKeyError("id", f"id = {list(self.id_columns)} names a column twice. Name each once.")
        if self.label in self.id_columns:
            raise WrongKeyError(
                "label", f"label and id both name the column {self.label!r}. They must be different columns."
            )

    def _check_learner(self) -> None:
        _refuse_empty("learner", self.learner)
        if self.learner is not None:
            return
        if self.label is None:
            raise WrongKeyError(
                "learner",
                "the key 'learner' is missing. Add a line such as: learner = \"sklearn.tree.DecisionTreeClassifier\"",
            )
        own = self.preprocessing
        if own != PreprocessingSettings(missing_values=own.missing_values, decimal=own.decimal):
            raise WrongKeyError(
                "preprocessing",
                "[preprocessing] prepares features for a learner, and the file names no learner. Remove the table "
                "(only missing_values and decimal may stay, which hold for labels and weights as well), or add: "
                'learner = "..."',
            )

    def _check_weight(self) -> None:
        if self.weight is None:
            return
        if self.label is None:
            raise WrongKeyError(
                "weight",
                f"weight names the column {self.weight!r}, but the file names no column with labels: only the "
                "initiator's samples have weights. Remove the line from a helper's file.",
            )
        for key, columns in (("id", self.id_columns), ("label", (self.label,))):
            if self.weight in columns:
                raise WrongKeyError(
                    "weight", f"weight and {key} both name the column {self.weight!r}. They must be different columns."
                )

    def _check_privacy(self) -> None:
        rules = self.privacy
        if self.label is not None or rules is None:
            return
        given = {
            "max_label_epsilon": rules.max_label_epsilon is not None,
            "told_labels": rules.told_labels != "stay",
            "label_name": rules.label_name is not None,
        }
        for key in (name for name, there in given.items() if there):
            raise WrongKeyError(
                "privacy",
                f"privacy.{key} is about what helpers are told of this agent's labels, and the file names no column "
                'with labels. Remove the line, or add: label = "..."',
            )

    def _check_person(self) -> None:
        if self.person is None:
            return
        for key, columns in (("label", (self.label,)), ("weight", (self.weight,))):
            if self.person in columns:
                raise WrongKeyError(
                    "person", f"person and {key} both name the column {self.person!r}. They must be different columns."
                )
        if self.id_columns == (self.person,):
            raise WrongKeyError(
                "person",
                f"person and id both name the column {self.person!r}. Ids occur once each, so it says nothing about "
                "rows of the same person. Remove the line, or name a column that does.",
            )

    def _check_query(self) -> None:
        if self.table is not None:
            raise WrongKeyError("query", "the file has both 'table' and 'query'. Keep one of them.")
        if self.separator is not None:
            raise WrongKeyError("separator", "'separator' goes with a CSV file, not with 'query'. Remove it.")
        if self.database is not None:
            if is_url(self.database):
                check_database_url(self.database, self.local_server)
            else:
                check_path("database", self.database)

    def _check_file(self) -> None:
        if self.database is not None:
            raise WrongKeyError("database", "'database' goes with 'query'. Add: query = \"select * from my_table\"")
        if self.table is None:
            raise WrongKeyError(
                "table",
                'the key \'table\' is missing. Add a line such as: table = "lab.csv" (or query = "select ...")',
            )
        if is_url(self.table):
            check_table_url(self.table, self.local_server)
        else:
            check_path("table", self.table)
        if not is_url(self.table) and not self.table.lower().endswith((*ENDINGS, "/")):
            raise WrongKeyError(
                "table",
                f"the format of the table {Path(self.table).name!r} is not known. It must end in {', '.join(ENDINGS)}, "
                "or in / for all Parquet files of a folder.",
            )
        if self.separator is not None and self.table.partition("?")[0].lower().endswith((".parquet", "/")):
            raise WrongKeyError("separator", "'separator' goes with a CSV file, not with Parquet. Remove it.")


def _refuse_empty(key: str, value: object) -> None:
    every = value if isinstance(value, tuple) else (value,)
    if not every or any(isinstance(each, str) and not each.strip() for each in every):
        shown = list(every) if isinstance(value, tuple) else value
        raise WrongKeyError(
            key, f"{key} = {shown!r} must be a text in quotes, or several in a list; none may be empty."
        )


@dataclass(frozen=True)
class AgentDescription(TableDescription):
    """What an agent's file says; nothing has been opened, imported or created yet.

    Of several ``learners`` the best on the agent's own samples is used; an initiator that has labels alone and takes no
    turns has none. The others are the keys of the file: see ``docs/reference/agent-file.md``.
    """

    file: Path
    name: str
    learners: tuple[LearnerDescription, ...]
    models: Path
    secret: Path | None
    allow: Allowance | None
    privacy: PrivacyRules | None
    moved_columns: Literal["refuse", "accept"]

    @property
    def is_initiator(self) -> bool:
        return self.label is not None

    @property
    def is_label_only(self) -> bool:
        return not self.has_learner


def load_description(path: str | PathLike[str]) -> AgentDescription:
    """Read and check an agent's file, without touching anything that it names.

    A ``DescriptionError`` names the file, the line or key, and what to do.
    """
    return _described(*read_toml_file(Path(path), AgentKeys, "agent's file"))


def parse_description(values: Mapping[str, Any], file: Path) -> AgentDescription:
    """Return the description that these values give, as if they stood in this file."""
    places = Places(file)
    return _described(from_toml(values, AgentKeys, places), places)


def _described(keys: AgentKeys, places: Places) -> AgentDescription:
    as_written = {name: getattr(keys, name) for name in AgentKeys.__struct_fields__ if name not in _RESOLVED}
    return AgentDescription(
        **as_written,
        file=places.file,
        table=_table(keys, places.file.parent),
        id=keys.id_columns,
        has_learner=bool(keys.learner),
        learners=_learners(keys.learner),
        models=keys.models or places.file.parent / f"{keys.name}-models",
        places=places,
    )


_RESOLVED = ("table", "separator", "query", "database", "id", "learner", "models")


def _learners(
    named: LearnerDescription | str | tuple[LearnerDescription | str, ...] | None,
) -> tuple[LearnerDescription, ...]:
    if named is None:
        return ()
    every = named if isinstance(named, tuple) else (named,)
    return tuple(LearnerDescription(each) if isinstance(each, str) else each for each in every)


def _table(keys: AgentKeys, folder: Path) -> TableFile | TableUrl | TableQuery:
    separator = keys.separator or ","
    if keys.query is not None:
        database = keys.database
        beside = database if database is None or is_url(database) else folder / Path(database).expanduser()
        return TableQuery(keys.query, folder, beside)
    assert keys.table is not None
    if is_url(keys.table):
        return TableUrl(keys.table, separator)
    return TableFile(folder / Path(keys.table).expanduser(), separator, keys.table.endswith("/"))


# From the name of a learner in an agent's file to the learner itself.
#
# A module that the file names is imported, and so its code runs. An agent's file is like a script of its owner. It is
# never accepted from the network or from another agent.


def make_learner(description: AgentDescription) -> Any:
    """Return the unfitted learner that an agent's file names; None where it names none.

    A module is looked for among the installed ones, then beside the file. Several learners become one that uses the
    best of them (:class:`~assistlearn.learners.BestOf`).

    >>> from assistlearn.agent.file import parse_description
    >>> learner = {"kind": "sklearn.tree.DecisionTreeClassifier", "parameters": {"max_depth": 3}}
    >>> make_learner(parse_description({"name": "a", "table": "a.csv", "id": "id", "learner": learner}, Path("a.toml")))
    DecisionTreeClassifier(max_depth=3)
    """
    made = [_make(description, learner) for learner in description.learners]
    if len(made) < 2:
        return made[0] if made else None
    from assistlearn.learners.learner import BestOf  # imports scikit-learn, which is slow

    return BestOf(made)


def _make(description: AgentDescription, named: LearnerDescription) -> Any:
    def error(message: str, parameter: str | None = None) -> LearnerError:
        inside = ("kind",) if parameter is None else ("parameters", parameter)
        return LearnerError(f"{description.places('learner', *inside)}: {message}")

    kind, parameters = named.kind, dict(named.parameters)
    maker = _find(kind, description.file.parent, error)
    taken = _parameters_of(maker)
    for name in parameters:
        if taken is not None and name not in taken:
            raise error(f"learner {kind!r} has no parameter {name!r}.{did_you_mean(name, taken)} Correct it.", name)
    try:
        learner = maker(**parameters)
    except Exception as problem:
        raise error(
            f"learner {kind!r} refuses its parameters {parameters!r}: {type(problem).__name__}: {problem}. "
            "Correct them under [learner.parameters]."
        ) from problem
    what = _what_is(learner)
    if what != "a classifier":
        raise error(
            f"learner {kind!r} gives {learner!r}, which is {what}. Name a scikit-learn classifier, or a function that "
            "returns one."
        )
    if hasattr(learner, "_parameter_constraints"):  # scikit-learn would check the values only when it is fitted
        try:
            learner._validate_params()
        except ValueError as problem:
            refused = [name for name in parameters if f"{name!r} parameter" in str(problem)]
            raise error(f"learner {kind!r} refuses a parameter: {problem}", *refused[:1]) from problem
    # a learner that keeps what it has computed in a folder would read pickles from there
    for name, value in learner.get_params(deep=True).items() if hasattr(learner, "get_params") else ():
        if name.rpartition("__")[2] == "memory" and value is not None:
            raise error(
                f"learner {kind!r} has {name} = {value!r}: it would keep what it learns from the table in that folder, "
                "as pickles, and run whatever somebody puts there. Leave it out."
            )
    return learner


def _find(kind: str, folder: Path, error: Callable[[str], LearnerError]) -> Callable[..., Any]:
    module_name, separator, name = kind.partition(":")
    if not separator:
        module_name, _, name = kind.rpartition(".")
    if not module_name or not name:
        raise error(
            f"learner {kind!r} does not say where it is. Write a class with its module, "
            '"sklearn.tree.DecisionTreeClassifier", or "module:function".'
        )
    try:
        module = _import_named(module_name, folder / f"{module_name}.py")
    except ModuleNotFoundError as problem:
        missing = problem.name or module_name
        top = missing.partition(".")[0]
        install = (
            f"install it: {install_line(top)}"
            if top == "xgboost"
            else f"install the package that has it, or put {module_name}.py beside the agent's file"
        )
        raise error(f"learner {kind!r}: there is no module {missing!r}. Correct the name, or {install}.") from problem
    except Exception as problem:
        raise error(
            f"learner {kind!r}: importing {module_name!r} failed with {type(problem).__name__}: {problem}. "
            "Correct the module."
        ) from problem
    found: Callable[..., Any] | None = getattr(module, name, None)
    if found is None:
        raise error(
            f"module {module_name!r} has no {name!r}.{did_you_mean(name, dir(module))} Correct the learner's name."
        )
    if not separator and not isinstance(found, type):
        raise error(f'{kind!r} is not a class. If it is a function that makes a learner, write "{module_name}:{name}".')
    if not callable(found):
        raise error(f"{kind!r} cannot be called. Name a function that returns a classifier.")
    return found


def _what_is(learner: Any) -> str:
    from sklearn.base import is_classifier, is_regressor

    if isinstance(learner, type):
        return "a class and not an instance of it"
    try:
        return "a classifier" if is_classifier(learner) else "a regressor" if is_regressor(learner) else "no classifier"
    except (AttributeError, TypeError):  # not even an estimator
        return "no classifier"


def _parameters_of(maker: Callable[..., Any]) -> list[str] | None:
    """Return the names of parameters; None where any name is accepted, or there is no signature."""
    try:
        taken = inspect.signature(maker).parameters
    except (TypeError, ValueError):  # written in C
        return None
    return None if any(each.kind is each.VAR_KEYWORD for each in taken.values()) else list(taken)


_LOADED: dict[str, Path] = {}
"""Modules loaded from beside an agent's file."""


def _import_named(name: str, beside: Path) -> ModuleType:
    if name in _LOADED:
        if beside.is_file() and _LOADED[name] != beside.resolve():
            raise ImportError(
                f"another file of that name is loaded already, {_LOADED[name]}; rename one of the two, or give each "
                "agent a process of its own"
            )
        return sys.modules[name]
    if beside.is_file() and importlib.util.find_spec(name) is None:
        return _import_file(name, beside.resolve())
    return importlib.import_module(name)


def _import_file(name: str, file: Path) -> ModuleType:
    spec = importlib.util.spec_from_file_location(name, file)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module  # a saved model names its class by module, and is loaded through this entry
    try:
        spec.loader.exec_module(module)
    except BaseException:
        del sys.modules[name]
        raise
    _LOADED[name] = file
    return module
