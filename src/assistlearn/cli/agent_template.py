"""Agent files to start from, with a comment at every key."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from assistlearn.errors import SettingsError


def refuse_existing(paths: Sequence[Path]) -> None:
    """Raise if one of these files is there: nothing of a user's is written over."""
    for path in paths:
        if path.exists():
            raise SettingsError(f"{path} is there already. Name another folder, or move it away.")


def agent_toml(
    name: str,
    role: str,
    table: str,
    learner: str = "sklearn.tree.DecisionTreeClassifier",
    parameters: str = "max_depth = 3",
) -> str:
    """Return a commented agent file.

    Parameters
    ----------
    name, table, learner, parameters : str
        What it says under these keys.
    role : {"initiator", "helper"}
        Only the initiator's names a label column; only a helper is asked for help.
    """
    label, owner = ([_LABEL], _SECRECY) if role == "initiator" else ([], _ALLOW)
    parts = [_HEAD, *label, _REST, owner]
    return "\n".join(parts).format(name=name, table=table, learner=learner, parameters=parameters)


_HEAD = """\
# An agent of assistlearn: what one organisation brings. Others are told its name, and nothing else of this file.
name = "{name}"

# Its table: a CSV or Parquet file, relative to this file (or: query = "select ...", database = "some.duckdb").
table = "{table}"

# The column that says whom a row is about. The agents match their rows by it, hashed or encrypted.
id = "patient"
"""

_LABEL = """\
# The column with the labels: this agent is the initiator, who wants help. Helpers' files have no such line.
# Rows without a label are not trained on; they are the ones to predict.
label = "diagnosis"
# One that has labels alone, and nothing to learn from, has no [learner] below, and leaves other columns out:
# [features] with include = []
# weight = "cost"    # a column with what each row counts, from 0 on; without it all count alike. Helpers are told it.
"""

_REST = """\
# A file with a secret that all agents of a run share, to match ids by keyed hashes: openssl rand -hex 32 > shared.key
# It is not needed for private set intersection (assistlearn simulate --align psi).
secret = "shared.key"

# Where it keeps its models, its runs and its ledger.
models = "{name}-models"

# Its private learner: a classifier of scikit-learn's or another package's, or "module:function" of your own.
[learner]
kind = "{learner}"

[learner.parameters]
{parameters}

# Which columns are features; by default all but the id and the label.
# [features]
# exclude = ["name", "address*"]
"""

_SECRECY = """\
# How much helpers may be told of any one person's label, over all runs: labels that chance has changed
# (assistlearn simulate --method label-private --epsilon 1). Runs that tell more are refused. By default any run may.
# [privacy]
# max_label_epsilon = 1.0
"""

_ALLOW = """\
# Who may start a run with this agent, what for, until when, and how much may be asked; by default anyone, anything.
# There are more limits, most of which hold by default where this table is: see "An agent's file" in the documentation.
# [allow]
# initiators = ["clinic"]
# purpose = "a study of breast cancer"
# unknown = "ask"            # others wait for your consent: assistlearn requests
# max_runs = 10
# max_samples = 100_000
# min_people = 20
# expires = 2030-12-31

# What may be told of each person in the table, over all runs of one initiator; by default as much as runs need.
# [privacy]
# max_bits_per_sample = 100
# max_rounds = 20
# max_predictions = 10
# min_samples = 20
# methods = ["ascii", "soft"]
# randomise = 1.0
"""
