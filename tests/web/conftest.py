"""One real run for all tests of the live page, and folders of runs that tests let grow fact by fact."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from assistlearn.initiator.folder import RunFolder
from tests.browser import browser, opened  # noqa: F401
from tests.cli.program import assistlearn
from tests.cli.small_agents import toml, write_agents
from tests.forked_agents import forked
from tests.web.served_run import Served, served, trained


@pytest.fixture(scope="session")
def finished_run(tmp_path_factory) -> Path:
    """A run of a clinic with a lab and a scanner, on this machine, that has ended."""
    agents = write_agents(tmp_path_factory.mktemp("agents"))
    run = agents[0].parent / "finished"
    with forked():
        done = assistlearn(
            "simulate", *agents, "--out", run, "--run", "heart", "--rounds", 3, "--holdout", 0.3, "--json"
        )
    assert done.code == 0, done.err
    return run


@pytest.fixture
def begun(finished_run, tmp_path) -> RunFolder:
    """A run that was set up, in which nothing has happened yet."""
    folder = tmp_path / "heart"
    folder.mkdir()
    for name in ("secret.json", "settings.json", "digests.txt"):
        shutil.copy(finished_run / name, folder / name)
    return RunFolder(folder)


@pytest.fixture
def lab(tmp_path) -> Path:
    """The file of an agent that nobody has asked for anything yet."""
    file = tmp_path / "lab.toml"
    file.write_text(toml("lab", ""))
    return file


@pytest.fixture(scope="session")
def trained_to_serve(tmp_path_factory) -> Path:
    """The folder of a finished run of three agents, for services."""
    with forked():
        return trained(tmp_path_factory.mktemp("served"))


@pytest.fixture(scope="module")
def service(trained_to_serve) -> Iterator[Served]:
    """A service of three agents, for tests that leave it as it is."""
    with forked(), served(trained_to_serve) as made:
        yield made
