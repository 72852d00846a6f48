"""Counts that are lost or restored older: nothing is told until they are mended, and rebuilt counts are no smaller."""

from __future__ import annotations

import random
import re
import shutil
from pathlib import Path

import pytest

from assistlearn.agent.file import Allowance, PrivacyRules
from assistlearn.agent.limits import ALL, check_counts, recount, what_is_lost
from assistlearn.core.ignorance import NEGLIGIBLE
from assistlearn.errors import AssistLearnError, LedgerError, RunError
from assistlearn.protocol import messages as m
from assistlearn.protocol.ledger import verify
from tests.agent.owned_lab import BANK, PEOPLE, SHOP, Lab, refused
from tests.attacks.attack import attack


def lab_at(home: Path, **rules: object) -> Lab:
    rules = rules or {"max_bits_per_sample": 40, "max_predictions": 3}
    return Lab(home, Allowance((BANK, SHOP), min_people=5), PrivacyRules(**rules))


@pytest.fixture(scope="module")
def worked(tmp_path_factory) -> Path:
    """A home after two runs of the bank, one of them forgotten, with votes on ten people."""
    home = tmp_path_factory.mktemp("worked")
    lab = lab_at(home)
    lab.trained(2, "gone")
    lab.vote(PEOPLE[:10], "gone")
    lab.ask(m.Forget(run="gone"))
    lab.trained(3, "kept")
    lab.vote(PEOPLE[:10], "kept")
    return home


@pytest.fixture
def home(worked, tmp_path) -> Path:
    return shutil.copytree(worked, tmp_path / "home")


def remove(home: Path, *patterns: str) -> None:
    for pattern in patterns:
        for path in home.glob(pattern):
            shutil.rmtree(path) if path.is_dir() else path.unlink()


LOSSES: dict[str, tuple[tuple[str, ...], str]] = {
    "ledger": (("ledger.jsonl*",), "is missing: it had entry"),
    "ledger and told": (("ledger.jsonl*", "told/*"), "is missing: it had entry"),
    "ledger and all copies": (("ledger.jsonl*", "told/*", "runs/*/counted.json"), "has counted 0 turns of run 'kept'"),
    "ledger and runs": (("ledger.jsonl*", "runs/*"), "is missing: it had entry"),
    "ledger, copies and runs": (("ledger.jsonl*", "told/*.json", "runs/*"), "knows nothing of 'bank'"),
}


@attack(
    "local process",
    "removes a helper's ledger, alone or with its copies, told/ or the runs, to get its limits anew",
    "the agent does not start: what is left shows that there was more; rebuilt counts are no smaller",
)
@pytest.mark.parametrize("loss", LOSSES)
def test_an_agent_whose_ledger_is_lost_does_not_start(home, loss):
    patterns, words = LOSSES[loss]
    remove(home, *patterns)
    with pytest.raises(LedgerError, match=words) as caught:
        lab_at(home)
    assert "assistlearn recount FILE" in str(caught.value)
    assert what_is_lost(home, "lab") == str(caught.value)


@attack(
    "local process",
    "removes the counts of what each person was told, alone or with the key or the runs, to get the budgets anew",
    "nothing is told: the ledger states how much was told, over all people and at most",
)
@pytest.mark.parametrize(
    "lost", [("told/*.npz",), ("told/*",), ("told/*", "coin.key"), ("told/*", "runs/*/counted.json")]
)
def test_an_agent_whose_people_are_lost_tells_nothing(home, lost, caplog):
    caplog.set_level("CRITICAL", "assistlearn.agent")
    remove(home, *lost)
    lab = lab_at(home)
    assert lab.vote(PEOPLE[30:35], "kept").kind == "failed"
    assert re.search(r"npz is missing\. .* 0 of \d+ bits", (home / "problems.log").read_text())
    assert "assistlearn recount FILE" in what_is_lost(home, "lab")


def test_counts_that_are_lost_while_an_agent_runs_are_noticed_before_it_answers(worked, home, caplog):
    caplog.set_level("CRITICAL", "assistlearn.agent")
    lab = lab_at(home)
    remove(home, "told/*.npz")
    lab.open("next")
    lab.align(PEOPLE, "next")
    assert lab.begin("next").kind == "failed"
    assert lab.vote(PEOPLE[:10], "kept").kind == "failed"
    said = (home / "problems.log").read_text()
    assert "npz is missing" in said
    assert "0 of 2 predictions of one person" in said
    for path in (worked / "told").glob("*.npz"):
        shutil.copy(path, home / "told")
    assert isinstance(lab.vote(PEOPLE[:10], "kept"), m.Scores)


