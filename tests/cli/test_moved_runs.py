"""A project that is moved or copied goes on working; what was moved apart is told by `move`."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from tests.cli.program import assistlearn
from tests.cli.small_agents import write_agents
from tests.initiator.digests import rewrite_settings

pytestmark = pytest.mark.usefixtures("forked_agents")


@pytest.fixture(scope="module")
def trained(tmp_path_factory) -> Path:
    project = tmp_path_factory.mktemp("old") / "project"
    agents = write_agents(project / "agents")[:2]
    options = ("--method", "ascii", "--rounds", 1, "--holdout", "none")
    assert assistlearn("simulate", *agents, "--run", "first", "--out", project / "runs" / "first", *options).code == 0
    assert assistlearn("predict", project / "runs" / "first", "--out", project / "votes.csv").code == 0
    return project


@pytest.fixture
def moved(trained, tmp_path) -> Path:
    """The project in another place, while nothing is left where it was."""
    shutil.copytree(trained, tmp_path / "project")
    away = trained.with_name("away")
    trained.rename(away)
    yield tmp_path / "project"
    away.rename(trained)


def test_a_project_that_was_moved_predicts_as_before(moved):
    said = assistlearn("predict", moved / "runs" / "first", "--out", moved / "again.csv")
    assert (said.code, said.err) == (0, "")
    assert (moved / "again.csv").read_bytes() == (moved / "votes.csv").read_bytes()


def test_a_copy_uses_its_own_files_though_the_old_ones_are_there(trained, tmp_path):
    copy = shutil.copytree(trained, tmp_path / "copy")
    shown = assistlearn("move", copy / "runs" / "first", "--json").json
    assert shown["files"] == {name: str(copy / "agents" / f"{name}.toml") for name in ("clinic", "lab")}
    ledger = trained / "agents" / "lab-models" / "ledger.jsonl"
    before = ledger.read_bytes()
    assert assistlearn("predict", copy / "runs" / "first", "--out", copy / "again.csv").code == 0
    assert ledger.read_bytes() == before


def test_a_file_that_was_moved_apart_is_named_and_mended(moved, tmp_path):
    run = moved / "runs" / "first"
    elsewhere = shutil.move(moved / "agents", tmp_path / "agents")
    assert assistlearn("move", run, "--json").json["missing"] == ["clinic", "lab"]
    assert "clinic.toml is not there" in assistlearn("move", run).out
    files = [f"{elsewhere}/{name}.toml" for name in ("clinic", "lab")]
    mended = assistlearn("move", run, "--agent", files[0], "--agent", files[1], "--json").json
    assert mended == {"run": "first", "files": dict(zip(("clinic", "lab"), files, strict=True)), "missing": []}
    assert assistlearn("predict", run, "--out", moved / "again.csv").code == 0


def test_a_stranger_s_file_and_kits_of_no_network_are_refused(trained, tmp_path):
    run, scans = trained / "runs" / "first", write_agents(tmp_path)[2]
    assistlearn("move", run, "--agent", scans).failed(
        2, "'scans' has no file in this run. Those that have: clinic, lab"
    )
    assistlearn("move", run, "--site", tmp_path).failed(2, "is no run over a network")


def test_runs_from_before_paths_were_kept_twice_are_read(trained, tmp_path):
    copy = shutil.copytree(trained, tmp_path / "copy")
    facts = json.loads((copy / "runs" / "first" / "settings.json").read_text())
    del facts["beside"]
    rewrite_settings(copy / "runs" / "first", facts)
    assert assistlearn("move", copy / "runs" / "first", "--json").json["files"] == facts["files"]
