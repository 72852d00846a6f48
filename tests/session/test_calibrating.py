"""What the probabilities of a run are calibrated by."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest

from assistlearn.evaluation.calibration import HOLDOUT, OUT_OF_FOLD, fit_calibration
from assistlearn.plan import Plan
from assistlearn.session import HoldOut, Kept
from assistlearn.session.judging import calibration_on_holdout
from assistlearn.session.setup import Task, set_up
from tests.papers_settings import PAPERS

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