def test_a_restored_older_state_of_ledger_and_told_is_noticed_by_the_runs(worked, tmp_path):
    home = tmp_path / "home"
    lab = lab_at(home)
    lab.trained(1, "kept")
    backup = shutil.copytree(home, tmp_path / "backup")
    lab.vote(PEOPLE[:5], "kept")
    for name in ("told", "ledger.jsonl", "ledger.jsonl.head"):
        if (home / name).is_dir():
            shutil.rmtree(home / name)
            shutil.copytree(backup / name, home / name)
        else:
            shutil.copy(backup / name, home / name)
    with pytest.raises(LedgerError, match=r"does not have entry .* an older one was restored"):
        lab_at(home)


def test_a_book_of_another_initiator_is_not_taken_for_this_one(home):
    lab = lab_at(home)
    (mine,) = (home / "told").glob("*.npz")
    shop = lab.service._own.privacy.book._path(SHOP)
    shutil.copy(mine, shop)
    with pytest.raises(RunError, match=r"has the counts of 'bank', not of 'shop'"):
        lab.service._own.privacy.book.of(SHOP)


def told_most(lab: Lab) -> dict[str, float]:
    return lab.service._own.privacy.book.of(BANK).figures()


def test_people_that_were_lost_count_as_the_one_who_was_told_most_about(home):
    before = told_most(lab_at(home))
    assert before["most_predictions"] == 2
    remove(home, "told/*.npz")
    (done,), new, moved = recount(home, "lab")
    assert (done["people"], done["all_spent"], new, moved) == (True, False, False, [])
    lab = lab_at(home)
    assert told_most(lab) == before
    assert isinstance(lab.vote(PEOPLE[20:25], "kept"), m.Scores)  # the third prediction of these people, as it counts
    lab.trained(1, "other")
    refused(lab.vote(PEOPLE[20:25], "other"), "3 are used", "max_predictions")


def test_a_lost_ledger_is_rebuilt_from_its_copies(home):
    before = lab_at(home).count()
    remove(home, "ledger.jsonl*")
    (done,), new, moved = recount(home, "lab")
    lab = lab_at(home)
    assert done["units"] == before.units == lab.count().units
    assert lab.count().runs["kept"].units["turns"] == 3
    assert (done["people"], new, moved) == (False, True, [])
    assert verify(home / "ledger.jsonl") == 1
    assert what_is_lost(home, "lab") is None


def test_what_nothing_shows_counts_as_all_spent(home):
    remove(home, "ledger.jsonl*", "told/*", "runs/*/counted.json")
    (done,), _, _ = recount(home, "lab")
    assert done["all_spent"]
    assert done["units"]["runs"] == ALL
    lab = lab_at(home)
    refused(lab.open("next"), "max_runs")
    refused(lab.vote(PEOPLE[:5], "kept"), "ids")
    lab.restart(max_total_ids="none", max_ids_a_day="none", max_total_votes="none", max_votes_a_day="none")
    refused(lab.vote(PEOPLE[:5], "kept"), "max_bits_per_sample")


def test_a_changed_ledger_is_put_aside_and_the_counts_go_on(home):
    path = home / "ledger.jsonl"
    before = lab_at(home).count().units
    path.write_bytes(path.read_bytes().replace(b'"bank"', b'"tank"', 1))
    remove(home, "ledger.jsonl.checkpoint")
    assert "was changed" in what_is_lost(home, "lab")
    (done,), new, moved = recount(home, "lab")
    assert new
    assert [each.name for each in moved] == ["ledger-1.jsonl", "ledger-1.jsonl.head"]
    assert done["units"] == before == lab_at(home).count().units


def test_what_is_whole_is_not_recounted(home):
    assert what_is_lost(home, "lab") is None
    lab_at(home)
    check_counts(home, "lab")


STATES = ("ledger.jsonl*", "told/*.npz", "told/*.json", "runs/*/counted.json")


@pytest.mark.parametrize("seed", range(4))
def test_no_history_of_lost_and_restored_files_gives_a_budget_back(tmp_path, seed):
    """As long as the run's own folder stays, no more bits of a person are told than the limit, however files go."""
    chance, home = random.Random(seed), tmp_path / "home"
    lab, told, backups = lab_at(home, max_bits_per_sample=6), 0, []
    lab.ready("r")
    for number in range(1, 12):
        taken = lab.take(number, "r")
        told += isinstance(taken, m.TurnTaken) and taken.model_weight > NEGLIGIBLE
        backups.append(shutil.copytree(home, tmp_path / f"backup-{number}"))
        for pattern in chance.sample(STATES, chance.randint(0, 3)):
            origin = chance.choice([None, *backups])
            for path in list(home.glob(pattern)):
                path.unlink()
            for path in [] if origin is None else list(origin.glob(pattern)):
                target = home / path.relative_to(origin)
                target.parent.mkdir(parents=True, exist_ok=True)
                shutil.copy(path, target)
        try:
            lab.restart()
        except AssistLearnError:
            recount(home, "lab")
            lab.restart()
    assert told <= 6
