"""Turns that cannot be taken again are named and taken anew; runs that cannot be gone on from are refused."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from assistlearn import storage
from assistlearn.agent.limits import ToldBook
from assistlearn.agent.loading import holdings_of
from assistlearn.agent.run import KnownBefore, RunSamples
from assistlearn.core import SoftReward
from assistlearn.errors import ProtocolError, RunError, SettingsError
from assistlearn.methods import method_named
from assistlearn.plan import Plan
from assistlearn.protocol import messages as m
from assistlearn.protocol.arrays import pack_holdout, pack_reward
from assistlearn.session.setup import HELD_OUT, NEW, TRAINED_ON, split_of
from tests.initiator.digests import rewrite_settings
from tests.initiator.growing import Growing, changes, turns

TOLD_TWICE = "[privacy]\nmax_bits_per_sample = 16\n"
"""With two classes a soft turn tells 8 bits of a person to train on, and 16 of one who is held out."""


@pytest.fixture(scope="module")
def trained(tmp_path_factory: pytest.TempPathFactory) -> Growing:
    """A run without hold-out samples, which is soon trained; the lab tells two turns of a person at the most."""
    made = Growing(tmp_path_factory.mktemp("trained") / "project", more={"lab": TOLD_TWICE})
    made.write(range(90))
    made.train(made.begin("first", holdout=None, reward="in-sample", combine="sum"))
    return made


def lose_the_task(made: Growing) -> None:
    (made.folder / "lab-models" / "runs" / "first" / "begin.msg").unlink()


def change_a_model(made: Growing) -> None:
    path = next(made.folder.glob("lab-models/runs/first/turns/*/model.skops"))
    path.write_bytes(path.read_bytes()[:-1] + b"!")


def forget_it(made: Growing) -> None:
    (made.folder / "lab-models" / "runs" / "first").rename(made.folder / "elsewhere")


def have_other_columns(made: Growing) -> None:
    made.write(range(90), lab=range(4, 9))


def allow_another_purpose(made: Growing) -> None:
    """The earlier run was for no purpose; the one that goes on has one."""
    made.more = {"lab": 'purpose = "care"\n' + TOLD_TWICE}
    made.write(range(90))


REASONS = [
    (lose_the_task, "was changed, damaged or lost"),
    (change_a_model, "was changed, damaged or lost"),
    (forget_it, "it knows no run 'first' of 'clinic'"),
    (have_other_columns, "the columns of its table are not those"),
    (allow_another_purpose, "its owner no longer allows run 'first'"),
]


@pytest.mark.parametrize(("spoil", "why"), REASONS, ids=lambda each: getattr(each, "__name__", ""))
def test_a_helper_whose_turns_cannot_be_taken_again_is_named_and_takes_them_anew(trained, tmp_path, spoil, why):
    made = trained.copied(tmp_path / "project")
    spoil(made)
    folder = made.go_on("second", "first", settings={"purpose": "care"})
    taken = turns(made.train(folder))
    said = changes(folder)
    assert said.again == {"clinic": 1}
    assert why in said.anew["lab"]
    assert str(made.folder) not in said.anew["lab"]  # where its files are is nobody else's business
    assert taken == [(1, "clinic"), (1, "lab"), (2, "clinic"), (2, "lab")]
    assert said.settings == {"purpose": "was , is care"}


def test_a_run_that_requires_what_was_kept_waits_until_it_is_there(trained, tmp_path):
    made = trained.copied(tmp_path / "project")
    kept = made.folder / "lab-models" / "runs" / "first"
    forget_it(made)
    folder = made.go_on("second", "first", require_kept=True)
    with pytest.raises(RunError, match="'lab' cannot take its turns of run 'first' again: it knows no run"):
        made.train(folder)
    (made.folder / "elsewhere").rename(kept)
    made.train(folder)
    assert changes(folder).again == {"clinic": 1, "lab": 1}


def test_a_turn_that_is_taken_again_counts_for_what_it_tells(trained, tmp_path):
    """Of people who are as they were nothing: so that there is room for one more turn, and for no other."""
    made = trained.copied(tmp_path / "project")
    made.write([*range(90), *range(200, 230)])
    folder = made.go_on("second", "first", settings={"n_rounds": 3})
    made.train(folder)
    lab = [each["round"] for each in folder.result()["contributions"] if each["agent"] == "lab"]
    assert lab == [1, 2]
    own = holdings_of(made.file("lab"))
    told = ToldBook(own.home / "told").of("clinic")
    assert own.privacy is not None
    bits = told.of(told.bits, own.privacy.people(np.arange(120)))
    assert bits.tolist() == [16] * 120  # old and new people alike: two turns have told of each


# -- refused at once --


def another_class(made: Growing) -> dict[str, object]:
    made.write(range(90), {4: 2})
    return {}


def of_a_pilot(made: Growing) -> dict[str, object]:
    planned_with(made, pilot={})
    return {}


def not_finished(made: Growing) -> dict[str, object]:
    (made.run("first").path / "result.json").unlink()
    return {}


def without_its_people(made: Growing) -> dict[str, object]:
    (made.run("first").path / "people.npy").unlink()
    return {}


def without_who_held_what(made: Growing) -> dict[str, object]:
    (made.run("first").path / "held.npy").unlink()
    return {}


def with_another_key(made: Growing) -> dict[str, object]:
    """Nobody would be known again: those who were trained on would be new, and might be held out."""
    (made.folder / "clinic-models" / "class-order.key").write_text("ab" * 32)
    return {}


def without_the_key(made: Growing) -> dict[str, object]:
    (made.folder / "clinic-models" / "class-order.key").unlink()
    return {}


def planned_with(made: Growing, **changed: object) -> None:
    folder = made.run("first").path
    rewrite_settings(folder, storage.read_json(folder / "settings.json") | changed)


def of_the_recommended_way(made: Growing) -> dict[str, object]:
    """What goes with the earlier method does not go with the other one: the method is what the message names."""
    planned_with(made, reward="auto", combine="auto", models_per_turn=20)
    return {"method": "ascii"}


def of_private_labels(made: Growing) -> dict[str, object]:
    planned_with(made, method="label-private")
    return {}


REFUSED = [
    (without_the_key, r"class-order\.key is missing, but told-labels\.sqlite beside it was written under this key"),
    (with_another_key, "None of the 90 people of run 'first' is found in the table"),
    (another_class, "a class 'c2' that run 'first' did not have"),
    (of_a_pilot, "is a pilot"),
    (not_finished, "is not finished"),
    (without_its_people, "people.npy is missing. Restore it from a backup"),
    (without_who_held_what, "held.npy is missing"),
    (lambda made: {"method": "ascii"}, "trained with method='soft'.* method='ascii' cannot use its turns"),
    (lambda made: {"score_bits": 4}, "trained with score_bits=0.* score_bits=4 cannot use its turns"),
    (of_the_recommended_way, "trained with method='soft'.* method='ascii' cannot use its turns"),
    (lambda made: {"method": "label-private"}, "method='label-private' cannot use its turns"),
    (of_private_labels, "no turn of an earlier run can be used again"),
]


@pytest.mark.parametrize(("spoil", "why"), REFUSED, ids=[str(each) for each in range(len(REFUSED))])
def test_a_run_that_cannot_be_gone_on_from_is_refused_before_anything_is_written(trained, tmp_path, spoil, why):
    made = trained.copied(tmp_path / "project")
    changed = spoil(made)
    with pytest.raises((RunError, SettingsError), match=why):
        made.go_on("second", "first", settings=changed)
    assert not made.run("second").exists


def test_who_was_trained_on_cannot_be_held_out_so_that_a_report_needs_new_people(trained, tmp_path):
    made = trained.copied(tmp_path / "project")
    folder = made.go_on("second", "first", settings={"holdout": 0.2})
    with pytest.raises(SettingsError, match="of 90 samples, of whom 90 were trained on before, leaves nothing"):
        made.train(folder)


# -- laws --


@given(st.lists(st.tuples(st.sampled_from([NEW, TRAINED_ON, HELD_OUT]), st.integers(0, 2)), min_size=1, max_size=60))
def test_who_is_held_out_was_so_before_or_is_new(people):
    roles, labels = (np.array(each) for each in zip(*people, strict=True))
    training, aside = split_of(Plan(holdout=0.3), labels, (1, 2), roles)
    if aside is None:
        assert not (roles == HELD_OUT).any()
        return
    assert not (roles[aside] == TRAINED_ON).any()
    assert {*np.flatnonzero(roles == HELD_OUT)} <= {*aside}
    assert sorted([*training, *aside]) == list(range(len(people)))


@st.composite
def retaken(draw: st.DrawFn) -> tuple[KnownBefore, m.TurnTaken, SoftReward]:
    """Draw an earlier run, one that goes on from it, and what was said in a turn of the earlier one."""
    drawn = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    n_then, n_new = draw(st.integers(2, 30)), draw(st.integers(0, 20))
    still = drawn.random(n_then) < 0.7
    aside_then, codes_then = drawn.random(n_then) < 0.3, drawn.integers(0, 2, n_then)
    aside = np.concatenate([aside_then[still], drawn.random(n_new) < 0.3])
    codes = np.concatenate([codes_then[still], drawn.integers(0, 2, n_new)])
    then = RunSamples(codes_then[~aside_then], aside_then, drawn.random(n_then) < 0.8)
    now = RunSamples(codes[~aside], aside, drawn.random(len(aside)) < 0.8)
    soft = method_named("soft", {"loss": "logistic", "shrinkage": 0.5, "score_bits": 8})
    known = KnownBefore.of(still, then, now, soft, 2)
    reward = SoftReward(drawn.integers(-127, 128, len(then.codes)).astype(np.int8), 0.01, 8)
    answers = SoftReward(drawn.integers(-127, 128, int(aside_then.sum())).astype(np.int8), 0.02, 8)
    before = turn_taken(pack_reward(reward, then.codes), pack_holdout(answers, 2) if aside_then.any() else None)
    levels = drawn.integers(-127, 128, int(known.fresh.sum())).astype(np.int8)
    return known, before, SoftReward(levels, 0.01, 8)


def turn_taken(reward: m.Levels, holdout: m.Levels | None) -> m.TurnTaken:
    return m.TurnTaken(
        run="r", turn=1, reward=reward, model_weight=0.5, mean_reward=0.5, perfect=False, holdout=holdout
    )


@settings(max_examples=40)
@given(retaken())
def test_both_sides_make_the_same_whole_of_what_is_new_and_what_was_said_before(drawn):
    known, before, fresh = drawn
    then, answered = known.said(before)
    whole = known.all_rewards(fresh, then)
    silent = ~known.now.held[~known.now.aside] & (known.places >= 0)
    assert not whole.levels[silent].any()
    kept = (known.places >= 0) & ~silent
    assert whole.levels[kept].tolist() == then.levels[known.places[kept]].tolist()
    n_fresh = int(known.fresh_holdout.sum())
    new = SoftReward(np.ones(n_fresh, np.int8), 1.0 if answered is None else answered.scale, 8)
    answers = known.all_answers(new, answered)
    sent = turn_taken(pack_reward(whole, known.now.codes), pack_holdout(answers, 2) if known.now.aside.any() else None)
    assert known.whole(known.part(sent), before) == sent


def test_what_is_said_of_new_people_on_another_scale_is_refused():
    told = RunSamples(np.array([0, 1]), np.zeros(2, bool), np.ones(2, bool))
    now = RunSamples(np.array([0, 1, 1]), np.zeros(3, bool), np.ones(3, bool))
    soft = method_named("soft", {"loss": "logistic", "shrinkage": 0.5, "score_bits": 8})
    known = KnownBefore.of(np.ones(2, bool), told, now, soft, 2)
    before = turn_taken(pack_reward(SoftReward(np.array([5, 9], np.int8), 0.01, 8), told.codes), None)
    louder = turn_taken(pack_reward(SoftReward(np.array([5], np.int8), 4.0, 8), now.codes[2:]), None)
    with pytest.raises(ProtocolError, match="another form, or another scale"):
        known.whole(louder, before)


def test_people_whose_labels_differ_cannot_pass_for_those_of_then():
    told = RunSamples(np.array([0, 1]), np.zeros(2, bool), np.ones(2, bool))
    now = RunSamples(np.array([1, 1]), np.zeros(2, bool), np.ones(2, bool))
    soft = method_named("soft", {"loss": "logistic", "shrinkage": 0.5, "score_bits": 8})
    with pytest.raises(ProtocolError, match="said to have the same labels as in the earlier run"):
        KnownBefore.of(np.ones(2, bool), told, now, soft, 2)
    with pytest.raises(ProtocolError, match="The earlier run has 2 samples"):
        KnownBefore.of(np.ones(3, bool), told, told, soft, 2)
