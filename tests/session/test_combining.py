"""Which rounds paid: the combination after a round is that of all models so far, and rounds keep their numbers."""

from __future__ import annotations

import math

import numpy as np

from assistlearn.core import Reward
from assistlearn.plan import Plan
from assistlearn.session import Combining, Kept

SOFT = Plan(method="soft").make_method()
CODES = np.tile([0, 1], 100)


def combining() -> Combining:
    told = {"clinic": CODES, "lab": CODES}
    return Combining("learned", SOFT, CODES, told, 2, 0)


def reward(right: float, seed: int = 0) -> Reward:
    answers = np.where(np.random.default_rng(seed).random(len(CODES)) < right, CODES, 1 - CODES)
    return SOFT.reward(np.where(np.arange(2) == answers[:, None], 0.9, 0.1), CODES, None, 2)


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
    run.add(Kept(3, "lab", 1.0, SOFT.silence(len(CODES), 2)))
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
    run.add(Kept(2, "lab", 1.0, SOFT.silence(len(CODES), 2)))
    assert not run.promising
    run.add(Kept(2, "lab", 1.0, reward(0.95, seed=2)))
    assert run.promising
