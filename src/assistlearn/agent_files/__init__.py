"""An organisation's file: who it is, where its table is, its learner, and what its owner allows."""

from assistlearn.agent_files.agent_file import AgentDescription, load_description, parse_description
from assistlearn.agent_files.agent_keys import FeatureChoice, LearnerDescription
from assistlearn.agent_files.allowance import Allowance
from assistlearn.agent_files.named_learner import make_learner
from assistlearn.agent_files.preparation import PreprocessingSettings
from assistlearn.agent_files.privacy_rules import PrivacyRules
from assistlearn.agent_files.table_source import TableFile, TableQuery, TableUrl
from assistlearn.agent_files.toml_file import Count, Text, read_toml_file

__all__ = [
    "AgentDescription",
    "Allowance",
    "Count",
    "FeatureChoice",
    "LearnerDescription",
    "PreprocessingSettings",
    "PrivacyRules",
    "TableFile",
    "TableQuery",
    "TableUrl",
    "Text",
    "load_description",
    "make_learner",
    "parse_description",
    "read_toml_file",
]
