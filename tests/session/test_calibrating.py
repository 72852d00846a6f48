"""What the probabilities of a run are calibrated by."""

from __future__ import annotations

import numpy as np
import pytest

from assistlearn.evaluation.calibration import HOLDOUT, OUT_OF_FOLD, fit_calibration
from assistlearn.initiator.setup import set_up
from assistlearn.plan import Plan
from assistlearn.session.combining import Told
from assistlearn.session.holdout import Heard, HoldOut
from assistlearn.session.judging import ByHoldout
from tests.papers_settings import PAPERS

CODES = np.arange(40) % 3


def calibrating(**settings):
    plan = Plan(**(PAPERS | settings))
    made = set_up(plan, ["a", "b"], CODES, CODES, 3)
    return made, made.calibrating(plan, CODES, 3)


@pytest.mark.parametrize(
    ("settings", "kind"),
    [
        ({"holdout": 0.3}, "ByHoldout"),
        ({"method": "soft", "reward": "out-of-fold"}, "ByOutOfFold"),
        ({"method": "soft", "reward": "out-of-fold", "holdout": 0.3}, "ByHoldout"),
        ({"method": "soft", "reward": "auto"}, "NoneType"),
        ({"reward": "out-of-fold"}, "NoneType"),
        ({"holdout": 0.3, "calibrate": None}, "NoneType"),
        ({"holdout": 0.3, "calibrate": "none"}, "NoneType"),
        ({"method": "soft", "reward": "auto", "combine": "auto", "holdout": 0.3}, "NoneType"),
        ({"method": "label-private", "reward": "auto", "holdout": 0.3}, "NoneType"),
        ({}, "NoneType"),
    ],
)
def test_only_votes_on_unseen_samples_that_are_added_up_are_calibrated_by(settings, kind):
    assert type(calibrating(**settings)[1]).__name__ == kind


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
        aside.add(Heard(1, "b", answer, 1.0))
        found.append(ByHoldout(aside).scores(1).calibration())
    assert found[0] == found[1]


def test_hold_out_votes_of_later_rounds_and_of_who_is_left_out_do_not_count():
    made, by = calibrating(holdout=0.3)
    assert by.scores(1) is None
    aside = CODES[made.aside]
    made.holdout.add(Heard(1, "a", aside, 1.0))
    made.holdout.add(Heard(1, "b", (aside + 1) % 3, 0.7))
    made.holdout.add(Heard(2, "a", (aside + 2) % 3, 5.0))
    found = by.scores(1, ["b"])
    assert found.kind == HOLDOUT
    np.testing.assert_allclose(found.total, np.where(aside[:, None] == np.arange(3), 1.0, -0.5))
    assert by.scores(2).total.max() > by.scores(1).total.max()


def test_out_of_fold_votes_add_up_over_models():
    made, by = calibrating(method="soft", reward="out-of-fold")
    assert by.scores(1) is None
    method, rng = made.methods["a"], np.random.default_rng(1)
    rewards = [method.reward(rng.dirichlet(np.ones(3), 40), CODES, None, 3) for _ in range(2)]
    for weight, reward in zip((0.5, 0.25), rewards, strict=True):
        by.add(Told(1, "a", reward, weight))
    found = by.scores(1)
    assert found.kind == OUT_OF_FOLD
    np.testing.assert_allclose(
        found.total, 0.5 * method.class_votes(rewards[0], CODES) + 0.25 * method.class_votes(rewards[1], CODES)
    )
    assert found.calibration() == fit_calibration(found.total, CODES, fitted_to=OUT_OF_FOLD)
