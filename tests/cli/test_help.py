"""Help is there for every command, and comes at once."""

from __future__ import annotations

import pytest

import assistlearn as package
from assistlearn.cli import app
from tests.cli.program import assistlearn, modules_after

COMMANDS = {
    "init": ["--example", "--json"],
    "check": ["--json"],
    "worth": ["--at-least", "--loss", "--alpha", "--rounds", "--train-share", "--block", "--plot", "--json"],
    "simulate": ["--out", "--run", "--resume", "--align", "--holdout", "--method", "--rounds", "--seed", "--json"],
    "predict": ["--ids", "--out", "--timeout", "--allow-absent", "--require-all", "--force", "--json"],
    "show": ["--json"],
    "watch": ["--port", "--no-open", "--json"],
    "audit": ["--run", "--json"],
    "privacy": ["--run", "--attack", "--plot", "--json"],
    "forget": ["--agent", "--json"],
}


def test_the_program_lists_every_command():
    help = assistlearn("--help")
    assert help.code == 0
    assert all(command.name in help.out for command in app.registered_commands)
    assert COMMANDS.keys() <= {command.name for command in app.registered_commands}


def test_without_a_command_it_shows_its_help():
    assert assistlearn() == assistlearn("--help")


@pytest.mark.parametrize("command", [command.name for command in app.registered_commands])
def test_every_command_explains_itself_and_its_options(command):
    for flag in ("--help", "-h"):
        help = assistlearn(command, flag)
        assert help.code == 0
        assert f"assistlearn {command} " in help.out
        assert all(option in help.out for option in COMMANDS.get(command, []))


def test_the_version_is_the_packages():
    assert assistlearn("--version").out == f"assistlearn {package.__version__}\n"


def test_help_does_not_wait_for_the_heavy_packages():
    loaded = modules_after("import assistlearn.cli.program as p; p.run(['--help'])")
    assert "assistlearn.cli.simulate" in loaded
    assert loaded.isdisjoint({"sklearn", "scipy", "polars", "pandas", "numpy", "xgboost", "matplotlib", "skops"})


def test_an_agent_of_trees_does_not_wait_for_what_it_has_no_use_for_yet(agents):
    start = "from pathlib import Path\nfrom assistlearn.reach.processes import agent_process as p\n"
    loaded = modules_after(f"{start}p.service_of(Path({str(agents[1])!r}))")
    assert "sklearn.tree" in loaded
    assert loaded.isdisjoint({"skops", "matplotlib", "xgboost", "duckdb", "nvflare", "dp_accounting", "typer"})


def test_an_agent_whose_file_is_wrong_says_so_before_it_waits_for_scikit_learn(agents):
    agents[1].write_text(agents[1].read_text() + "colour = 3\n")
    start = "from assistlearn.reach.processes import agent_process as p\n"
    loaded = modules_after(f"{start}assert p.main({str(agents[1])!r}, '0') == p.CANNOT_START")
    assert loaded.isdisjoint({"sklearn", "scipy", "polars", "pandas", "skops"})


def test_what_the_package_offers_is_imported_when_asked_for():
    assert set(package.__all__) <= set(dir(package))
    assert all(getattr(package, name).__module__.startswith("assistlearn.") for name in package.__all__)
    assert package.errors.AssistLearnError.__module__ == "assistlearn.errors"
    with pytest.raises(AttributeError, match="no attribute 'AssistedRegressor'"):
        package.AssistedRegressor  # noqa: B018
