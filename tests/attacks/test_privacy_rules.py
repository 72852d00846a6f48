"""Whoever wants more of a person than the owner lets be told gets no more: not by runs, names, questions or crashes."""

from __future__ import annotations

import os
import signal
from pathlib import Path

import numpy as np

from assistlearn.agent.file import Allowance, PrivacyRules
from assistlearn.agent.limits import ToldBook, told_at
from assistlearn.agent.store import RunStore
from assistlearn.protocol import messages as m
from assistlearn.protocol.arrays import unpack_bits, unpack_levels
from tests.agent.owned_lab import BANK, CODES, PEOPLE, Lab, refused
from tests.attacks.attack import attack
from tests.forked_agents import forks


def lab_with(home: Path, **rules: object) -> Lab:
    return Lab(home, Allowance((BANK,), min_people=2), PrivacyRules(**rules))


@attack(
    "initiator",
    "makes a run to single out a person: one against all others, or few people, or all weight on two",
    "refused before any training: so many people of each class (`privacy.min_samples`)",
)
def test_nobody_is_singled_out(tmp_path):
    lab, n = lab_with(tmp_path, min_samples=10), len(PEOPLE)
    lab.open("few")
    refused(lab.find(PEOPLE[:9], "few", purpose="train"), "min_samples")
    tasks = {
        "one-against-all": {"codes": (np.arange(n) == 7).astype(int)},
        "a-class-for-one": {"codes": np.where(np.arange(n) == 7, 2, CODES)},
        "weights": {"weights": np.where(np.arange(n) < 2, 1.0, 1e-9)},
        "hold-out": {"aside": np.arange(n) > 12},
    }
    for run, task in tasks.items():
        lab.open(run)
        lab.align(PEOPLE, run)
        refused(lab.begin(run, **task), "min_samples")
        assert lab.ask(m.TakeTurn(run=run, turn=1, round=1, since=0, news=[])).kind == "out-of-order"


@attack(
    "initiator",
    "asks again and again to average the coin away: the same turn, the same people, alone and in company",
    "nothing: the same question has the same answer (`privacy.randomise`)",
)
def test_asking_again_averages_nothing_away(tmp_path):
    lab = lab_with(tmp_path, randomise=0.5)
    lab.ready()
    taken = [lab.take(1)]
    for _ in range(10):
        lab.restart()
        taken.append(lab.take(1))
    assert all(again == taken[0] for again in taken)
    lab.ask(m.End(run="r1", n_rounds=1))
    votes = set()
    for company in range(10):
        lab.restart()
        scores = lab.vote([PEOPLE[0], *PEOPLE[1 : company + 1]]).scores
        votes.add(int(unpack_levels(scores, scores.n, scores.bits)[0][0]))
    assert len(votes) == 1


@attack(
    "initiator",
    "trains the same run under a hundred names, for a hundred coins on the same bit",
    "refused: epsilon adds up over runs (`privacy.max_epsilon`)",
)
def test_new_runs_have_no_new_coins_for_nothing(tmp_path):
    lab, said = lab_with(tmp_path, randomise=1.0, max_epsilon=4.0), []
    for number in range(100):
        lab.open(f"r{number}")
        lab.align(PEOPLE, f"r{number}")
        if isinstance(lab.begin(f"r{number}"), m.Problem):
            break
        said.append(unpack_bits(lab.take(1, f"r{number}").reward, len(PEOPLE)))
    assert len(said) == 4
    refused(lab.begin("r4"), "4 are used", "max_epsilon")


@attack(
    "initiator",
    "takes a new name for every run, or forgets it and opens it again, to be told more bits of a person",
    "refused: bits are counted for each person over all runs (`privacy.max_bits_per_sample`)",
)
def test_a_new_name_is_no_fresh_budget(tmp_path):
    lab, n_told = lab_with(tmp_path, max_bits_per_sample=3), 0
    for number in range(8):
        run = f"r{number // 2}"
        lab.taken.clear()
        lab.open(run)
        lab.align(PEOPLE, run)
        lab.begin(run)
        n_told += isinstance(lab.take(1, run), m.TurnTaken)
        lab.ask(m.Forget(run=run))
        lab.restart()
    assert n_told == 3


@attack(
    "initiator",
    "has one person predicted by many runs, among ever other people",
    "refused: predictions are counted for each person (`privacy.max_predictions`)",
)
def test_one_person_is_not_predicted_without_end(tmp_path):
    lab, votes = lab_with(tmp_path, max_predictions=3), []
    for number in range(8):
        lab.trained(1, f"r{number}")
        votes.append(isinstance(lab.vote([PEOPLE[0], PEOPLE[number + 1]], f"r{number}"), m.Scores))
    assert votes == [True] * 3 + [False] * 5
    assert isinstance(lab.vote(PEOPLE[20:30], "r7"), m.Scores)


def killed_at(home: Path, step: str) -> None:
    """Ask for a turn in a process that is killed when the count is written, or just after."""
    lab = lab_with(home, max_bits_per_sample=3)
    if step == "counted":
        RunStore.keep_turn = lambda *_: os.kill(os.getpid(), signal.SIGKILL)  # type: ignore[method-assign]
    else:
        ToldBook.keep = lambda *_: os.kill(os.getpid(), signal.SIGKILL)  # type: ignore[method-assign]
    lab.take(1)


@attack(
    "initiator",
    "asks again after each crash of the helper, for a turn that was counted and not yet answered",
    "counted once, and never answered without being counted",
)
def test_a_kill_loses_no_count_and_counts_nothing_twice(tmp_path):
    lab_with(tmp_path, max_bits_per_sample=3).ready()
    for step in ("uncounted", "counted", "counted"):
        job = forks().Process(target=killed_at, args=(tmp_path, step))
        job.start()
        job.join(60)
        assert job.exitcode == -signal.SIGKILL
    lab = lab_with(tmp_path, max_bits_per_sample=3)
    assert isinstance(lab.take(1), m.TurnTaken)
    (told,) = told_at(ToldBook(tmp_path / "told"))
    assert told["bits"] == 1
