"""An agent's file and table: how they are described, read, checked and prepared for a learner."""

from assistlearn.tables.allowance import Allowance
from assistlearn.tables.description import (
    AgentDescription,
    FeatureChoice,
    LearnerDescription,
    TableFile,
    TableQuery,
    load_description,
    parse_description,
)
from assistlearn.tables.kinds import Column, Kind, Schema
from assistlearn.tables.loading import LoadedAgent, load_agent
from assistlearn.tables.named_learner import make_learner
from assistlearn.tables.preprocessing import TRUSTED_TYPES, default_pipeline, learner_rows
from assistlearn.tables.reading import read_table
from assistlearn.tables.settings import PreprocessingSettings
from assistlearn.tables.summary import AgentSummary, ColumnSummary, describe
from assistlearn.tables.table import Table

__all__ = [
    "TRUSTED_TYPES",
    "AgentDescription",
    "AgentSummary",
    "Allowance",
    "Column",
    "ColumnSummary",
    "FeatureChoice",
    "Kind",
    "LearnerDescription",
    "LoadedAgent",
    "PreprocessingSettings",
    "Schema",
    "Table",
    "TableFile",
    "TableQuery",
    "default_pipeline",
    "describe",
    "learner_rows",
    "load_agent",
    "load_description",
    "make_learner",
    "parse_description",
    "read_table",
]
