"""With ``randomise``, what is told of a person is told by a coin of the helper's own; all else follows from that."""

from __future__ import annotations

import itertools
import math
from dataclasses import replace
from datetime import UTC, datetime

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.tree import DecisionTreeClassifier

from assistlearn.agent.file import PrivacyRules
from assistlearn.agent.limits import ToldBook, epsilon_at_delta, told_at
from assistlearn.agent.privacy import Coin, PrivacyKeeper
from assistlearn.agent.releases import limits_at
from assistlearn.agent.service import AgentService
from assistlearn.alignment import Ids
from assistlearn.core.ignorance import NEGLIGIBLE
from assistlearn.core.labels import draw
from assistlearn.protocol import MemoryTransport
from assistlearn.protocol import messages as m
from assistlearn.protocol.arrays import unpack_bits, unpack_codes
from tests.agent.owned_lab import BANK, CODES, PEOPLE, X, lab_with, refused
from tests.initiator.parties import Parties


def told(taken: m.TurnTaken) -> np.ndarray:
    return unpack_bits(taken.reward, len(CODES))


def first_turn(home, **rules) -> m.TurnTaken:
    lab = lab_with(home, **rules)
    lab.ready()
    return lab.take(1)


# -- the coin --


@settings(deadline=None, max_examples=20)
@given(st.floats(0.2, 3.0), st.integers(2, 5))
def test_the_coins_flips_are_as_many_as_the_epsilon_says(tmp_path_factory, epsilon, n_answers):
    coin, n = Coin(tmp_path_factory.mktemp("home") / "coin.key"), 4_000
    truth = np.arange(n) % n_answers
    draws = coin.draws(("reward", "run", 1), [f"p{i}" for i in range(n)], truth)
    wrong = np.mean(draw(truth, None, (math.inf, epsilon, 0.0), n_answers, draws) != truth)
    expected = (n_answers - 1) / (math.exp(epsilon) + n_answers - 1)
    assert abs(wrong - expected) < 6 * math.sqrt(expected * (1 - expected) / n)


def test_the_key_is_for_its_owners_eyes_and_stays(tmp_path):
    first_turn(tmp_path, randomise=1.0)
    key = tmp_path / "coin.key"
    assert key.stat().st_mode & 0o777 == 0o600
    before = key.read_bytes()
    assert len(before) == 32
    lab_with(tmp_path, randomise=1.0).ready("r2")
    assert key.read_bytes() == before


def test_another_question_is_another_draw(tmp_path):
    coin, truth = Coin(tmp_path / "coin.key"), np.zeros(50, int)
    ids = [f"p{i}" for i in range(50)]
    asked = [("reward", "run", 1), ("reward", "run", 2), ("reward", "other", 1), ("vote", "run", 1)]
    drawn = [coin.draws(what, ids, truth) for what in asked] + [coin.draws(asked[0], ids, truth + 1)]
    for place, one in enumerate(drawn):
        for other in drawn[place + 1 :]:
            assert (one != other).all()
    assert (coin.draws(asked[0], ids[::-1], truth) == drawn[0][::-1]).all()


@settings(deadline=None, max_examples=30)
@given(st.floats(0.1, 4.0), st.integers(2, 5))
def test_no_truth_makes_an_answer_more_than_e_to_the_epsilon_times_as_likely(epsilon, n_answers):
    """By enumeration of what chance can be, to one in a hundred thousand."""
    n = 100_000
    chance = (np.arange(n) + 0.5) / n
    counts = [
        np.bincount(draw(np.full(n, truth), None, (math.inf, epsilon, 0.0), n_answers, chance), minlength=n_answers)
        for truth in range(n_answers)
    ]
    for truth, other in itertools.permutations(range(n_answers), 2):
        for answer in range(n_answers):
            assert counts[truth][answer] - 1 <= math.exp(epsilon) * (counts[other][answer] + 1)
        assert counts[truth][truth] + 1 >= math.exp(epsilon) * (counts[other][truth] - 1)


# -- training --


def test_a_reward_is_told_with_flips_and_its_worth_follows_from_them(tmp_path):
    plain, flipped = first_turn(tmp_path / "a"), first_turn(tmp_path / "b", randomise=1.0)
    truth, said = told(plain), told(flipped)
    assert 0 < np.count_nonzero(truth != said) < 40
    assert flipped.mean_reward == pytest.approx(said.mean())
    assert flipped.model_weight == pytest.approx(math.log(said.mean() / (1 - said.mean())))
    assert not flipped.perfect


def test_the_seed_that_the_initiator_knows_does_not_tell_the_flips(tmp_path):
    one, other = (told(first_turn(tmp_path / name, randomise=1.0)) for name in "ab")
    assert (one != other).any()


def test_answers_for_hold_out_samples_are_randomised_too(tmp_path):
    codes, aside = np.digitize(X[:, 0], [0.3, 0.6]), np.arange(len(PEOPLE)) % 2 == 0
    answers = []
    for name, rules in (("plain", {}), ("a", {"randomise": 1.0}), ("b", {"randomise": 1.0})):
        lab = lab_with(tmp_path / name, **rules)
        lab.ready(codes=codes, aside=aside)
        taken = lab.take(1)
        assert taken.model_weight > 0.0
        answers.append(unpack_codes(taken.holdout, int(aside.sum()), 4))
    assert all(answer.max() < 3 for answer in answers)
    assert len({answer.tobytes() for answer in answers}) == 3


