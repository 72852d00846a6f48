"""Helpers that want labels of a label-private initiator: from what changes over the runs, and from what was lost."""

from __future__ import annotations

import shutil
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from assistlearn.agent.file import parse_description
from assistlearn.alignment import Ids
from assistlearn.errors import AssistLearnError, DescriptionError, RunError, SettingsError
from assistlearn.initiator.folder import RunFolder
from assistlearn.initiator.label_ledger import LabelLedger, told_labels
from assistlearn.initiator.run import KEY_FILE, LABEL_LEDGER, OpenRun, OwnTable, open_run
from assistlearn.plan import Plan
from assistlearn.protocol import MemoryTransport
from tests.attacks.attack import attack
from tests.initiator.parties import Parties


@attack(
    "helper",
    "compares what it is told of a chronic illness in two runs, between which some have fallen ill",
    "learns no more than of one run: what was told stays told, or everybody is drawn anew and that is counted",
)
@pytest.mark.parametrize("afresh", [False, True])
def test_a_code_that_differs_from_the_last_run_does_not_tell_who_has_fallen_ill(tmp_path, afresh):
    rng, n = np.random.default_rng(0), 20_000
    before = (rng.random(n) < 0.05).astype(np.int64)
    now = np.where(rng.random(n) < 0.02, 1, before)
    people = Ids([f"p-{i:05d}" for i in range(n)])
    ledger = LabelLedger(tmp_path, "ill", ["well", "ill"])
    first = ledger.tell("first", people, before, 0.1, 0.2, afresh)
    second = ledger.tell("second", people, now, 0.1, 0.2, afresh)
    assert second.most_spent == pytest.approx(0.2 if afresh else 0.1)
    flagged = first.codes != second.codes
    if not afresh:
        assert not flagged.any()  # today's bound: nothing at all is heard of the change
        return
    ill = now[flagged].mean()
    assert flagged.mean() == pytest.approx(0.5, abs=0.02)
    assert ill < now.mean() * np.exp(0.2) + 4 * np.sqrt(now.mean() / flagged.sum())  # it was 185 of 185


_LAB = {"name": "lab", "table": "lab.csv", "id": "id", "learner": {"kind": "sklearn.tree.DecisionTreeClassifier"}}


@attack(
    "initiator",
    "asks for labels told at an epsilon of 37, which is written down as protection",
    "refused above 20: beyond it a computer no longer draws what is stated",
)
def test_an_epsilon_that_would_be_infinite_is_refused():
    with pytest.raises(SettingsError, match="at most 20"):
        Plan(method="label-private", epsilon=37.0)
    with pytest.raises(DescriptionError, match=r"randomise"):
        parse_description(_LAB | {"privacy": {"randomise": 21.0}}, Path("lab.toml"))
    assert parse_description(_LAB | {"privacy": {"randomise": 20.0}}, Path("lab.toml")).privacy.randomise == 20.0


# -- what is lost, copied, renamed and restored

PEOPLE = 12
COLUMNS = ("ill", "diagnosis")
AGENTS = [("clinic", None, []), ("lab", None, [])]


