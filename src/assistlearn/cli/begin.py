"""Commands to begin with: ``init`` and ``check``."""

from __future__ import annotations

import secrets
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, TypeAlias

import typer

from assistlearn.cli.audit import show_limits, told_in_words
from assistlearn.cli.output import Json, command, flag, plain, say, say_json, show_table
from assistlearn.errors import AssistLearnError, Problems, SettingsError, TableError
from assistlearn.evaluation.words import counted

if TYPE_CHECKING:
    from assistlearn.agent.file import AgentDescription
    from assistlearn.agent.loading import LoadedAgent


# Agent files to start from, with a comment at every key.


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
    """Return a commented agent file with these values.

    Only the file of an initiator names a label column. Only that of a helper says who may ask it.
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


# An example that runs: three agents, each with some columns of a real data set that comes with scikit-learn.


PARTS = {"clinic": slice(0, 6), "lab": slice(6, 18), "scans": slice(18, 30)}
LEARNERS = {
    "clinic": ("sklearn.tree.DecisionTreeClassifier", "max_depth = 2"),
    "lab": ("sklearn.linear_model.LogisticRegression", "max_iter = 1000"),
    "scans": ("sklearn.tree.DecisionTreeClassifier", "max_depth = 2"),
}
NEW = 69
"""How many of the clinic's patients have no diagnosis yet: they are the ones to predict."""


def write_example(folder: Path) -> list[Path]:
    """Write three tables and agent files, a shared secret, and ids to predict; return the files.

    The clinic knows the diagnosis of most of its patients. The lab and the scanner know other measurements of most of
    these patients, under the same patient numbers, and have them in another order.
    """
    import numpy as np
    import polars as pl
    from sklearn.datasets import load_breast_cancer

    from assistlearn.storage import write_bytes

    paths = [folder / f"{name}.{ending}" for name in PARTS for ending in ("csv", "toml")]
    paths += [folder / "shared.key", folder / "new-patients.csv"]
    refuse_existing(paths)
    data = load_breast_cancer()
    rng = np.random.default_rng(0)
    patients = np.array([f"P{number:05d}" for number in rng.choice(99_999, len(data.target), replace=False)])
    names = [name.replace(" ", "_") for name in data.feature_names]
    new = rng.choice(len(patients), NEW, replace=False)
    for name, part in PARTS.items():
        rows = np.arange(len(patients)) if name == "clinic" else rng.permutation(len(patients))[:-40]
        table = pl.DataFrame({"patient": patients[rows]} | {names[i]: data.data[rows, i] for i in range(30)[part]})
        if name == "clinic":
            diagnosis = np.where(data.target == 0, "malignant", "benign").astype(object)
            diagnosis[new] = None
            table = table.with_columns(pl.Series("diagnosis", diagnosis.tolist()))
        write_bytes(folder / f"{name}.csv", table.write_csv().encode())
        text = agent_toml(name, "initiator" if name == "clinic" else "helper", f"{name}.csv", *LEARNERS[name])
        write_bytes(folder / f"{name}.toml", text.encode())
    write_bytes(folder / "shared.key", f"{secrets.token_hex(32)}\n".encode())
    write_bytes(folder / "new-patients.csv", pl.DataFrame({"patient": patients[new]}).write_csv().encode())
    return paths


# ``assistlearn init``: files to start from.


def init(
    folder: Annotated[
        Path, typer.Argument(metavar="FOLDER", help="The folder to write into.", show_default="this folder")
    ] = Path(),
    example: Annotated[bool, flag("--example", "Write three agents with small tables, ready to run.")] = False,
    json: Json = False,
) -> None:
    """Write agent files to start from: two commented files to fill in, or an example that runs."""
    written = write_example(folder) if example else _blanks(folder)
    agents = [path for path in written if path.suffix == ".toml"]
    if json:
        say_json({"files": [str(path) for path in written], "agents": [str(path) for path in agents]})
        return
    for path in written:
        say(f"wrote {plain(path)}")
    if example:
        say("Next, train: " + command("simulate", *agents, "--out", folder / "run"))
    else:
        say("Next: fill them in, then " + command("check", agents[0]))


def _blanks(folder: Path) -> list[Path]:
    from assistlearn.storage import write_bytes

    paths = [folder / "initiator.toml", folder / "helper.toml"]
    refuse_existing(paths)
    for path in paths:
        write_bytes(path, agent_toml(path.stem, path.stem, f"{path.stem}.csv").encode())
    return paths


# ``assistlearn check``: whether an agent's file and table are right, and what would leave it.


NO_SECRET = "The file names no secret. Ids can be matched by private set intersection only (simulate --align psi)."  # noqa: S105


def check(
    files: Annotated[list[Path], typer.Argument(metavar="FILE", help="Agent files (TOML), one or more.")],
    json: Json = False,
) -> None:
    """Check agent files and their tables, and show what would leave each organisation. Nothing is sent or written.

    All that is wrong in any of the files is said at once. With several files of one run it also checks whether they fit
    together: how many ids match, and whether a helper holds the label.
    """
    problems = Problems()
    checked = [_checked(file, problems) for file in files]
    together = None if len(files) == 1 else _together(checked, problems)
    problems.settle()
    shown = [facts for *_, facts in checked]
    if json:
        say_json(shown[0] if together is None else {"agents": shown, "together": together})
        return
    for facts in shown:
        _show(facts)
    if together is not None:
        _show_together(together)
    say("[green]All is well.[/]")


