"""An agent as its owner describes it, in a small TOML file."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field
from os import PathLike
from pathlib import Path
from typing import Any

from assistlearn.agent_files import allowance
from assistlearn.agent_files import preparation as settings
from assistlearn.agent_files.allowance import Allowance
from assistlearn.agent_files.keys import Keys
from assistlearn.agent_files.places import Places
from assistlearn.agent_files.preparation import PreprocessingSettings
from assistlearn.errors import DescriptionError

KEYS = (
    "name",
    "table",
    "separator",
    "query",
    "database",
    "id",
    "label",
    "features",
    "learner",
    "models",
    "secret",
    "preprocessing",
    "allow",
)
TABLE_ENDINGS = (".csv", ".csv.gz", ".parquet")
NAME = re.compile(r"\w[\w.-]{0,63}")


@dataclass(frozen=True)
class TableFile:
    """A table in a file.

    Attributes
    ----------
    path : Path
        Ends in ``.csv``, ``.csv.gz`` or ``.parquet``.
    separator : str
        What stands between the values of a CSV file.
    """

    path: Path
    separator: str = ","

    def __str__(self) -> str:
        return str(self.path)


@dataclass(frozen=True)
class TableQuery:
    """A table that a database is asked for.

    Attributes
    ----------
    query : str
        One SQL SELECT.
    folder : Path
        Files that the query names are looked for here.
    database : Path or None
        A DuckDB file, opened for reading only. None: the query names its files itself.
    """

    query: str
    folder: Path
    database: Path | None = None

    def __str__(self) -> str:
        return f"query on {self.database}" if self.database else "query"


@dataclass(frozen=True)
class FeatureChoice:
    """Which columns are features: names, or patterns with ``*``, ``?`` and ``[...]``.

    Attributes
    ----------
    include : tuple of str or None
        None: every column but the ids and the label.
    exclude : tuple of str
        Taken away from those included.
    """

    include: tuple[str, ...] | None = None
    exclude: tuple[str, ...] = ()


@dataclass(frozen=True)
class LearnerDescription:
    """Which learner an agent uses.

    Attributes
    ----------
    kind : str
        A class, ``"sklearn.tree.DecisionTreeClassifier"``, or a function that makes one, ``"module:function"``.
    parameters : mapping
        What the class or function is called with.
    """

    kind: str
    parameters: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class AgentDescription:
    """What an agent's file says; nothing has been opened, imported or created yet.

    Attributes
    ----------
    file : Path
        The file itself. Relative paths in it are relative to its folder.
    name : str
        What the others call the agent.
    table : TableFile or TableQuery
        Where its table is.
    id : str
        The column with the ids.
    learner : LearnerDescription
        Its learner.
    models : Path
        The folder for its models and runs.
    label : str or None
        The column with the labels: the initiator's file names one, a helper's does not.
    features : FeatureChoice
        Which columns are features.
    preprocessing : PreprocessingSettings
        How they are prepared.
    secret : Path or None
        The file with the secret that all agents of a run share, for matching ids by keyed hashes.
    allow : Allowance or None
        What the owner allows. None: the file says nothing about it.
    places : Places
        Where each key stands, for error messages.
    """

    file: Path
    name: str
    table: TableFile | TableQuery
    id: str
    learner: LearnerDescription
    models: Path
    label: str | None = None
    features: FeatureChoice = field(default_factory=FeatureChoice)
    preprocessing: PreprocessingSettings = field(default_factory=PreprocessingSettings)
    secret: Path | None = None
    allow: Allowance | None = None
    places: Places = field(default_factory=lambda: Places(Path()), repr=False, compare=False)

    @property
    def is_initiator(self) -> bool:
        """Whether it has labels."""
        return self.label is not None


def load_description(path: str | PathLike[str]) -> AgentDescription:
    """Read and check an agent's file, without touching anything that it names.

    Parameters
    ----------
    path : path
        A TOML file; ``docs/agent-files.md`` lists its keys.

    Returns
    -------
    description : AgentDescription
        Frozen.

    Raises
    ------
    DescriptionError
        It names the file, the line or key, and what to do.
    """
    file = Path(path)
    text = _read_text(file)
    try:
        values = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise DescriptionError(
            f'{file} is not valid TOML: {error}. Correct it; texts need quotes, as in name = "lab".'
        ) from error
    return parse_description(values, file, text)


def parse_description(values: Mapping[str, Any], file: Path, text: str = "") -> AgentDescription:
    """Return the description that these values give; ``text`` is where they stand, for the lines in errors.

    >>> values = {"name": "lab", "table": "lab.csv", "id": "patient", "learner": "sklearn.naive_bayes.GaussianNB"}
    >>> description = parse_description(values, Path("parties/lab.toml"))
    >>> str(description.table), str(description.models), description.is_initiator
    ('parties/lab.csv', 'parties/lab-models', False)
    """
    places = Places.of(file, text)
    keys = Keys(values, places, KEYS)
    name = _name(keys)
    keys.required("id", 'id = "id"')
    features = keys.table("features", ("include", "exclude"))
    return AgentDescription(
        file=file,
        name=name,
        table=_table(keys, file.parent),
        id=keys.text("id") or "",
        learner=_learner(keys),
        models=_inside(file.parent, keys.text("models") or f"{name}-models"),
        label=_label(keys),
        features=FeatureChoice(features.texts("include"), features.texts("exclude") or ()),
        preprocessing=settings.read_settings(keys.table("preprocessing", settings.KEYS)),
        secret=_inside(file.parent, keys.text("secret") or "") if "secret" in keys else None,
        allow=allowance.read_allowance(keys.table("allow", allowance.KEYS)) if "allow" in keys else None,
        places=places,
    )


def _read_text(file: Path) -> str:
    try:
        return file.read_text(encoding="utf-8-sig")
    except FileNotFoundError:
        raise DescriptionError(f"There is no agent's file {file}. Check the path, or write one.") from None
    except (OSError, UnicodeDecodeError) as error:
        raise DescriptionError(f"The agent's file {file} cannot be read: {error}. It must be UTF-8 text.") from error


def _name(keys: Keys) -> str:
    keys.required("name", 'name = "lab"')
    name = keys.text("name") or ""
    if not NAME.fullmatch(name):
        raise keys.error(
            "name",
            f"name = {name!r} cannot be an agent's name. Use at most 64 letters, digits, '_', '-' and '.', beginning "
            "with a letter or digit.",
        )
    return name


def _label(keys: Keys) -> str | None:
    label = keys.text("label")
    if label is not None and label == keys.text("id"):
        raise keys.error("label", f"label and id both name the column {label!r}. They must be different columns.")
    return label


def _table(keys: Keys, folder: Path) -> TableFile | TableQuery:
    table, query = keys.text("table"), keys.text("query")
    if table is not None and query is not None:
        raise keys.error("query", "the file has both 'table' and 'query'. Keep one of them.")
    if query is not None:
        if "separator" in keys:
            raise keys.error("separator", "'separator' goes with a CSV file, not with 'query'. Remove it.")
        database = keys.text("database")
        return TableQuery(query, folder, None if database is None else _inside(folder, database))
    if "database" in keys:
        raise keys.error("database", "'database' goes with 'query'. Add: query = \"select * from my_table\"")
    keys.required("table", 'table = "lab.csv" (or query = "select ...")')
    path = _inside(folder, table or "")
    if not path.name.lower().endswith(TABLE_ENDINGS):
        raise keys.error(
            "table", f"table = {table!r} is of no known kind. It must end in one of {', '.join(TABLE_ENDINGS)}."
        )
    return TableFile(path, _separator(keys, path))


def _separator(keys: Keys, path: Path) -> str:
    separator = keys.get("separator")
    if separator is None:
        return ","
    if not isinstance(separator, str) or len(separator.encode()) != 1:
        raise keys.error("separator", f'separator = {separator!r} must be one character, such as ";" or "\\t".')
    if path.name.lower().endswith(".parquet"):
        raise keys.error("separator", "'separator' goes with a CSV file, not with Parquet. Remove it.")
    return separator


def _learner(keys: Keys) -> LearnerDescription:
    keys.required("learner", 'learner = "sklearn.tree.DecisionTreeClassifier"')
    if isinstance(keys.get("learner"), str):
        kind, parameters = keys.text("learner"), {}
    else:
        inside = keys.table("learner", ("kind", "parameters"))
        inside.required("kind", 'kind = "sklearn.tree.DecisionTreeClassifier"')
        kind, parameters = inside.text("kind"), dict(inside.mapping("parameters"))
    return LearnerDescription(kind or "", parameters)


def _inside(folder: Path, path: str) -> Path:
    return folder / Path(path).expanduser()