class House:
    """An initiator whose files somebody loses, copies, renames and restores, and who tells labels again and again.

    Runs are real up to the point where labels are told. Told codes and true labels are noted outside of all files.
    """

    def __init__(self, folder: Path, rng: np.random.Generator) -> None:
        self.folder, self.rng = folder, rng
        self.home = folder / "models-0"
        self.labels = rng.permutation(np.arange(PEOPLE) % 2)
        self.kept: list[Path] = []
        self.column = COLUMNS[0]
        self.n_runs = 0
        self.heard: list[tuple[float | None, tuple[int, ...]]] = []

    def run(self, method: str, epsilon: float, table: dict[str, Any]) -> OpenRun:
        self.n_runs += 1
        place = RunFolder(self.folder / "runs" / f"run-{self.n_runs}")
        made = Parties(place.path, AGENTS, np.zeros((PEOPLE, 1)), self.labels, {}, {})
        settings = replace(
            made.settings(["a", "b"]),
            run=f"run-{self.n_runs}",
            plan=Plan(method=method, epsilon=epsilon, purpose="a test"),
            files={"clinic": str(self.folder / "clinic.toml")},
        )
        place.write_settings(settings, [0, 1], [1, 2])
        own = OwnTable(self.labels, label=self.column, label_named=False, **table)
        return open_run(place, replace(made.holdings("clinic"), home=self.home), own, MemoryTransport({}))

    def tell(self) -> bool:
        """Try to tell labels in a way that chance chooses; return whether they were told."""
        method = "soft" if self.rng.random() < 0.1 else "label-private"
        epsilon = float(self.rng.choice([1.0, 1.0, 2.0]))
        table = {"max_label_epsilon": 1e6, "told_labels": "afresh"} if self.rng.random() < 0.3 else {}
        try:
            run = self.run(method, epsilon, {} if method == "soft" else table)
            told = told_labels(run, np.arange(PEOPLE))
        except AssistLearnError:
            return False
        self.heard.append((None, ()) if told is None else (epsilon, tuple(told.tolist())))
        return True

    def told_in_fact(self) -> float:
        """Return the least that was spent: labels told at one epsilon in another way were drawn anew, and add up."""
        if any(epsilon is None for epsilon, _ in self.heard):
            return np.inf
        heard = set(self.heard)
        return max(epsilon * sum(other == epsilon for other, _ in heard) for epsilon, _ in heard if epsilon is not None)

    def happens(self) -> None:
        """Let something happen to the files: at most the whole folder of models, but not the folders of the runs."""
        deeds = (self.lose, self.keep, self.restore, self.restore_some, self.move, self.rename, self.rename_a_run)
        deeds[self.rng.integers(len(deeds))]()

    def lose(self) -> None:
        wanted = ([KEY_FILE], [LABEL_LEDGER], ["ledger.jsonl*"], [KEY_FILE, LABEL_LEDGER, "ledger.jsonl*"])
        for pattern in wanted[self.rng.integers(len(wanted))]:
            for path in self.home.glob(pattern):
                path.unlink()

    def keep(self) -> None:
        if self.home.exists():
            self.kept.append(self.folder / f"kept-{len(self.kept)}")
            shutil.copytree(self.home, self.kept[-1])

    def restore(self) -> None:
        if self.kept:
            shutil.rmtree(self.home, ignore_errors=True)
            shutil.copytree(self.kept[self.rng.integers(len(self.kept))], self.home)

    def restore_some(self) -> None:
        pattern = str(self.rng.choice([KEY_FILE, LABEL_LEDGER, "ledger.jsonl*"]))
        for path in self.kept[self.rng.integers(len(self.kept))].glob(pattern) if self.kept else ():
            self.home.mkdir(exist_ok=True)
            shutil.copy(path, self.home / path.name)

    def move(self) -> None:
        self.home = self.folder / f"models-{self.rng.integers(2)}"

    def rename(self) -> None:
        self.column = COLUMNS[self.rng.integers(2)]

    def rename_a_run(self) -> None:
        self.labels = self.rng.permutation(self.labels)
        if runs := sorted((self.folder / "runs").glob("*")):
            path = runs[self.rng.integers(len(runs))]
            path.rename(path.with_name(f"renamed-{self.rng.integers(10**9)}"))


@attack(
    "initiator",
    "loses, copies, renames or restores its key, ledgers, folder of models or label column, and runs again",
    "no run tells more than the ledger knows: it is refused, and names what is missing (in 100 random histories)",
)
def test_no_run_tells_more_than_its_ledger_knows_whatever_happens_to_the_files(tmp_path, monkeypatch):
    monkeypatch.setattr("os.fsync", lambda descriptor: None)  # no power is cut here
    told = refused = 0
    for seed in range(100):
        house = House(tmp_path / str(seed), np.random.default_rng(seed))
        for _ in range(4):
            for _ in range(house.rng.integers(3)):
                house.happens()
            if house.tell():
                told += 1
                spent = LabelLedger(house.home, house.column, ["a", "b"]).spent()
                assert len(spent) == PEOPLE
                if house.heard[-1][0] is not None:  # a run that tells true labels hides nothing, and may have lost all
                    assert spent.min() >= house.told_in_fact() - 1e-9, seed
            else:
                refused += 1
    assert min(told, refused) > 100


def test_another_folder_of_models_is_noticed_where_the_runs_are_gone_as_well(tmp_path):
    house = House(tmp_path, np.random.default_rng(0))
    told_labels(house.run("label-private", 1.0, {}), np.arange(PEOPLE))
    shutil.rmtree(tmp_path / "runs")
    house.home = tmp_path / "models-1"
    words = r"models-1/told-labels\.sqlite, .* is missing: entry 1 of .*models-0/ledger\.jsonl shows that run 'run-1'"
    with pytest.raises(RunError, match=words):
        told_labels(house.run("label-private", 1.0, {}), np.arange(PEOPLE))
