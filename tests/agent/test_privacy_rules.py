"""What an owner lets be told of each person is kept by the helper itself: counted, refused with the numbers, shown."""

from __future__ import annotations

from datetime import UTC, datetime

import numpy as np
import pytest

from assistlearn.agent.file import Allowance
from assistlearn.agent.limits import ToldBook, told_at
from assistlearn.agent.releases import limits_at
from assistlearn.protocol import messages as m
from assistlearn.protocol.arrays import unpack_bits
from tests.agent.owned_lab import BANK, CODES, PEOPLE, SHOP, Lab, X, lab_with, refused
from tests.agent.recording import full_disk

HALF = PEOPLE[: len(PEOPLE) // 2]


def told(lab: Lab, initiator: str = BANK) -> list[float]:
    """How many bits were told of each person, in the order of the table."""
    keeper = lab.service._own.privacy
    book = keeper.book.of(initiator)
    return book.of(book.bits, keeper.coin.people(PEOPLE)).tolist()


def spent(lab: Lab) -> dict[str, tuple]:
    standing = limits_at(lab.service._own, datetime.now(UTC))
    return {
        each["key"]: (each["allowed"], each["spent"], each["left"]) for each in standing if each["initiator"] == BANK
    }


# -- bits of each person --


def test_every_turn_tells_one_bit_of_everybody_in_it(tmp_path):
    lab = lab_with(tmp_path, max_bits_per_sample=3)
    lab.ready(people=HALF)
    for number in (1, 2, 3):
        assert isinstance(lab.take(number), m.TurnTaken)
        assert told(lab) == [number] * len(HALF) + [0] * (len(PEOPLE) - len(HALF))
    refused(
        lab.take(4),
        "tells 'bank' at most 3 bits about one person in all: 3 are used",
        "0 are left",
        "max_bits_per_sample",
    )
    assert lab.take(4).kind == "sits-out"
    assert spent(lab)["privacy.max_bits_per_sample"] == (3, 3, 0)


def test_a_person_in_every_run_is_stopped_although_the_others_are_not(tmp_path):
    lab = lab_with(tmp_path, max_bits_per_sample=2)
    always, groups = PEOPLE[0], (PEOPLE[1:20], PEOPLE[20:40], PEOPLE[40:])
    for number, group in enumerate(groups[:2]):
        lab.ready(f"r{number}", [always, *group])
        assert isinstance(lab.take(1, f"r{number}"), m.TurnTaken)
    lab.open("r3")
    lab.align([always, *groups[2]], "r3")
    refused(lab.begin("r3", 21), "2 are used", "1 of 21 people would pass the limit")
    lab.ready("r4", groups[2])
    assert isinstance(lab.take(1, "r4"), m.TurnTaken)


def test_a_score_of_eight_bits_counts_eight(tmp_path):
    lab = lab_with(tmp_path, max_bits_per_sample=20)
    lab.ready(method="soft")
    assert isinstance(lab.take(1), m.TurnTaken)
    assert isinstance(lab.take(2), m.TurnTaken)
    assert set(told(lab)) == {16}
    refused(lab.take(3), "16 are used", "4 are left", "8 more")


def test_scores_of_four_classes_count_four_times(tmp_path):
    lab = lab_with(tmp_path, max_bits_per_sample=100)
    lab.ready(method="soft", codes=np.digitize(X[:, 0], [0.25, 0.5, 0.75]))
    assert isinstance(lab.take(1), m.TurnTaken)
    assert set(told(lab)) == {16}  # four bits for each class


def test_answers_for_hold_out_samples_count_for_those_held_out(tmp_path):
    lab, aside = lab_with(tmp_path, max_bits_per_sample=9), np.arange(len(PEOPLE)) % 3 == 0
    lab.ready(codes=np.digitize(X[:, 0], [0.25, 0.5, 0.75]), aside=aside)
    lab.take(1)
    assert told(lab) == np.where(aside, 2, 1).tolist()  # a class of four, and a bit


def test_a_turn_of_which_nothing_is_told_counts_nothing(tmp_path):
    lab = lab_with(tmp_path, max_bits_per_sample=1, max_rounds=1)
    lab.ready(codes=np.random.RandomState(1).permutation(CODES), reward="out-of-fold")
    taken = lab.take(1)
    assert taken.model_weight <= 0.0
    assert set(told(lab)) == {0}
    assert isinstance(lab.take(2), m.TurnTaken)


def test_the_same_turn_is_counted_once_however_often_it_is_asked_for(tmp_path, caplog):
    """A disk that is full, after the count and before the answer: nothing was told, and nothing is counted again."""
    lab = lab_with(tmp_path, max_bits_per_sample=2)
    lab.ready()
    caplog.set_level("CRITICAL", "assistlearn.agent")
    with full_disk("reply.msg"):
        for _ in range(5):
            lab.restart()
            assert lab.take(1).kind == "failed"
    for number in (1, 1, 2, 2):
        assert isinstance(lab.take(number), m.TurnTaken)
    assert set(told(lab)) == {2}


def test_each_initiator_is_counted_by_itself(tmp_path):
    lab = lab_with(tmp_path, max_bits_per_sample=5)
    lab.ready()
    lab.take(1)
    assert set(told(lab, SHOP)) == {0}
    assert [each["initiator"] for each in told_at(ToldBook(tmp_path / "told"))] == [BANK]


def test_ids_do_not_stand_in_the_book(tmp_path):
    lab = lab_with(tmp_path, max_bits_per_sample=5)
    lab.trained(2)
    lab.vote(PEOPLE[:5])
    kept = b"".join(path.read_bytes() for path in (tmp_path / "told").iterdir())
    assert not [text for text in PEOPLE if text.encode() in kept]


def test_a_book_that_cannot_be_read_or_a_lost_key_stops_everything(tmp_path, caplog):
    caplog.set_level("CRITICAL", "assistlearn.agent")
    lab = lab_with(tmp_path, max_bits_per_sample=5)
    lab.ready()
    lab.take(1)
    (file,) = (tmp_path / "told").glob("*.npz")
    whole = file.read_bytes()
    file.write_bytes(whole[: len(whole) // 2])
    lab.restart()
    assert lab.take(2).kind == "failed"
    file.write_bytes(whole)
    (tmp_path / "coin.key").rename(tmp_path / "away.key")
    lab.restart()
    assert lab.take(2).kind == "failed"
    assert not (tmp_path / "coin.key").exists()


# -- turns, people, methods --


def test_turns_that_tell_something_are_limited_in_one_run(tmp_path):
    lab = lab_with(tmp_path, max_rounds=2)
    lab.ready()
    for number in (1, 2):
        assert isinstance(lab.take(number), m.TurnTaken)
    refused(lab.take(3), "in at most 2 turns of one run: 2 are used, 0 are left", "max_rounds")
    assert isinstance(lab.take(2), m.TurnTaken)  # the answer that was given
    lab.ready("r2")
    assert isinstance(lab.take(1, "r2"), m.TurnTaken)


def test_a_run_on_fewer_people_is_refused_before_they_are_compared(tmp_path):
    lab = lab_with(tmp_path, min_samples=30)
    lab.open()
    refused(lab.find(PEOPLE[:29], purpose="train"), "at least 30 people", "min_samples")
    assert lab.find(PEOPLE[:30], purpose="train").all()


@pytest.mark.parametrize("alone", [1, 9])
def test_a_class_of_fewer_people_is_refused_before_any_training(tmp_path, alone):
    lab = lab_with(tmp_path, min_samples=10)
    lab.open()
    lab.align(PEOPLE)
    refused(lab.begin(codes=(np.arange(len(PEOPLE)) < alone).astype(int)), "at least 10 people of each class")
    lab.open("r2")
    lab.align(PEOPLE, "r2")
    assert isinstance(lab.begin("r2", codes=(np.arange(len(PEOPLE)) < 10).astype(int)), m.Ready)


def test_only_the_methods_of_the_list_are_taken_part_in(tmp_path):
    lab = lab_with(tmp_path, methods=("ascii", "simple"))
    lab.open()
    lab.align(PEOPLE)
    refused(lab.begin(method="soft"), "'ascii' or 'simple', not 'soft'", "add it to methods")
    assert isinstance(lab.begin(method="simple"), m.Ready)


# -- predictions --


def test_a_person_is_predicted_so_often_and_no_more(tmp_path):
    lab = lab_with(tmp_path, max_predictions=2)
    for run in ("r1", "r2", "r3"):
        lab.trained(2, run)
    assert isinstance(lab.vote(PEOPLE[:5], "r1"), m.Scores)
    assert isinstance(lab.vote(PEOPLE[:3], "r2"), m.Scores)
    refused(lab.vote(PEOPLE[:5], "r3"), "2 predictions about one person", "3 of 5 people would pass", "max_predictions")
    assert isinstance(lab.vote(PEOPLE[3:10], "r3"), m.Scores)


def test_the_same_votes_again_tell_nothing_new(tmp_path):
    lab = lab_with(tmp_path, max_predictions=1)
    lab.trained(2)
    first = lab.vote(PEOPLE[:5])
    before = told(lab)
    for ids in (PEOPLE[:5], PEOPLE[:2], PEOPLE[:5]):
        lab.restart()
        again = lab.vote(ids)
        assert isinstance(again, m.Scores)
    assert again == first
    assert told(lab) == before


def test_votes_count_with_what_was_told_in_training(tmp_path):
    lab = lab_with(tmp_path, max_bits_per_sample=1000)
    lab.trained(2)
    lab.vote(PEOPLE[:5])
    assert told(lab) == [2 + 2] * 5 + [2] * 55  # two models of two classes
    lab.trained(2, "r2", method="soft")
    lab.vote(PEOPLE[:5], "r2")
    assert told(lab) == [4 + 16 + 8] * 5 + [2 + 16] * 55


def test_an_agent_without_models_tells_nothing_by_its_votes(tmp_path):
    lab = lab_with(tmp_path, max_predictions=1)
    lab.ready()
    lab.ask(m.End(run="r1", n_rounds=0))
    assert isinstance(lab.vote(PEOPLE[:5]), m.Scores)
    assert told_at(ToldBook(tmp_path / "told")) == []


# -- nothing changes for others --


def test_rules_that_are_kept_change_no_answer(tmp_path):
    plain = Lab(tmp_path / "plain", Allowance((BANK,)))
    kept = lab_with(tmp_path / "kept", max_bits_per_sample=1000, max_rounds=9, min_samples=5, methods=("ascii",))
    for lab in (plain, kept):
        lab.trained(3)
        lab.vote(PEOPLE[:9])
    assert plain.taken["r1"] == kept.taken["r1"]
    assert plain.vote(PEOPLE) == kept.vote(PEOPLE)
    assert not list((tmp_path / "plain" / "told").glob("*.npz"))
    assert unpack_bits(kept.taken["r1"].reward, len(CODES)).any()
