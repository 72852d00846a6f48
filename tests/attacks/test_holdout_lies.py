"""A helper that lies where arithmetic does not find it: it knows the labels of training samples, but of no others."""

from __future__ import annotations

from functools import partial
from itertools import count
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from sklearn.datasets import load_breast_cancer

from assistlearn.reach.processes import process_transport
from tests.attacks.attack import attack
from tests.attacks.lying_agent import KINDS, be_a_liar
from tests.cli.program import assistlearn
from tests.cli.small_agents import LABEL, SECRET, know_the_key, toml
from tests.forked_agents import ForkedAgent

pytestmark = pytest.mark.usefixtures("forked_agents")

TREE = '{ kind = "sklearn.tree.DecisionTreeClassifier", parameters = { max_depth = 2 } }'
HARD = ["--method", "simple", "--reward", "out-of-fold", "--rounds", 4]
SOFT = ["--method", "soft", "--reward", "out-of-fold", "--combine", "sum", "--models-per-turn", 1, "--rounds", 3]
LEARNED = ["--method", "soft", "--combine", "learned", "--models-per-turn", 1, "--rounds", 2]
NUMBERS = count()
PAPER = ["--method", "ascii", "--rounds", 4]
"""The paper's method: rewards are on samples that models were fitted to, so that a good one proves nothing."""


@pytest.fixture(scope="module")
def files(tmp_path_factory) -> list[Path]:
    """A clinic that is weak, and two helpers that are not."""
    folder = tmp_path_factory.mktemp("agents")
    X, y = load_breast_cancer(return_X_y=True)
    ids = [f"p-{i:04d}" for i in range(len(X))]
    for name, columns in {"clinic": [4, 8, 9], "lab": [0, 2, 24], "scans": [1, 6, 21]}.items():
        table = {"patient": ids} | {f"x{i}": X[:, i] for i in columns}
        table |= {"ill": np.where(y == 0, "yes", "no")} if name == "clinic" else {}
        pl.DataFrame(table).write_csv(folder / f"{name}.csv")
        (folder / f"{name}.toml").write_text(toml(name, SECRET + (LABEL if name == "clinic" else ""), TREE))
    (folder / "shared.key").write_text("0123456789abcdef0123456789abcdef\n")
    found = [folder / f"{name}.toml" for name in ("clinic", "lab", "scans")]
    know_the_key(found[0])
    return found


def trained(folder: Path, files: list[Path], options: list[Any], monkeypatch: Any, lie: str = "") -> dict[str, Any]:
    """Train with real processes, the lab's a liar; return what ``show`` says to scripts, and in words."""

    def start(file: Path, *more: Any) -> ForkedAgent:
        liar = partial(be_a_liar, lie) if lie and file.stem == "lab" else None
        return ForkedAgent(file, *more, be=liar)

    with monkeypatch.context() as patch:
        patch.setattr(process_transport, "start", start)
        own = ("--out", folder, "--run", f"run-{next(NUMBERS)}")  # an agent knows a name once only
        done = assistlearn("simulate", *files, *own, "--holdout", 0.3, "--seed", 1, *options, "--json")
    assert done.code == 0, done.err
    return done.json | {"words": assistlearn("show", folder).out}


@pytest.mark.parametrize(
    ("options", "lie"),
    [(HARD, KINDS[0]), (HARD, KINDS[1]), (SOFT, KINDS[0]), (SOFT, KINDS[1]), (LEARNED, KINDS[0])],
    ids=["hard", "hard, guesses", "soft", "soft, guesses", "learned"],
)
@attack(
    "helper",
    "is sure of every training sample, as it was told their labels",
    "gains nothing: the hold-out samples contradict it, and nothing it said counts",
)
def test_who_repeats_the_labels_it_was_told_gains_nothing(tmp_path, files, monkeypatch, options, lie):
    found = trained(tmp_path / "lied to", files, options, monkeypatch, lie)
    clinic, _, scans = files
    without = trained(tmp_path / "without", [clinic, scans], options, monkeypatch)
    report = found["evaluation"]
    assert report["left_out"] == ["lab"]
    assert [share["helper"] for share in report["shares"]["helpers"]] == ["scans"]
    assert report["assisted"]["accuracy"] >= without["evaluation"]["assisted"]["accuracy"] - 0.03
    assert "The run went on without lab from turn" in found["words"]
    assert "the hold-out samples contradict it" in found["words"]
    predicted = assistlearn("predict", tmp_path / "lied to", "--out", tmp_path / "new.csv", "--json").json
    assert list(predicted["known"]) == ["clinic", "scans"]


@attack(
    "helper",
    "in the paper's method is sure of every training sample, and guesses for all others",
    "gains nothing: it makes the result worse on the hold-out samples, is named, and left out of it",
)
def test_who_guesses_is_named_and_left_out_where_rewards_prove_nothing(tmp_path, files, monkeypatch):
    report = trained(tmp_path / "run", files, PAPER, monkeypatch, KINDS[1])
    assert report["evaluation"]["worse"] == report["evaluation"]["left_out"] == ["lab"]
    assert (
        "lab makes the result worse on these samples, by more than chance explains: its votes were left out."
        in report["words"]
    )


def test_who_makes_it_worse_is_kept_where_the_plan_says_so_and_named_all_the_same(tmp_path, files, monkeypatch):
    report = trained(tmp_path / "run", files, [*PAPER, "--worse-agent", "keep"], monkeypatch, KINDS[1])
    assert (report["evaluation"]["worse"], report["evaluation"]["left_out"]) == (["lab"], [])
    assert (
        "lab makes the result worse on these samples, by more than chance explains: its votes count" in report["words"]
    )


@pytest.mark.parametrize("options", [HARD, SOFT, PAPER], ids=["hard", "soft", "paper"])
@attack("helper", "rewards itself at random", "gains nothing: its share of the gain is none, beyond chance")
def test_random_rewards_gain_nothing(tmp_path, files, monkeypatch, options):
    found = trained(tmp_path / "run", files, options, monkeypatch, "guesses")
    share = next(each for each in found["evaluation"]["shares"]["helpers"] if each["helper"] == "lab")["loss"]
    assert share["value"] <= 3 * share["error"] + 1e-9


@pytest.mark.parametrize("options", [HARD, SOFT, PAPER], ids=["hard", "soft", "paper"])
def test_honest_helpers_are_believed(tmp_path, files, monkeypatch, options):
    found = trained(tmp_path / "run", files, options, monkeypatch)
    assert (found["evaluation"]["worse"], found["evaluation"]["left_out"], found["result"]["left"]) == ([], [], {})
