"""A run that goes on from an earlier one keeps what is good, says what has changed, and tells nothing twice."""

from __future__ import annotations

from contextlib import suppress
from typing import Any

import numpy as np
import polars as pl
import pytest

from assistlearn.agent.agent import Agent
from assistlearn.agent.store import RunStore, run_folder
from assistlearn.events import RunGoesOn, TurnFinished, read
from assistlearn.initiator.folder import RunFolder
from assistlearn.initiator.opening import forget
from assistlearn.initiator.prediction import predict
from assistlearn.protocol import MemoryTransport
from assistlearn.protocol.arrays import unpack_bits, unpack_codes, unpack_reward
from assistlearn.protocol.codec import decode
from assistlearn.reach.opening import with_own_table
from tests.initiator.growing import Growing, changes, turns

BEFORE, GONE = range(150), (3, 7)
"""Who is there at first, and who of them is gone later."""

LATER = [person for person in range(200) if person not in GONE]


@pytest.fixture(scope="module")
def first(tmp_path_factory: pytest.TempPathFactory) -> Growing:
    """A clinic and a lab that have trained a run."""
    made = Growing(tmp_path_factory.mktemp("first") / "project")
    made.write(BEFORE)
    made.train(made.begin("first"))
    return made


@pytest.fixture(scope="module")
def second(first: Growing, tmp_path_factory: pytest.TempPathFactory) -> Growing:
    """The same, with tables that have grown and changed, and a run that went on from the first."""
    made = first.copied(tmp_path_factory.mktemp("second") / "project")
    made.write(LATER, relabelled(first))
    folder = made.go_on("second", "first")
    fitted: list[str] = []
    with pytest.MonkeyPatch.context() as patch:
        real = Agent.take_turn
        patch.setattr(Agent, "take_turn", lambda agent, *args, **more: fitted.append("") or real(agent, *args, **more))
        events = made.train(folder)
    (made.folder / "fits.txt").write_text(str(len(fitted)))
    (made.folder / "turns.txt").write_text(str(turns(events)))
    return made


def relabelled(growing: Growing) -> dict[int, int]:
    """Return other labels for some people who were trained on, and for one who was held out."""
    trained, held_out = (sorted(growing.people(growing.run("first"), aside)) for aside in (False, True))
    labels = pl.read_csv(growing.folder / "clinic.csv").select("id", "ill").rows_by_key("id", unique=True)
    people = [name for name in trained if int(name[2:]) not in GONE][:3] + held_out[:1]
    return {int(name[2:]): 1 - int(labels[name][0][1:]) for name in people}


def votes(growing: Growing, run: str) -> np.ndarray:
    """Return the scores of a run for everybody, from agents that have just been started."""
    folder = growing.run(run)
    transport = MemoryTransport({name: each.answer for name, each in growing.services(folder).items()})
    opened, _ = with_own_table(folder, transport, training=False)
    everybody = np.arange(len(opened.table.labels))
    return predict(opened, opened.ids_at(everybody), everybody).scores


# -- what is kept, and what is said of it --


def test_what_has_changed_is_said_before_training(second):
    said = changes(second.run("second"))
    assert (said.n_same, said.n_new, said.n_gone, said.n_relabelled) == (150 - 2 - 3, 50, 2, 3)
    assert said.again == {"clinic": 1, "lab": 1}
    assert said.changed_tables == ["clinic", "lab"]
    assert (said.anew, said.new_agents, said.lost_agents, said.settings) == ({}, [], [], {})
    kinds = [type(told.event) for told in read(second.run("second").events)]
    assert kinds.index(RunGoesOn) < kinds.index(TurnFinished)


def test_turns_that_are_taken_again_fit_nothing(second):
    taken = "[(1, 'clinic'), (1, 'lab'), (2, 'clinic'), (2, 'lab')]"
    assert (second.folder / "turns.txt").read_text() == taken
    alone = RunFolder(second.folder / "runs" / "second").result()["n_rounds"] * 2  # to compare, at the end
    assert int((second.folder / "fits.txt").read_text()) <= 2 + alone


def test_of_people_who_are_as_they_were_the_reward_is_that_of_the_earlier_run(first, second):
    """And the reward of the others, from a model that has not seen them, stands beside it."""
    before, now = (rewards(growing, run, turn) for growing, run, turn in ((first, "first", 2), (second, "second", 2)))
    other = {f"p-{person:04d}" for person in (*GONE, *relabelled(first))}
    same = before.keys() - other
    assert len(same) > 80
    assert {name: now[name] for name in same} == {name: before[name] for name in same}
    assert now.keys() > same


def rewards(growing: Growing, run: str, turn: int) -> dict[str, int]:
    """Return the level that was said of each person in a turn, as the initiator has it."""
    folder = growing.run(run)
    begin = decode(RunStore(run_folder(growing.folder / "clinic-models", run)).task())
    rows = folder.samples()
    training = ~unpack_bits(begin.holdout, len(rows))
    codes = unpack_codes(begin.labels, int(training.sum()), 2)
    taken = decode(folder.whole_turn(turn))
    ids = pl.read_csv(growing.folder / "clinic.csv")["id"].to_numpy()[rows[training]]
    return dict(zip(ids, unpack_reward(taken.reward, codes, 2).levels.tolist(), strict=True))