def test_methods_that_say_more_than_a_bit_are_refused(tmp_path):
    lab = lab_with(tmp_path, randomise=1.0)
    lab.open()
    lab.align(PEOPLE)
    refused(lab.begin(method="soft"), "privacy.randomise = 1", "more than one bit", "'ascii'", "'ensemble'")


# -- prediction --


def test_votes_are_randomised_and_asking_again_tells_the_same(tmp_path):
    votes = []
    for name, rules in (("plain", {}), ("a", {"randomise": 0.5})):
        lab = lab_with(tmp_path / name, **rules)
        lab.trained(1)
        votes.append(lab.vote(PEOPLE))
    assert votes[0].scores != votes[1].scores
    alone = [lab.vote([person]).scores for person in PEOPLE[:3]]
    lab.restart()
    assert lab.vote(PEOPLE).scores == votes[1].scores
    assert [lab.vote([person]).scores for person in PEOPLE[:3]] == alone


# -- the sum --


def test_epsilon_adds_up_over_turns_and_models_that_vote(tmp_path):
    lab = lab_with(tmp_path, randomise=0.5, max_epsilon=3.0)
    lab.ready()
    for number in (1, 2, 3):
        assert isinstance(lab.take(number), m.TurnTaken)
    n_models = lab.ask(m.End(run="r1", n_rounds=3)).n_models
    assert isinstance(lab.vote(PEOPLE[:5]), m.Scores)
    (standing,) = told_at(ToldBook(tmp_path / "told"))
    assert standing["epsilon"] == pytest.approx(0.5 * (3 + n_models))
    limits = limits_at(lab.service._own, datetime.now(UTC))
    left = {each["key"]: each["left"] for each in limits if each["initiator"] == BANK}
    assert left["privacy.max_epsilon"] == pytest.approx(3.0 - 0.5 * (3 + n_models))


def test_epsilon_ends_where_the_owner_says(tmp_path):
    lab = lab_with(tmp_path, randomise=1.0, max_epsilon=2.5)
    lab.ready()
    for number in (1, 2):
        assert isinstance(lab.take(number), m.TurnTaken)
    refused(lab.take(3), "2.5 epsilon about one person in all: 2 are used", "0.5 are left, 1 more", "max_epsilon")
    lab.open("r2")
    lab.align(PEOPLE, "r2")
    refused(lab.begin("r2"), "60 of 60 people would pass the limit")


def test_a_useless_model_has_spent_epsilon_although_no_bits_are_told(tmp_path):
    """That it is useless follows from the flipped bits."""
    lab = lab_with(tmp_path, randomise=0.01)
    lab.ready(codes=np.random.RandomState(1).permutation(CODES), reward="out-of-fold")
    bits = 0
    for number in range(1, 9):
        bits += lab.take(number).model_weight > NEGLIGIBLE
    (standing,) = told_at(ToldBook(tmp_path / "told"))
    assert standing["epsilon"] == pytest.approx(0.08)
    assert standing["bits"] == bits < 8


def test_composition_is_counted_by_dp_accounting(tmp_path):
    pytest.importorskip("dp_accounting", reason="the extra 'privacy' is not installed")
    assert epsilon_at_delta({0.1: 1}) == pytest.approx(0.1, abs=1e-3)
    many = epsilon_at_delta({0.1: 400})
    assert many == pytest.approx(0.1 * math.sqrt(2 * 400 * math.log(1e6)) + 400 * 0.1 * math.tanh(0.05), rel=0.35)
    assert many < 0.4 * 40
    assert many < epsilon_at_delta({0.1: 400, 0.5: 3}) <= many + 1.5 + 1e-6


# -- whole runs --


@pytest.mark.parametrize("method", ["ascii", "simple", "ensemble"])
def test_a_whole_run_passes_the_initiators_checks(tmp_path, method):
    rng = np.random.RandomState(0)
    table = rng.rand(400, 4)
    y = (table.sum(axis=1) + 0.3 * rng.randn(400) > 2).astype(int)
    agents = [(name, DecisionTreeClassifier(max_depth=2), [i]) for i, name in enumerate(("clinic", "lab", "scans"))]
    held = {"lab": np.arange(400) % 5 != 0}
    parties = Parties(tmp_path, agents, table, y, {"method": method, "n_rounds": 4, "holdout": 0.25}, held)
    services = dict(parties.services())
    own = parties.holdings("lab")
    keeper = PrivacyKeeper("lab", PrivacyRules(randomise=2.0, max_epsilon=100.0), own.home, own.ids)
    services["lab"] = AgentService(replace(own, privacy=keeper))
    leader = parties.leader(MemoryTransport({name: service.answer for name, service in services.items()}))
    list(leader.train())
    ids = parties.holdings("clinic").ids
    prediction = leader.predict(Ids(ids.take(np.arange(100)), "new"), np.arange(100))
    assert not prediction.absent
    assert np.mean(np.asarray(prediction.labels) == y[:100]) > 0.6
    (standing,) = told_at(keeper.book)
    assert standing["people"] == int(held["lab"].sum())
    assert standing["epsilon"] >= 2.0