Checked: TypeAlias = "tuple[AgentDescription | None, LoadedAgent | None, dict[str, Any]]"
"""What an agent's file says, the agent with its table, and the facts about both, as far as these could be read."""


def _checked(file: Path, problems: Problems) -> Checked:
    """Check an agent by itself. Whatever is wrong is added to the problems."""
    from assistlearn.agent.file import load_description
    from assistlearn.agent.limits import told_at
    from assistlearn.agent.loading import describe, from_loaded, load_agent, secret_of
    from assistlearn.agent.releases import limits_at

    description: AgentDescription | None = None
    agent: LoadedAgent | None = None
    with problems.gathered():
        description = load_description(file)
    if description is None:
        return None, None, {}
    with problems.gathered():
        secret_of(description)
    with problems.gathered():
        try:
            agent = load_agent(description)
        except OSError as error:
            if isinstance(error, AssistLearnError):
                raise
            raise TableError(f"{file}: the table cannot be read: {error}. Correct its rights.") from None
    if agent is None or problems.found:
        return description, agent, {}
    now, holdings = datetime.now(UTC), from_loaded(agent)  # raises if ids cannot be aligned
    facts = describe(agent, now)
    if description.secret is None:
        facts["notes"] += (NO_SECRET,)
    facts["limits"] = limits_at(holdings, now) + _labels(description)
    facts["told"] = [] if holdings.privacy is None else told_at(holdings.privacy.book)
    return description, agent, facts


def _together(checked: Sequence[Checked], problems: Problems) -> dict[str, Any] | None:
    """Return how agents fit together: how many of the initiator's samples each helper holds, and what to look at.

    Whatever is wrong is added to the problems; an agent that could not be read is left out.
    """
    from assistlearn.agent.loading import notes_together, overlap
    from assistlearn.reach.processes.reach_processes import check_together

    described = [description for description, *_ in checked if description is not None]
    if len(described) < len(checked):
        return None
    with problems.gathered():
        check_together(described)
    agents = [agent for _, agent, _ in checked if agent is not None]
    initiators = [agent for agent in agents if agent.description.is_initiator]
    if len(initiators) != 1:
        return None
    helpers, shared = [agent for agent in agents if agent is not initiators[0]], dict[str, int]()
    for helper in helpers:
        with problems.gathered():
            shared[helper.description.name] = overlap(initiators[0], helper)
    return {
        "initiator": initiators[0].description.name,
        "samples": len(initiators[0].table),
        "shared": shared,
        "notes": [note for helper in helpers for note in notes_together(initiators[0], helper)],
    }


def _show_together(together: dict[str, Any]) -> None:
    for name, shared in together["shared"].items():
        say(f"{plain(name)} holds {shared:,} of the {together['samples']:,} samples of {plain(together['initiator'])}.")
    for note in together["notes"]:
        say(f"[yellow]Note:[/] {plain(note)}")


def _labels(description: AgentDescription) -> list[dict[str, Any]]:
    """Return how much of ``max_label_epsilon`` is spent and left; an empty list if the owner does not set it."""
    import numpy as np

    from assistlearn.initiator.label_ledger import LabelLedger

    if description.privacy is None or (most := description.privacy.max_label_epsilon) is None:
        return []
    name = description.privacy.label_name or description.label or ""
    spent = LabelLedger(description.models, name, []).spent()
    known = int(np.count_nonzero(np.isinf(spent)))
    largest = float(spent[np.isfinite(spent)].max(initial=0.0))
    return [
        {
            "key": "privacy.max_label_epsilon",
            "initiator": description.name,
            "counts": "epsilon of a person's label, all helpers, in all",
            "allowed": most,
            "spent": largest,
            "left": 0.0 if known else max(most - largest, 0.0),
            "true_labels_told": known,
        }
    ]


def _show(facts: dict[str, Any]) -> None:
    say(f"[bold]{plain(facts['name'])}[/] ({facts['role']}): {facts['rows']:,} rows from {plain(facts['source'])}")
    say(f"learner: {plain(facts['learner'])}")
    for step in facts["preprocessing"]:
        say(f"prepared: {plain(step)}")
    if facts["classes"] is not None:
        say("labels: " + ", ".join(f"{plain(label)} ({count:,})" for label, count in facts["classes"].items()))
    if facts["weights"] is not None:
        say(_in_words(facts["weights"]))
    if facts["columns"]:  # an initiator with labels alone has none
        columns = ((c["name"], c["kind"], f"{c['missing']:.1%}", f"{c['distinct']:,}") for c in facts["columns"])
        show_table("", ["feature", "kind"], ["missing", "different values"], columns)
    for title, key in (("What would leave this organisation", "leaves"), ("What stays", "stays")):
        say(f"[bold]{title}[/]")
        for line in facts[key]:
            say(f"  - {plain(line)}")
    _show_limits(facts["limits"])
    for row in facts["told"]:
        say(told_in_words(row))
    for note in facts["notes"]:
        say(f"[yellow]Note:[/] {plain(note)}")


def _show_limits(limits: Sequence[dict[str, Any]]) -> None:
    if limits:
        show_limits(limits)
    for row in limits:
        if row.get("true_labels_told"):
            say(f"Of {row['true_labels_told']:,} people helpers were told the true label: no epsilon limits that.")


def _in_words(weights: dict[str, Any]) -> str:
    zero = f"; not trained on, with weight 0: {counted(weights['zero'], 'row')}" if weights["zero"] else ""
    return (
        f"weights: column {plain(repr(weights['column']))}, from {weights['least']:g} to {weights['greatest']:g}{zero}"
    )
