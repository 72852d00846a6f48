"""An organisation's file: who it is, where its table is, its learner, and what its owner allows."""

from assistlearn.agent_files.agent_file import (
    AgentDescription,
    FeatureChoice,
    LearnerDescription,
    TableFile,
    TableQuery,
    load_description,
    parse_description,
)
from assistlearn.agent_files.allowance import Allowance
from assistlearn.agent_files.named_learner import make_learner
from assistlearn.agent_files.preparation import PreprocessingSettings

__all__ = [
    "AgentDescription",
    "Allowance",
    "FeatureChoice",
    "LearnerDescription",
    "PreprocessingSettings",
    "TableFile",
    "TableQuery",
    "load_description",
    "make_learner",
    "parse_description",
]
