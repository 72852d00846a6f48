"""Load an agent from its file: read its table, make its learner, and check both before any work begins."""

from __future__ import annotations

import os
from dataclasses import dataclass
from os import PathLike
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from assistlearn.agent_files.agent_file import AgentDescription, load_description
from assistlearn.agent_files.named_learner import make_learner
from assistlearn.errors import AssistLearnError, ColumnsError, DescriptionError, Problems
from assistlearn.tables.preprocessing import check_features, default_pipeline, learner_rows
from assistlearn.tables.reading import read_table
from assistlearn.tables.schema import Schema
from assistlearn.tables.table import Table


@dataclass(frozen=True, eq=False)
class LoadedAgent:
    """An agent that is ready to work.

    Attributes
    ----------
    description : AgentDescription
        What its file says.
    table : Table
        Its rows.
    estimator : scikit-learn classifier or None
        Its learner, unfitted, with the preprocessing that it needs; None at an initiator that has labels alone.
    """

    description: AgentDescription
    table: Table
    estimator: Any

    def rows(self) -> pl.DataFrame | NDArray[Any]:
        """Return the features of all rows in the form that the estimator needs; without an estimator, no columns."""
        if self.estimator is None:
            return np.empty((len(self.table), 0))
        return learner_rows(self.estimator, self.table.features)


def load_agent(
    path: str | PathLike[str] | AgentDescription,
    *,
    schema: Schema | None = None,
) -> LoadedAgent:
    r"""Read an agent's file and table, make its learner, and check all of it.

    Parameters
    ----------
    path : path or AgentDescription
        The agent's TOML file, or the description that was read from it.
    schema : Schema, optional
        The schema of the training table, to read rows for prediction: see :func:`~assistlearn.tables.read_table`. The
        estimator depends on the schema and the file only, so it is the one of training.

    Returns
    -------
    agent : LoadedAgent
        Nothing has been fitted or written.

    Raises
    ------
    AssistLearnError
        The first thing that is wrong in the file or the table; its ``others`` are all else that was found.

    Examples
    --------
    >>> from pathlib import Path
    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     _ = Path(folder, "lab.csv").write_text("patient,pulse,smoker\np-1,71,no\np-2,,yes\n")
    ...     _ = Path(folder, "lab.toml").write_text('''
    ...         name = "lab"
    ...         table = "lab.csv"
    ...         id = "patient"
    ...         learner = "sklearn.tree.DecisionTreeClassifier"
    ...     ''')
    ...     agent = load_agent(Path(folder, "lab.toml"))
    >>> agent.table.ids.to_list(), agent.table.schema.numbers, agent.table.schema.categories
    (['p-1', 'p-2'], ['pulse'], ['smoker'])
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
    """Refuse a folder that could not be written to when the first model is kept."""
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
