"""What is kept aside, who is believed by it, what probabilities are calibrated by, and which rounds paid."""

from __future__ import annotations

import math
from functools import partial
from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.datasets import make_classification
from sklearn.naive_bayes import GaussianNB

from assistlearn import AssistedClassifier, StopReason
from assistlearn.agent.agent import Answer
from assistlearn.core import Reward, Verdict
from assistlearn.evaluation.calibration import HOLDOUT, OUT_OF_FOLD, fit_calibration
from assistlearn.methods import method_named
from assistlearn.methods.hard import Ascii, Ensemble
from assistlearn.methods.method import ABSTAINS
from assistlearn.plan import Plan
from assistlearn.session import Combining, HoldOut, Kept
from assistlearn.session.judging import calibration_on_holdout, contradiction, doubt_of, split
from assistlearn.session.setup import Task, set_up
from bench.accuracy.bytes import Counted
from tests.papers_settings import PAPERS


@given(st.lists(st.integers(0, 4), min_size=1, max_size=60), st.floats(0.01, 0.99), st.integers(0, 1000))
def test_a_split_parts_every_class_fairly_and_leaves_it_something_to_train_on(codes, fraction: float, seed: int):
    codes = np.array(codes)
    train, aside = split(codes, fraction, np.random.RandomState(seed))
    assert sorted([*train, *aside]) == list(range(len(codes)))
    assert set(codes[train]) == set(codes)
    for code in set(codes):
        n, n_aside = (codes == code).sum(), (codes[aside] == code).sum()
        assert n_aside == min(round(fraction * n), n - 1)


def test_a_split_follows_its_source_of_chance():
    codes = np.tile([0, 1], 50)
    _, first = split(codes, 0.3, np.random.RandomState(0))
    _, again = split(codes, 0.3, np.random.RandomState(0))
    _, other = split(codes, 0.3, np.random.RandomState(1))
    assert np.array_equal(first, again)
    assert not np.array_equal(first, other)


def test_the_best_round_is_the_first_of_the_best():
    holdout = HoldOut(np.array([0, 1]), 2, patience=2, method=Ascii())
    holdout.add(Kept(1, "a", 1.0, holdout=np.array([0, 0])))
    assert holdout.finish_round() == (0.5, 0.5)
    holdout.add(Kept(2, "b", 2.0, holdout=np.array([0, 1])))
    assert holdout.finish_round() == (1.0, 1.0)
    assert holdout.finish_round() == (1.0, 1.0)
    assert not holdout.exhausted
    assert holdout.finish_round() == (1.0, 1.0)
    assert holdout.exhausted
    assert holdout.best_round == 2


def test_weights_decide_unless_the_agents_vote_by_majority():
    votes = {"loud": ([1], 5.0), "b": ([0], 1.0), "c": ([0], 1.0)}
    by_weight, by_majority = HoldOut(np.array([0]), 2, 1, Ascii()), HoldOut(np.array([0]), 2, 1, Ensemble())
    for name, (answers, weight) in votes.items():
        by_weight.add(Kept(1, name, weight, holdout=np.array(answers)))
        by_majority.add(Kept(1, name, weight, holdout=np.array(answers)))
    assert by_weight.finish_round() == (0.0, 0.0)
    assert by_majority.finish_round() == (1.0, 1.0)


def test_without_any_vote_the_most_frequent_class_is_the_answer():
    shares = np.array([0.4, 0.6])
    assert HoldOut(np.array([0, 1, 0, 0]), 2, 1, Ascii(), class_shares=shares).finish_round() == (0.25, 0.25)
    assert HoldOut(np.array([0, 1, 0, 0]), 2, 1, Ascii(), class_shares=shares[::-1]).finish_round() == (0.75, 0.75)


# -- who is believed: what is said of training samples must hold for hold-out samples, but for chance


KEPT = Verdict(1.0, 0.9, False)
SOFT = Plan(method="soft").make_method()
ASCII = Plan(method="ascii").make_method()


