"""The keys of an agent's file, as its owner writes them; ``docs/reference/agent-file.md`` says what they mean."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import Annotated, Any, Literal

import msgspec
from msgspec import Meta

from assistlearn.agent_files.addresses import ENDINGS, check_database_url, check_path, check_table_url, is_url
from assistlearn.agent_files.allowance import Allowance
from assistlearn.agent_files.preparation import PreprocessingSettings
from assistlearn.agent_files.privacy_rules import PrivacyRules
from assistlearn.agent_files.reading_limits import ReadingLimits
from assistlearn.agent_files.toml_file import Text
from assistlearn.errors import Problems, WrongKeyError

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


class FeatureChoice(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Which columns are features: names, or patterns with ``*``, ``?`` and ``[...]``.

    Attributes
    ----------
    include : tuple of str or None
        None: all columns but the ids, the label, the weight and the person. Empty: no column, for an initiator with
        labels alone.
    exclude : tuple of str
        Columns to remove from those included.
    """

    include: tuple[str, ...] | None = None
    exclude: tuple[str, ...] = ()


class LearnerDescription(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Which learner an agent uses.

    Attributes
    ----------
    kind : str
        A class, ``"sklearn.tree.DecisionTreeClassifier"``, or a function that makes one, ``"module:function"``.
    parameters : mapping
        What the class or function is called with.
    """

    kind: Annotated[Text, Meta(examples=["sklearn.tree.DecisionTreeClassifier"])]
    parameters: Mapping[str, Any] = {}


class AgentKeys(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """Every key that an agent's file may have. Paths are relative to the file."""

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
        """The columns that make up an id."""
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
            check = check_database_url if is_url(self.database) else partial(check_path, "database")
            check(self.database)

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
    """Refuse an empty text, an empty list, and a list with an empty text."""
    every = value if isinstance(value, tuple) else (value,)
    if not every or any(isinstance(each, str) and not each.strip() for each in every):
        shown = list(every) if isinstance(value, tuple) else value
        raise WrongKeyError(
            key, f"{key} = {shown!r} must be a text in quotes, or several in a list; none may be empty."
        )
