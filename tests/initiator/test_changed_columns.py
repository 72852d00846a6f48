"""Columns are found by name at prediction, as the models were trained with them; what no longer fits is refused."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import polars as pl
import pytest

from assistlearn.plan import Plan
from assistlearn.reach.opening import train
from assistlearn.reach.processes.reach_processes import create_run
from tests.cli.program import assistlearn
from tests.cli.small_agents import write_agents
from tests.initiator.digests import rewrite_settings
from tests.seams import toy_reach  # noqa: F401  agents in threads of this process

pytestmark = pytest.mark.usefixtures("forked_agents")

FOREST = '{ kind = "sklearn.ensemble.RandomForestClassifier", parameters = { n_estimators = 5 } }'


@pytest.fixture(scope="module")
def trained(tmp_path_factory) -> tuple[Path, str]:
    """Return the folder of three agents with a finished run, and what it predicts."""
    folder = tmp_path_factory.mktemp("columns")
    files = write_agents(folder)
    for name in ("clinic", "lab"):  # a category beside the numbers, so that a change of its kind can be seen
        table = pl.read_csv(folder / f"{name}.csv")
        town = pl.Series("town", ["north", "south", "west"] * (len(table) // 3 + 1)).head(len(table))
        table.with_columns(town).write_csv(folder / f"{name}.csv")
        toml = (
            (folder / f"{name}.toml")
            .read_text()
            .replace('{ kind = "sklearn.tree.DecisionTreeClassifier", parameters = { max_depth = 1 } }', FOREST)
        )
        (folder / f"{name}.toml").write_text(toml)
    run = create_run(folder / "run", "r", files, Plan(n_rounds=3, method="soft", reward="in-sample"))
    reached(folder, "threads")  # quicker than processes
    list(train(run))
    return folder, predicted(folder)


def reached(folder: Path, how: str) -> None:
    """Let the agents of the run be reached in another way."""
    settings = json.loads((folder / "run" / "settings.json").read_text())
    rewrite_settings(folder / "run", settings | {"reach": how})


def predicted(folder: Path) -> str:
    said = assistlearn("predict", folder / "run", "--out", folder / "out.csv", "--force", "--json")
    assert said.code == 0, said.err
    assert said.json["absent"] == {}
    return (folder / "out.csv").read_text()


class Changed:
    """A table that is another one for a while."""

    def __init__(self, folder: Path, agent: str, change: Callable[[pl.DataFrame], pl.DataFrame]) -> None:
        self._path, self._change = folder / f"{agent}.csv", change

    def __enter__(self) -> None:
        self._before = self._path.read_bytes()
        self._change(pl.read_csv(self._path)).write_csv(self._path)

    def __exit__(self, *_: object) -> None:
        self._path.write_bytes(self._before)


SAME = {
    "reversed": lambda table: table.select(reversed(table.columns)),
    "with further columns": lambda table: table.with_columns(x00=pl.lit(7.0), a=pl.lit("b")).select(
        ["a", "x00", *table.columns]
    ),
    "with the rows in another order": lambda table: table.reverse(),
}


@pytest.mark.parametrize("agent", ["lab", "clinic"])
@pytest.mark.parametrize("change", SAME)
def test_the_same_columns_elsewhere_in_the_file_give_the_same_predictions(trained, agent, change):
    folder, before = trained
    with Changed(folder, agent, SAME[change]):
        reached(folder, "processes" if (agent, change) == ("lab", "reversed") else "threads")
        after = predicted(folder)
        reached(folder, "threads")
    assert sorted(after.splitlines()) == sorted(before.splitlines())


REFUSED = {
    "renamed": (lambda table: table.rename({"x1": "x9"}), "x1"),
    "gone": (lambda table: table.drop("x0"), "x0"),
    "text instead of numbers": (lambda table: table.with_columns(x1=pl.lit("much")), "x1"),
}


@pytest.mark.parametrize("change", REFUSED)
def test_a_column_of_a_helpers_that_no_longer_fits_is_refused_and_named_to_its_owner_alone(trained, change):
    folder, before = trained
    alter, column = REFUSED[change]
    log = folder / "lab-models" / "problems.log"
    written = log.stat().st_size if log.exists() else 0
    with Changed(folder, "lab", alter):
        said = assistlearn("predict", folder / "run", "--out", folder / "out.csv", "--force", "--json")
    assert list(said.json["absent"]) == ["lab"]
    assert "problems.log" in said.json["absent"]["lab"]
    assert repr(column) not in said.json["absent"]["lab"]  # the names of columns stay where they are
    assert repr(column) in log.read_text()[written:]
    assert predicted(folder) == before


@pytest.mark.parametrize("change", REFUSED)
def test_a_column_of_ones_own_that_no_longer_fits_ends_the_command_and_is_named(trained, change):
    folder, before = trained
    alter, column = REFUSED[change]
    (folder / "out.csv").unlink(missing_ok=True)
    with Changed(folder, "clinic", alter):
        said = assistlearn("predict", folder / "run", "--out", folder / "out.csv")
    assert said.code == 2
    assert "Error: " in said.err
    assert "clinic.csv" in said.err
    assert repr(column) in said.err
    assert not (folder / "out.csv").exists()
    assert predicted(folder) == before
