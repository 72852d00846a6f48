"""Who is believed: what is said of training samples must hold for hold-out samples, but for chance."""

from __future__ import annotations

from functools import partial

import numpy as np
import pytest

from assistlearn.agent.agent import Answer
from assistlearn.core import Verdict
from assistlearn.methods import method_named
from assistlearn.methods.method import ABSTAINS
from assistlearn.plan import Plan
from assistlearn.session import HoldOut
from assistlearn.session.judging import believed, contradiction, doubt_of

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
    assert (doubt_of(plan, HoldOut(np.array([0, 1]), 2, 3, method)) is not believed) == doubted
    assert doubt_of(plan, None) is believed