def test_nothing_is_sent_of_people_who_are_as_they_were(first, second):
    sent, whole = (decode(read(2)) for read in (second.run("second").turn, second.run("second").whole_turn))
    other = {f"p-{person:04d}" for person in relabelled(first)}
    for aside, said, of_all, each in ((False, sent.reward, whole.reward, 1), (True, sent.holdout, whole.holdout, 1)):
        before, now = first.people(first.run("first"), aside), second.people(second.run("second"), aside)
        fresh = now - before | ((now & other) if not aside else set())  # of who is held out, labels tell nothing
        assert (said.n, of_all.n) == (each * len(fresh), each * len(now))


def test_nobody_who_was_trained_on_is_held_out_and_who_was_held_out_stays_so(first, second):
    trained, held_out = (first.people(first.run("first"), aside) for aside in (False, True))
    now = second.people(second.run("second"), True)
    assert not now & trained
    gone = {f"p-{person:04d}" for person in GONE}
    assert held_out - gone <= now
    assert len(now - held_out) == pytest.approx(0.25 * 50, abs=2)  # of the new ones, the usual share


def test_agents_that_are_started_again_vote_the_same(second, tmp_path):
    scores = votes(second, "second")
    np.testing.assert_array_equal(scores, votes(second.copied(tmp_path / "copy"), "second"))
    assert np.abs(scores).max() > 0.0


def test_a_run_that_went_on_can_itself_be_gone_on_from(second, tmp_path):
    made = second.copied(tmp_path / "project")
    made.write(range(30, 220))
    folder = made.go_on("third", "second", settings={"n_rounds": 1})
    made.train(folder)
    kept = len([c for c in made.run("second").result()["contributions"] if c["agent"] == "lab"])
    assert changes(folder).again["lab"] == kept
    assert votes(made, "third").shape == (190, 2)


# -- the same as anew, where it should be --


def test_with_a_new_helper_and_the_same_people_it_is_the_run_that_starts_anew_to_the_bit(tmp_path):
    """It speaks last in a round, so that the turns that are taken again are those that the others would take."""
    made = Growing(tmp_path / "project")
    made.write(BEFORE)
    made.train(made.begin("first", seed=6))
    folder = made.go_on("onward", "first", ["shop"])
    events = made.train(folder)
    anew = made.begin("anew", ["clinic", "lab", "shop"], n_rounds=2, seed=6)
    made.train(anew)
    assert anew.result()["n_rounds"] == 1  # a later round would differ: nobody corrects models of an earlier run
    assert turns(events)[:3] == [(1, "clinic"), (1, "lab"), (1, "shop")]
    same = ("contributions", "evaluation", "calibration", "combination", "stop_reason", "n_rounds")
    assert {key: folder.result()[key] for key in same} == {key: anew.result()[key] for key in same}
    np.testing.assert_array_equal(votes(made, "onward"), votes(made, "anew"))
    sent = decode(folder.turn(2))
    assert (sent.reward.n, sent.holdout.n) == (0, 0)  # of nobody anything is told twice
    assert changes(folder).new_agents == ["shop"]


@pytest.mark.parametrize(("method", "n_classes"), [("ascii", 2), ("soft", 3)])
def test_every_method_goes_on_and_after_an_interruption_at_any_message_ends_the_same(tmp_path, method, n_classes):
    made = Growing(tmp_path / "project", n_classes)
    made.write(range(90))
    made.train(made.begin("first", method=method, combine=None, models_per_turn=1))
    made.write(range(110))
    whole, broken = made.go_on("second", "first"), made.copied(tmp_path / "broken")
    made.train(whole)
    folder, tries = broken.run("second"), 0
    while folder.result() is None and tries < 12:
        tries += 1
        with suppress(KeyboardInterrupt):
            list(broken.events(folder, Cut(broken.services(folder), after=4)))
    assert tries > 2
    assert folder.result()["contributions"] == whole.result()["contributions"]
    np.testing.assert_array_equal(votes(made, "second"), votes(broken, "second"))


class Cut:
    """A transport to agents that have just been started, in which an answer is lost after some messages."""

    def __init__(self, services: dict[str, Any], after: int) -> None:
        self._services, self._left = services, after

    def ask(self, agent: str, request: bytes) -> bytes:
        reply = self._services[agent].answer(request)
        self._left -= 1
        if self._left < 0:
            raise KeyboardInterrupt
        return reply


# -- forgetting --


def test_the_earlier_run_can_be_forgotten_and_the_new_one_still_votes(second, tmp_path):
    made = second.copied(tmp_path / "project")
    before = votes(made, "second")
    folder = made.run("first")
    transport = MemoryTransport({name: each.answer for name, each in made.services(folder).items()})
    forgotten = forget(with_own_table(folder, transport, training=False)[0])
    assert forgotten.removed == {"clinic": 1, "lab": 1}
    np.testing.assert_array_equal(votes(made, "second"), before)
    assert not list(made.folder.glob("*-models/runs/first"))


def test_what_was_copied_of_the_earlier_run_is_gone_once_the_new_one_has_ended(second):
    assert not list(second.folder.glob("*-models/runs/second/again"))
    assert len(list(second.folder.glob("lab-models/runs/second/turns/000002/model.skops"))) == 1