def said(rng: np.random.Generator, codes: np.ndarray, right: float, sure: float = 0.9) -> np.ndarray:
    """Return probabilities of a model that is as often right as this, and always equally sure."""
    answers = np.where(rng.random(len(codes)) < right, codes, (codes + 1) % 3)
    return np.where(np.arange(3) == answers[:, None], sure, (1 - sure) / 2)


def soft_answer(right: float, right_aside: float, n: int = 600, n_aside: int = 150, seed: int = 0):
    rng = np.random.default_rng(seed)
    codes, aside = rng.integers(0, 3, n), rng.integers(0, 3, n_aside)
    reward = SOFT.reward(said(rng, codes, right), codes, None, 3)
    answer = Answer(reward, KEPT, SOFT.holdout_answer(said(rng, aside, right_aside), None, 3))
    return partial(contradiction, SOFT, HoldOut(aside, 3, 3, SOFT), None), answer


def test_a_helper_that_is_as_good_on_hold_out_samples_is_believed():
    for seed in range(200):
        doubt, answer = soft_answer(0.8, 0.8, seed=seed)
        assert doubt(answer) == ""


def test_a_helper_that_is_better_on_hold_out_samples_is_believed():
    doubt, answer = soft_answer(0.6, 0.95)
    assert doubt(answer) == ""


def test_a_helper_that_is_far_worse_on_hold_out_samples_is_not_and_the_reason_has_the_numbers():
    doubt, answer = soft_answer(1.0, 0.6)
    words = doubt(answer)
    assert "600 training samples" in words
    assert "150 hold-out samples" in words
    lost = [-np.log(0.9), -(0.6 * np.log(0.9) + 0.4 * np.log(0.05))]  # and about as much as was drawn
    assert float(words.split("its model loses ")[1].split(" ")[0]) == pytest.approx(lost[0], abs=0.005)
    assert float(words.rsplit("it loses ", 1)[1].split(":")[0]) == pytest.approx(lost[1], abs=0.35)


def test_from_the_second_round_on_an_honest_agent_may_claim_a_little_too_much():
    """As residuals do know something of all labels; who claims far too much is not believed then, either."""
    doubt, answer = soft_answer(0.9, 0.75)
    assert "more by 5 standard errors" in doubt(answer, 1)
    assert doubt(answer, 2) == ""
    doubt, answer = soft_answer(1.0, 0.4, n_aside=300)
    assert doubt(answer, 2) != ""


def test_few_hold_out_samples_prove_little():
    doubt, answer = soft_answer(1.0, 0.6, n_aside=5)
    assert doubt(answer) == ""


def test_a_small_difference_on_very_many_samples_is_no_lie():
    doubt, answer = soft_answer(0.83, 0.82, n=2_000_000, n_aside=500_000)
    assert doubt(answer) == ""


def test_a_model_that_is_not_kept_is_not_doubted():
    doubt, answer = soft_answer(1.0, 0.5)
    assert doubt(Answer(answer.reward, Verdict(0.0, 0.5, False), answer.holdout)) == ""


@pytest.mark.parametrize("held_right", [0.75, 1.0])
def test_samples_that_a_helper_does_not_hold_prove_nothing(held_right):
    """A bit says right where an agent abstains; these samples must not make its claims look better than they are."""
    rng = np.random.default_rng(0)
    codes, aside, held = rng.integers(0, 3, 900), rng.integers(0, 3, 300), np.arange(900) % 3 == 0
    answers = np.where(rng.random(300) < held_right, codes[held], (codes[held] + 1) % 3)
    theirs = np.where(rng.random(300) < 0.75, aside, (aside + 1) % 3)
    theirs[:100] = ABSTAINS
    doubt = partial(contradiction, ASCII, HoldOut(aside, 3, 3, ASCII), held)
    words = doubt(Answer(ASCII.reward(answers, codes[held], held, 3), KEPT, theirs))
    assert (words != "") == (held_right == 1.0)
    if words:
        assert "300 training samples" in words
        assert "200 hold-out samples" in words


