"""Read an agent's table, find the kinds of its columns, check it, and prepare it for a learner."""

from assistlearn.tables.loading import LoadedAgent, load_agent
from assistlearn.tables.preprocessing import default_pipeline, learner_rows
from assistlearn.tables.reading import read_table
from assistlearn.tables.schema import Column, Kind, Schema
from assistlearn.tables.summary import AgentSummary, ColumnSummary, describe
from assistlearn.tables.table import Table
from assistlearn.tables.table_preprocessor import TablePreprocessor

__all__ = [
    "AgentSummary",
    "Column",
    "ColumnSummary",
    "Kind",
    "LoadedAgent",
    "Schema",
    "Table",
    "TablePreprocessor",
    "default_pipeline",
    "describe",
    "learner_rows",
    "load_agent",
    "read_table",
]
