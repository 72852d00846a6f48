"""No command overwrites what somebody needs, nor anything else without being told to."""

from __future__ import annotations

from pathlib import Path

import pytest

from assistlearn.cli.output import check_target, needed_by_run
from assistlearn.errors import SettingsError
from tests.cli.program import assistlearn
from tests.cli.small_agents import IDS, lines_of, write_agents

pytestmark = pytest.mark.usefixtures("forked_agents")


@pytest.fixture(scope="module")
def run(tmp_path_factory) -> Path:
    folder = tmp_path_factory.mktemp("run")
    agents = write_agents(folder)[:2]
    options = ("--method", "ascii", "--rounds", 1, "--holdout", "none")
    assert assistlearn("simulate", *agents, "--run", "first", "--out", folder / "run", *options).code == 0
    (folder / "ids.csv").write_text(f"patient\n{IDS[0]}\n{IDS[-1]}\n")
    return folder / "run"


@pytest.mark.parametrize(
    ("name", "what"),
    [
        ("clinic.csv", "the table of agent 'clinic'"),
        ("lab.csv", "the table of agent 'lab'"),
        ("clinic.toml", "the file of agent 'clinic'"),
        ("shared.key", "the secret of agent"),
        ("lab-models/ledger.jsonl", "a model of agent 'lab'"),
        ("run/result.json", "a file of the run"),
        ("run/turns/000001.msg", "a file of the run"),
        ("ids.csv", "the file with the ids"),
    ],
)
def test_what_a_run_needs_is_not_overwritten_even_by_force(run, name, what):
    target = run.parent / name
    before = target.read_bytes()
    refused = assistlearn("predict", run, "--ids", run.parent / "ids.csv", "--out", target, "--force")
    refused.failed(2, f"--out {target} is {what}", "which would be lost. Name another file.")
    assert target.read_bytes() == before


def test_a_link_to_a_table_is_the_table(run, tmp_path):
    (tmp_path / "predictions.csv").symlink_to(run.parent / "lab.csv")
    assistlearn("predict", run, "--out", tmp_path / "predictions.csv", "-f").failed(2, "the table of agent 'lab'")


def test_another_file_is_replaced_by_force_alone(run, tmp_path):
    out = tmp_path / "predictions.csv"
    out.write_text("mine\n")
    ids = ("--ids", run.parent / "ids.csv")
    assistlearn("predict", run, *ids, "--out", out).failed(2, f"{out} is there already", "add --force to replace it")
    assert out.read_text() == "mine\n"
    replaced = assistlearn("predict", run, *ids, "--out", out, "--force")
    assert replaced.code == 0
    assert len(lines_of(out)) == 3
    assert "1 sample took part in training: such predictions look better than they are" in replaced.out
    assert [path.name for path in tmp_path.iterdir()] == ["predictions.csv"]


@pytest.mark.parametrize(("answer", "goes_on"), [("y\n", True), ("n\n", False)])
def test_on_a_terminal_the_user_is_asked(run, tmp_path, monkeypatch, answer, goes_on):
    asked = []
    monkeypatch.setattr("sys.stdin.isatty", lambda: True, raising=False)
    monkeypatch.setattr("typer.confirm", lambda words, **_: asked.append(words) or answer == "y\n")
    out = tmp_path / "predictions.csv"
    out.touch()
    try:
        check_target(out, needed_by_run(run), force=False, quiet=False)
    except SettingsError:
        assert not goes_on
    else:
        assert goes_on
    assert asked == [f"{out} is there. Replace it?"]


def test_a_folder_is_no_file(run, tmp_path):
    assistlearn("predict", run, "--out", tmp_path).failed(2, f"--out {tmp_path} is a folder. Name a file.")


def test_a_picture_that_could_not_be_drawn_is_refused_before_the_pilot(run):
    agents = [run.parent / "clinic.toml", run.parent / "lab.toml"]
    refused = assistlearn("worth", *agents, "--out", run.parent / "pilot", "--plot", run.parent / "lab.csv")
    refused.failed(2, f"--plot {run.parent / 'lab.csv'}: name a file that ends in .png, .svg or .pdf")
    assert not (run.parent / "pilot").exists()


def test_all_agents_or_nothing(run, tmp_path):
    lab = run.parent / "lab.toml"
    kept = lab.read_text()
    lab.unlink()
    try:
        refused = assistlearn("predict", run, "--out", tmp_path / "all.csv", "--require-all")
    finally:
        lab.write_text(kept)
    refused.failed(3, "Nothing was written, as not every agent takes part. lab: ")
    assert not list(tmp_path.iterdir())


def test_forget_asks_before_it_removes_and_refuses_where_nobody_can_be_asked(run):
    lab = ("first", "--agent", run.parent / "lab.toml")
    for arguments in ((run,), lab):
        before = everything_in(run.parent)
        assistlearn("forget", *arguments).failed(2, "Nothing was done: no question can be asked here. Add --yes")
        said = assistlearn("forget", *arguments, "--dry-run")
        assert said.code == 0
        assert "Nothing is removed. These agents would remove their models and records:" in said.out
        assert everything_in(run.parent) == before
    facts = assistlearn("forget", run, "--dry-run", "--json").json
    assert facts == {"run": str(run), "would_ask": ["clinic", "lab"], "folders": [str(run)]}
    assert assistlearn("forget", *lab, "--yes").out.startswith("lab: ")
    assert not (run.parent / "lab-models" / "runs" / "first").exists()


def everything_in(folder: Path) -> list[Path]:
    return sorted(path for path in folder.rglob("*") if path.is_file())