@pytest.mark.parametrize(
    ("plan", "doubted"),
    [
        (Plan(), True),
        (Plan(method="ascii", reward="out-of-fold"), True),
        (Plan(method="ascii"), False),
        (Plan(method="soft", combine="sum", reward="auto"), False),
        (Plan(method="label-private"), False),
    ],
)
def test_claims_are_compared_where_they_are_about_unseen_samples_and_sending_away_tells_nothing(plan, doubted):
    method = method_named(plan.method, vars(plan))
    assert (doubt_of(plan, HoldOut(np.array([0, 1]), 2, 3, method)) is not None) == doubted
    assert doubt_of(plan, None) is None


# -- what the probabilities of a run are calibrated by


CODES = np.arange(40) % 3


def begun(**settings):
    return set_up(Task(Plan(**(PAPERS | settings)), ["a", "b"], CODES, CODES, 3))


def finished(made, kept=(), left_out=()):
    """A session with these models, as far as calibration looks at it."""
    for each in kept:
        if made.holdout is not None:
            made.holdout.add(each)
    return SimpleNamespace(kept=list(kept), report=SimpleNamespace(left_out=list(left_out)))


def model(made, agent="a", round=1, weight=1.0, seed=1):
    """A kept model that says something of every sample."""
    rng, method = np.random.default_rng(seed), made.methods[agent]
    codes, n_aside = made.codes[agent], len(CODES) - made.n_training
    if not method.wants_probabilities:
        return Kept(round, agent, weight, None, rng.integers(0, 3, n_aside))
    reward = method.reward(rng.dirichlet(np.ones(3), len(codes)), codes, None, 3)
    return Kept(round, agent, weight, reward, method.holdout_answer(rng.dirichlet(np.ones(3), n_aside), None, 3))


@pytest.mark.parametrize(
    ("settings", "kind"),
    [
        ({"holdout": 0.3}, HOLDOUT),
        ({"method": "soft", "reward": "out-of-fold"}, OUT_OF_FOLD),
        ({"method": "soft", "reward": "out-of-fold", "holdout": 0.3}, HOLDOUT),
        ({"method": "soft", "reward": "auto"}, None),
        ({"reward": "out-of-fold"}, None),
        ({"holdout": 0.3, "calibrate": None}, None),
        ({"holdout": 0.3, "calibrate": "none"}, None),
        ({"method": "soft", "reward": "auto", "combine": "auto", "holdout": 0.3}, None),
        ({"method": "label-private", "reward": "auto", "holdout": 0.3}, None),
        ({}, None),
    ],
)
def test_only_votes_on_unseen_samples_that_are_added_up_are_calibrated_by(settings, kind):
    made = begun(**settings)
    found = made.calibration(finished(made, [model(made)]), 1)
    assert (None if found is None else found.fitted_to) == kind


def test_the_secret_order_of_the_classes_does_not_change_a_bit():
    rng = np.random.default_rng(0)
    order, method = np.array([2, 0, 1]), Plan().make_method()
    said = rng.dirichlet(np.ones(3), size=40)
    found = []
    for places in (np.arange(3), order):
        secret = np.empty_like(said)
        secret[:, places] = said
        answer = method.holdout_answer(secret, None, 3)
        aside = HoldOut(places[CODES], 3, 1, method, agents=["a", "b"], order=places)
        aside.add(Kept(1, "b", 1.0, holdout=answer))
        found.append(calibration_on_holdout(aside, 1))
    assert found[0] == found[1]


def test_hold_out_votes_of_later_rounds_and_of_who_is_left_out_do_not_count():
    made = begun(holdout=0.3)
    assert made.calibration(finished(made), 1) is None
    aside = CODES[made.aside]
    said = [("a", 1, aside, 1.0), ("b", 1, (aside + 1) % 3, 0.7), ("a", 2, (aside + 2) % 3, 5.0)]
    session = finished(made, [Kept(round, name, weight, holdout=answers) for name, round, answers, weight in said], "b")
    found = made.calibration(session, 1)
    assert found == fit_calibration(np.where(aside[:, None] == np.arange(3), 1.0, -0.5), aside, fitted_to=HOLDOUT)
    assert made.calibration(session, 2) != found


