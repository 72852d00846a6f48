"""``train --from``: tables that grow, and a new helper, on the command line, with agents in processes of their own."""

from __future__ import annotations

import shutil
from pathlib import Path

import polars as pl
import pytest

from tests.cli.program import Said, assistlearn
from tests.initiator.growing import Growing

pytestmark = pytest.mark.usefixtures("forked_agents")

QUICK = ("--method", "ensemble", "--rounds", 1, "--holdout", 0.25)


@pytest.fixture(scope="module")
def grown(tmp_path_factory: pytest.TempPathFactory, forked_agents: None) -> tuple[Growing, Said]:
    """A run, tables that have grown since, a shop that has joined, and a run that went on."""
    made = Growing(tmp_path_factory.mktemp("grown") / "project")
    made.write(range(90))
    run = made.folder / "runs" / "first"
    assert assistlearn("simulate", made.file("clinic"), made.file("lab"), "-o", run, "--run", "first", *QUICK).code == 0
    made.write(range(130))
    second = run.with_name("second")
    options = ("--out", second, "--run", "second", "--metric", "log_loss", "--json")
    return made, assistlearn("train", "--from", run, made.file("shop"), *options)


def test_a_run_goes_on_and_says_what_has_changed(grown):
    _, said = grown
    assert said.code == 0, said.err
    changed = said.json["goes_on"]
    assert (changed["earlier"], changed["n_same"], changed["n_new"], changed["n_gone"]) == ("first", 90, 40, 0)
    assert changed["new_agents"] == ["shop"]
    assert changed["again"] == {"clinic": 1, "lab": 1}
    assert changed["settings"] == {"metric": "was accuracy, is log_loss"}
    assert said.json["finished"]


def test_what_has_changed_is_shown_again(grown):
    made, _ = grown
    words = " ".join(assistlearn("show", made.folder / "runs" / "second").out.split())
    assert "Going on from run first: 90 people are as they were, 40 are new, 0 are gone." in words
    assert "Kept without new training: 1 turn of clinic, 1 turn of lab. New: shop." in words
    assert "The setting metric was accuracy, is log_loss." in words
    page = made.folder / "page.html"
    assert assistlearn("report", made.folder / "runs" / "second", "--out", page).code == 0
    assert "90 people are as they were, 40 are new" in page.read_text()


def test_both_runs_predict(grown):
    made, _ = grown
    for run in ("first", "second"):
        out = made.folder / f"{run}.csv"
        assert assistlearn("predict", made.folder / "runs" / run, "--out", out).code == 0
        assert len(pl.read_csv(out)) == 130


def test_to_forget_the_earlier_run_says_what_lives_on_and_leaves_it(grown, tmp_path):
    made, trained = grown
    copy = shutil.copytree(made.folder, tmp_path / "copy")
    said = assistlearn("forget", "--yes", copy / "runs" / "first")
    assert "Run second, which went on from this run, still has some of its models. Forget that run, too." in said.out
    assert assistlearn("predict", copy / "runs" / "second", "--out", copy / "later.csv").code == 0
    at_lab = assistlearn("forget", "--yes", "second", "--agent", copy / "lab.toml", "--json").json
    kept = sum(each["agent"] == "lab" for each in trained.json["result"]["contributions"])
    assert (at_lab["removed"], at_lab["lives_on"]) == ({"lab": kept}, [])


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("--from", "first", "--resume", "first"), "not both"),
        (("--kept-only", "task.toml"), "--kept-only can only be given with --from RUN"),
        (("--from", "first", "--rounds", "0"), "--rounds 0"),
        (("--from", "first", "--without", "bank"), "--without bank: the helpers of run 'first' are ['lab']"),
        (("--from", "nowhere"), "nowhere holds no run"),
        (("--from", "first", "--method", "soft"), "method='ensemble'"),
    ],
)
def test_what_cannot_be_is_refused_in_a_sentence(grown, tmp_path, monkeypatch, arguments, words):
    made, _ = grown
    monkeypatch.chdir(made.folder / "runs")
    assistlearn("train", *arguments, *(() if "--resume" in arguments else ("--out", tmp_path / "run"))).failed(2, words)
    assert not Path(tmp_path / "run").exists()
