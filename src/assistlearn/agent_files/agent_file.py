"""An agent as its owner describes it, in a small TOML file."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from os import PathLike
from pathlib import Path
from typing import Any, Literal

from assistlearn.agent_files.addresses import is_url
from assistlearn.agent_files.agent_keys import AgentKeys, FeatureChoice, LearnerDescription
from assistlearn.agent_files.allowance import Allowance
from assistlearn.agent_files.places import Places
from assistlearn.agent_files.preparation import PreprocessingSettings
from assistlearn.agent_files.privacy_rules import PrivacyRules
from assistlearn.agent_files.reading_limits import ReadingLimits
from assistlearn.agent_files.table_source import TableFile, TableQuery, TableUrl
from assistlearn.agent_files.toml_file import from_toml, read_toml_file


@dataclass(frozen=True)
class AgentDescription:
    """What an agent's file says; nothing has been opened, imported or created yet.

    Attributes
    ----------
    file : Path
        The file itself. Relative paths in it are relative to its folder.
    name : str
        What the others call the agent.
    table : TableFile, TableUrl or TableQuery
        Where its table is.
    id : tuple of str
        The column with the ids; several, where an id has several parts.
    id_case : {"exact", "ignore"}
        Whether ids that differ only by case are different ids, or the same.
    duplicates : {"refuse", "first", "last"}
        Whether rows that repeat an id are an error, or the first or the last of them is taken.
    label : str or None
        The column with the labels: the initiator's file names one, a helper's does not.
    weight : str or None
        The column with the weights of the samples, in an initiator's file; None where all count the same.
    person : str or None
        The column that says which rows are about the same person; None where each row is about somebody else.
    features : FeatureChoice
        Which columns are features.
    learners : tuple of LearnerDescription
        Its learner; where there are several, the best of them on its own samples. None at an initiator that has labels
        alone and takes no turns.
    preprocessing : PreprocessingSettings
        How its columns are prepared.
    models : Path
        The folder for its models and runs.
    secret : Path or None
        The file with the secret that all agents of a run share, for matching ids by keyed hashes.
    allow : Allowance or None
        What the owner allows. None: the file says nothing about it.
    privacy : PrivacyRules or None
        What the owner lets others be told about each person. None: the file says nothing about it.
    moved_columns : {"refuse", "accept"}
        Whether the agent votes although columns of its table have moved far since training.
    read_seconds : float
        How long a server may take to hand over the table.
    local_server : bool
        Whether that server may be this machine, or one of its provider.
    reading : ReadingLimits
        How large the table may be.
    places : Places
        Where each key stands, for error messages.
    """

    file: Path
    name: str
    table: TableFile | TableUrl | TableQuery
    id: tuple[str, ...]
    id_case: Literal["exact", "ignore"]
    duplicates: Literal["refuse", "first", "last"]
    label: str | None
    weight: str | None
    person: str | None
    features: FeatureChoice
    learners: tuple[LearnerDescription, ...]
    preprocessing: PreprocessingSettings
    models: Path
    secret: Path | None
    allow: Allowance | None
    privacy: PrivacyRules | None
    moved_columns: Literal["refuse", "accept"]
    read_seconds: float
    local_server: bool
    reading: ReadingLimits
    places: Places = field(repr=False, compare=False)

    @property
    def is_initiator(self) -> bool:
        """Whether it has labels."""
        return self.label is not None

    @property
    def is_label_only(self) -> bool:
        """Whether it has labels but no learner: it takes no turns."""
        return not self.learners


def load_description(path: str | PathLike[str]) -> AgentDescription:
    """Read and check an agent's file, without touching anything that it names.

    Parameters
    ----------
    path : path
        A TOML file; ``docs/reference/agent-file.md`` lists its keys.

    Returns
    -------
    description : AgentDescription
        Frozen.

    Raises
    ------
    DescriptionError
        It names the file, the line or key, and what to do.
    """
    return _described(*read_toml_file(Path(path), AgentKeys, "agent's file"))


def parse_description(values: Mapping[str, Any], file: Path) -> AgentDescription:
    """Return the description that these values give, as if they stood in this file.

    >>> values = {"name": "lab", "table": "lab.csv", "id": "patient", "learner": "sklearn.naive_bayes.GaussianNB"}
    >>> description = parse_description(values, Path("parties/lab.toml"))
    >>> str(description.table), str(description.models), description.is_initiator
    ('parties/lab.csv', 'parties/lab-models', False)
    """
    places = Places(file)
    return _described(from_toml(values, AgentKeys, places), places)


def _described(keys: AgentKeys, places: Places) -> AgentDescription:
    return AgentDescription(
        file=places.file,
        name=keys.name,
        table=_table(keys, places.file.parent),
        id=keys.id_columns,
        id_case=keys.id_case,
        duplicates=keys.duplicates,
        label=keys.label,
        weight=keys.weight,
        person=keys.person,
        features=keys.features,
        learners=_learners(keys.learner),
        preprocessing=keys.preprocessing,
        models=keys.models or places.file.parent / f"{keys.name}-models",
        secret=keys.secret,
        allow=keys.allow,
        privacy=keys.privacy,
        moved_columns=keys.moved_columns,
        read_seconds=keys.read_seconds,
        local_server=keys.local_server,
        reading=keys.reading,
        places=places,
    )


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
