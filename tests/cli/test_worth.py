"""A pilot by the command line: in processes, broken off and gone on with, and the answer that the estimator gives."""

from __future__ import annotations

import io
import json
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from rich.console import Console
from sklearn.tree import DecisionTreeClassifier

from assistlearn import AssistedClassifier, assistance_gain
from assistlearn.agent.file import load_description
from assistlearn.cli.progress import WorthBar
from assistlearn.evaluation.pilots import Worth
from assistlearn.events import RunFinished, SamplesOpened, StopReason, TurnFinished
from assistlearn.initiator.folder import RunFolder
from assistlearn.initiator.label_ledger import LabelLedger
from tests.cli.program import Said, assistlearn
from tests.cli.small_agents import write_agents

pytestmark = pytest.mark.usefixtures("forked_agents")

BLOCK = 9


@pytest.fixture(scope="module")
def agents(tmp_path_factory) -> list[Path]:
    return write_agents(tmp_path_factory.mktemp("worth"))


@pytest.fixture(scope="module")
def broken_off(agents, forked_agents) -> tuple[Path, Said, Said]:
    """A pilot that was interrupted after its first block: where it is, what was said, and what show says of it."""
    folder = agents[0].parent / "pilot"
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(WorthBar, "show", _interrupt)
        said = assistlearn("worth", *agents, "--out", folder, "--run", "trial", "--block", BLOCK, "--at-least", "0.9")
    return folder, said, assistlearn("show", folder)


@pytest.fixture(scope="module")
def finished(broken_off) -> tuple[Path, Said]:
    """The same, gone on with to the end."""
    folder = broken_off[0]
    return folder, assistlearn("worth", "--resume", folder, "--json", "--plot", folder.parent / "pictures" / "p.png")


def _interrupt(bar: WorthBar, event: object) -> None:
    if isinstance(event, SamplesOpened):
        raise KeyboardInterrupt


def test_ctrl_c_leaves_a_pilot_that_can_be_gone_on_with(broken_off):
    folder, said, shown = broken_off
    said.failed(130, f"after {BLOCK} opened samples", f"assistlearn worth --resume {folder}")
    assert f"Pilot trial is not finished: 3 turns taken, {BLOCK} opened samples." in shown.out


def test_its_folder_says_that_it_is_a_pilot_and_helpers_are_told(broken_off):
    folder = broken_off[0]
    settings = json.loads((folder / "settings.json").read_text())
    assert settings["pilot"]["at_least"] == 0.9
    told = [json.loads(path.read_text())["purpose"] for path in folder.parent.rglob("trial/opened.json")]
    assert told == [settings["purpose"]] * 3
    assert "a pilot" in settings["purpose"]


@pytest.mark.parametrize("command", ["simulate", "train"])
def test_no_other_command_goes_on_with_it(broken_off, command):
    folder = broken_off[0]
    assistlearn(command, "--resume", folder).failed(2, f"assistlearn worth --resume {folder}")


def test_its_terms_cannot_be_changed_on_the_way(broken_off):
    folder = broken_off[0]
    assistlearn("worth", "--resume", folder, "--at-least", "0.1").failed(2, "--at-least cannot be given with --resume")


def test_the_true_labels_that_a_pilot_tells_are_booked_as_told(agents, finished):
    spent = LabelLedger(load_description(agents[0]).models, "ill", []).spent()
    assert len(spent) >= BLOCK
    assert np.isinf(spent).all()


def test_the_answer_is_that_of_the_estimator(agents, finished):
    folder, said = finished
    assert said.code == 0
    there = Worth.from_dict(said.json)
    tables = [pl.read_csv(path.with_suffix(".csv")).sort("patient") for path in agents]
    labelled = tables[0]["ill"].is_not_null().to_numpy()
    X = np.column_stack([table.select("x0", "x1").to_numpy() for table in tables])[labelled]
    stump = DecisionTreeClassifier(max_depth=1)
    parts = [(name, stump, [2 * i, 2 * i + 1]) for i, name in enumerate(("clinic", "lab", "scans"))]
    recommended = {"method": "soft", "reward": "auto", "combine": "auto", "models_per_turn": 20, "n_rounds": 1}
    clf = AssistedClassifier(parts, **recommended, random_state=0)
    codes = dict(zip(("no", "yes"), RunFolder(folder).permutation(), strict=True))  # so that ties fall the same way
    y = np.array([codes[label] for label in tables[0]["ill"].drop_nulls()])
    here = assistance_gain(clf, X, y, at_least=0.9, block=BLOCK, random_state=0)
    assert here.answer == there.answer == "no"
    assert here.together.path == there.together.path
    assert dict(here.helpers) == dict(there.helpers)
    assert said.json["n_bytes"].keys() == {"lab", "scans"}
    assert folder.name in said.json["folder"]


def test_it_is_shown_and_drawn_afterwards_and_done_only_once(finished):
    folder, said = finished
    assert (folder.parent / "pictures" / "p.png").stat().st_size > 10_000
    again = assistlearn("worth", "--resume", folder)
    shown = assistlearn("show", folder)
    assert again.code == shown.code == 0
    assert "No: help is not worth it (a gain of at least 0.9 was asked for)" in again.out
    assert again.out.splitlines()[0] in shown.out
    assert "lab" in shown.out
    assert assistlearn("show", folder, "--json").json["worth"]["answer"] == said.json["answer"]


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ([], "Name the files of at least two agents, or a task's file"),
        (["--train-share", "1.5"], "--train-share 1.5 must lie between 0 and 1"),
        (["--at-least", "2"], "--at-least=2.0 must lie between -1 and 1"),
        (["--alpha", "0"], "--alpha=0.0 must lie between 0 and 1"),
    ],
)
def test_what_cannot_be_asked_is_refused_before_anything_is_sent(agents, given, words):
    files = agents if given else []
    assistlearn("worth", *files, *given, "--out", agents[0].parent / "wrong").failed(2, words)
    assert not (agents[0].parent / "wrong").exists()


def test_the_bar_shows_turns_and_then_opened_samples_with_the_gain(broken_off):
    console = Console(force_terminal=True, file=io.StringIO())
    with WorthBar(RunFolder(broken_off[0]).settings(), quiet=False, console=console) as bar:
        bar.show(TurnFinished(1, 1, "clinic", 1.0, 0.5, None))
        bar.show(RunFinished(StopReason.ALL_ROUNDS_DONE, 1))
        bar.show(SamplesOpened(50, 200, 0.031, -0.02, 0.09))
        bar.progress.refresh()
        [task] = bar.progress.tasks
        assert (task.description, task.completed, task.total) == ("opened samples", 50, 200)
        assert task.fields["note"] == "gain +0.031, -0.020 to +0.090"
