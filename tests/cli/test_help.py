"""Help is there for every command, and comes at once."""

from __future__ import annotations

import re

import pytest
from typer.main import get_command

import assistlearn as package
from assistlearn.cli import app
from tests.cli.program import assistlearn, modules_after


def test_the_program_lists_every_command():
    help = assistlearn("--help")
    assert help.code == 0
    assert all(command.name in help.out for command in app.registered_commands)


def test_without_a_command_it_shows_its_help():
    assert assistlearn() == assistlearn("--help")


def test_a_short_option_asks_for_the_help_of_a_command():
    assert assistlearn("check", "-h") == assistlearn("check", "--help")
    assert "assistlearn check " in assistlearn("check", "-h").out


def test_the_version_is_the_packages():
    assert assistlearn("--version").out == f"assistlearn {package.__version__}\n"


def test_help_does_not_wait_for_the_heavy_packages():
    loaded = modules_after("import assistlearn.cli as p; p.run(['--help'])")
    assert "assistlearn.cli.train" in loaded
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


def every_command(command=None, before=()):
    """Yield the program and all its commands as the source describes them, each with its words on the command line."""
    command = get_command(app) if command is None else command
    yield before, command
    for name, inner in getattr(command, "commands", {}).items():
        yield from every_command(inner, (*before, name))


@pytest.mark.parametrize(("name", "command"), [pytest.param(*each, id=" ".join(each[0])) for each in every_command()])
def test_help_shows_every_sign_of_its_texts(name, command):
    """Also what stands in square brackets, which a careless program takes for markup."""
    shown = re.sub(r"\[[^]]*<=[^]]*\]", "", assistlearn(*name, "--help").out)  # ranges stand in a column of their own
    for text in (*command.help.split("\n\n"), *(parameter.help or "" for parameter in command.params)):
        assert re.search(r"[\s│]+".join(map(re.escape, text.split())), shown), text
