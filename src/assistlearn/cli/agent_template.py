"""Agent files to start from, with a comment at every key."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from assistlearn.errors import SettingsError


def refuse_existing(paths: Sequence[Path]) -> None:
    """Raise ``SettingsError`` if one of these files exists, so that no file of the user is overwritten."""
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
        The values to write under these keys.
    role : {"initiator", "helper"}
        Whose file it is. Only an initiator's file names a label column. Only a helper's file says who may ask it.
    """
    label, owner = ([_LABEL], _SECRECY) if role == "initiator" else ([], _ALLOW)
    parts = [_HEAD, *label, _REST, owner]
    return "\n".join(parts).format(name=name, table=table, learner=learner, parameters=parameters)


_HEAD = """\
# An agent file of assistlearn: what one organisation brings to a run.
# Fill it in, and then check it: assistlearn check, with the path of this file.
# The other organisations are told the name of the agent. They never see this file.
name = "{name}"

# The table: a CSV or Parquet file. Its path is relative to this file. In place of it a database may answer:
# query = "select ..." and database = "some.duckdb"
table = "{table}"

# The column with the ids: whom is a row about? The agents find their common rows by it. Ids are never sent in clear.
id = "patient"
"""

_LABEL = """\
# The column with the labels: what is to be predicted. It makes this agent the initiator, who wants help.
# A helper's file has no such line. Rows without a label are not trained on; they can be predicted.
label = "diagnosis"

# A column that says how much each row counts in training, from 0 on. Helpers are told these weights.
# Without this line all rows count the same.
# weight = "cost"
"""

_REST = """\
# A file with a secret that all agents of a run share. Ids are hashed with it. To make one:
# openssl rand -hex 32 > shared.key
# Send it to the other organisations by secure means. It is not needed with private set intersection (--align psi).
secret = "shared.key"

# The folder in which the agent keeps its models, its runs and its ledger.
models = "{name}-models"

# The learner, which nobody else sees: a classifier of scikit-learn or another package, or your own "module:function".
[learner]
kind = "{learner}"

[learner.parameters]
{parameters}

# The columns that the learner uses. Without this table it uses all but those named above (id, label, weight).
# [features]
# exclude = ["name", "address*"]
"""

_SECRECY = """\
# Do you have labels, but no columns to learn from? Remove [learner] and [learner.parameters], and write:
# [features]
# include = []

# How much helpers may be told about any one person's label, over all runs. Smaller is more private.
# With this limit, runs must change labels by chance: assistlearn simulate --method label-private --epsilon 1
# Without this table any method may be used, also those that tell helpers the labels as they are.
# [privacy]
# max_label_epsilon = 1.0
"""

_ALLOW = """\
# Who may start a run with this agent, what for, until when, and how much may be asked.
# Over a network, an agent without this table answers nobody. On one machine (assistlearn simulate) anybody may ask.
# Most limits hold by default where this table is. All of them: "Agent file" in the documentation.
# [allow]
# initiators = ["clinic"]
# purpose = "a study of breast cancer"
# unknown = "ask"            # others wait for your consent: assistlearn requests
# max_runs = 10
# max_samples = 100_000
# min_people = 20
# expires = 2030-12-31

# What one initiator may be told about each person, over all its runs. Without this table nothing is limited.
# [privacy]
# max_bits_per_sample = 100
# max_rounds = 20
# max_predictions = 10
# min_samples = 20
# methods = ["ascii", "soft"]
# randomise = 1.0            # answers are changed by chance; not possible with the method soft
"""