def test_out_of_fold_votes_add_up_over_models():
    made = begun(method="soft", reward="out-of-fold")
    assert made.calibration(finished(made), 1) is None
    models = [model(made, weight=weight, seed=seed) for seed, weight in enumerate((0.5, 0.25))]
    total = sum(each.model_weight * made.methods["a"].class_votes(each.reward, CODES) for each in models)
    found = made.calibration(finished(made, models), 1)
    assert found == fit_calibration(total, CODES, fitted_to=OUT_OF_FOLD)


# -- which rounds paid: the combination after a round is that of all models so far, and rounds keep their numbers


HALVES = np.tile([0, 1], 100)


def combining() -> Combining:
    told = {"clinic": HALVES, "lab": HALVES}
    return Combining("learned", SOFT, HALVES, told, 2, 0)


def reward(right: float, seed: int = 0) -> Reward:
    answers = np.where(np.random.default_rng(seed).random(len(HALVES)) < right, HALVES, 1 - HALVES)
    return SOFT.reward(np.where(np.arange(2) == answers[:, None], 0.9, 0.1), HALVES, None, 2)


def test_a_round_is_judged_by_what_was_told_in_it_even_if_nobody_told_anything_before():
    """In a run that goes on from an earlier one, all models of the first round may have become useless."""
    run = combining()
    assert run.finish_round() is None
    assert not run.exhausted
    run.add(Kept(2, "clinic", 1.0, reward(0.9)))
    learned = run.finish_round()
    assert learned is not None
    assert learned.loss < 0.7 * math.log(2)
    assert run.best_round == 2
    assert not run.exhausted
    run.add(Kept(3, "lab", 1.0, SOFT.silence(len(HALVES), 2)))
    run.finish_round()
    assert run.exhausted
    assert list(run.rounds) == [2, 3]
    final = run.finish(2)
    assert final is not None
    assert final.losses["linear"] == learned.loss
    assert list(run.rounds) == [2]


def test_the_best_round_is_the_last_one_that_paid():
    run = combining()
    for number, right in ((1, 0.6), (2, 0.95), (3, 0.5)):
        run.add(Kept(number, "clinic", 1.0, reward(right, seed=number)))
        run.finish_round()
    assert run.best_round == 2
    assert run.exhausted


def test_nobody_has_told_anything():
    run = combining()
    assert run.finish_round() is None
    assert (run.finish(1), run.best_round, dict(run.rounds)) == (None, 0, {})


def test_half_a_round_must_bring_half_of_what_pays():
    run = combining()
    assert run.promising  # nobody knows yet
    run.add(Kept(1, "clinic", 1.0, reward(0.6)))
    run.finish_round()
    assert not run.promising
    run.add(Kept(2, "lab", 1.0, SOFT.silence(len(HALVES), 2)))
    assert not run.promising
    run.add(Kept(2, "lab", 1.0, reward(0.95, seed=2)))
    assert run.promising


# -- from the third round on, half of the agents are asked first; the others only if these have something new to say


EASY = {"n_classes": 2, "n_clusters_per_class": 1}


def test_the_helper_is_not_asked_in_a_third_round_in_which_the_initiator_finds_nothing_new():
    X, y = make_classification(200, 6, n_informative=6, n_redundant=0, shuffle=False, **EASY, random_state=2)
    agents = [("own", GaussianNB(), [0, 2, 4]), ("helper", GaussianNB(), [1, 3, 5])]
    settings = {"combine": "learned", "models_per_turn": 2, "random_state": 0}
    model = Counted(agents, **settings).fit(X, y)
    asked = [(taken.turn.round, taken.agent) for taken in model.taken_]
    last = asked[-1][0]
    assert last > 2
    assert model.stop_reason_ is StopReason.ROUNDS_NO_LONGER_PAY
    assert asked[-1] == (last, "own")
    assert model.n_rounds_ == last - 1
    sent = model.bytes_by_round()
    assert sent[-1] - sent[-2] < 10  # nothing but the longer number of the last round
    same = AssistedClassifier(agents, n_rounds=model.n_rounds_, **settings).fit(X, y)
    np.testing.assert_array_equal(model.predict_proba(X), same.predict_proba(X))
