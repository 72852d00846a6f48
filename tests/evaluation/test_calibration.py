"""Calibrated probabilities are right as often as they say, and never change the predicted class."""

from __future__ import annotations

import json
from dataclasses import asdict, replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as npst
from scipy.optimize import check_grad
from sklearn.base import clone
from sklearn.datasets import load_digits
from sklearn.metrics import log_loss
from sklearn.model_selection import train_test_split
from sklearn.tree import DecisionTreeClassifier

from assistlearn import AssistedClassifier
from assistlearn.core.votes import winners
from assistlearn.evaluation.calibration import (
    FEWEST,
    MOST_GROUPS,
    OUT_OF_FOLD,
    UNCHANGED,
    ScoreCalibration,
    cross_fitted,
    fit_calibration,
    fit_sureness,
    in_words,
    loss_and_slope,
    odds_and_lead,
    reliability,
)
from bench.calibration.measure import expected_calibration_error

classes = st.integers(2, 5)


def softmax(scores):
    said = np.exp(scores - scores.max(axis=1, keepdims=True))
    return said / said.sum(axis=1, keepdims=True)


def drawn(n, n_classes, seed, sharpness=2.0):
    """Return the true logarithms of the chances, centred, and classes that are drawn by them."""
    rng = np.random.default_rng(seed)
    logs = rng.normal(0.0, sharpness, (n, n_classes))
    logs -= logs.mean(axis=1, keepdims=True)
    codes = (rng.random(n)[:, None] > softmax(logs).cumsum(axis=1)).sum(axis=1).clip(max=n_classes - 1)
    return logs, codes


@settings(max_examples=60, deadline=None)
@given(st.data(), classes, st.integers(1, 12))
def test_the_class_with_the_most_votes_stays_the_likeliest(data, n_classes, n):
    shape = (n, n_classes)
    total = data.draw(npst.arrays(np.float64, shape, elements=st.sampled_from([-50.0, -1.0, 0.0, 0.5, 1.0, 300.0])))
    codes = data.draw(npst.arrays(np.int64, n, elements=st.integers(0, n_classes - 1)))
    said = fit_calibration(total, codes).probabilities(total)
    assert winners(said).tolist() == winners(total).tolist()
    assert said.sum(axis=1) == pytest.approx(1.0)
    assert np.isfinite(said).all()


@pytest.mark.parametrize("n_classes", [2, 3, 6])
@pytest.mark.parametrize("times", [0.1, 1.0, 30.0])
def test_scores_that_are_too_bold_or_too_shy_are_put_right(n_classes, times):
    logs, codes = drawn(3_000, n_classes, 0)
    calibration = fit_calibration(times * logs, codes)
    fresh, truth = drawn(20_000, n_classes, 1)
    said = calibration.probabilities(times * fresh)
    assert expected_calibration_error(truth, said) < 0.02
    assert log_loss(truth, said) < 1.01 * log_loss(truth, softmax(fresh))


def test_classes_that_are_answered_too_often_are_put_right_as_far_as_the_winner_allows():
    logs, codes = drawn(4_000, 2, 2)
    wrong = logs + np.array([0.7, -0.7])  # class 0 is answered too often
    said = fit_calibration(wrong, codes).probabilities(wrong)
    assert log_loss(codes, said) < log_loss(codes, softmax(wrong)) - 0.05
    assert winners(said).tolist() == winners(wrong).tolist()
    disputed = winners(wrong) != winners(logs)
    assert said[disputed].max() < 0.5001


def test_thirty_samples_do_hardly_any_harm_to_probabilities_that_are_right():
    losses = []
    for seed in range(40):
        logs, codes = drawn(30, 3, seed)
        fresh, truth = drawn(2_000, 3, 1_000 + seed)
        said = fit_calibration(1.5 * logs, codes).probabilities(1.5 * fresh)  # 3 / 2: the formula has 2 / 3
        losses.append(log_loss(truth, said) / log_loss(truth, softmax(fresh)))
    assert np.mean(losses) < 1.1
    assert max(losses) < 1.4


def test_samples_that_are_all_right_do_not_make_it_certain():
    codes = np.arange(30) % 2
    total = np.where(codes[:, None] == np.arange(2), 5.0, -5.0)
    said = fit_calibration(total, codes).probabilities(total)
    assert 0.9 < said.max() < 0.9999


def test_the_order_of_the_classes_does_not_matter():
    logs, codes = drawn(400, 4, 3)
    swapped = np.array([2, 0, 3, 1])
    one, other = fit_calibration(logs, codes), fit_calibration(logs[:, swapped], np.argsort(swapped)[codes])
    assert np.array(one.factors)[swapped] == pytest.approx(other.factors, rel=1e-3)
    assert np.array(one.offsets)[swapped] == pytest.approx(other.offsets, abs=1e-3)


def test_a_class_that_does_not_occur_is_not_impossible():
    logs, codes = drawn(200, 3, 4)
    said = fit_calibration(logs[codes != 2], codes[codes != 2]).probabilities(logs)
    assert said[:, 2].min() > 0.0


def test_equal_weights_are_no_weights_and_uneven_ones_count_as_fewer_samples():
    logs, codes = drawn(60, 3, 5)
    assert fit_calibration(logs, codes, np.full(60, 7.0)).factors == pytest.approx(fit_calibration(logs, codes).factors)
    few = np.where(np.arange(60) < 20, 1.0, 1e-9)
    one, other = fit_calibration(logs, codes, few), fit_calibration(logs[:20], codes[:20])
    assert one.probabilities(logs) == pytest.approx(other.probabilities(logs), abs=0.05)


def test_the_slope_is_that_of_the_loss():
    logs, codes = drawn(50, 3, 6)
    start, rest = np.random.default_rng(0).normal(0.0, 0.5, 7), (logs, np.eye(3)[codes] + 0.01, -0.4)
    loss, slope = (lambda x: loss_and_slope(x, *rest)[0]), (lambda x: loss_and_slope(x, *rest)[1])
    assert check_grad(loss, slope, start) < 1e-4 * np.abs(slope(start)).max()


def test_a_calibration_is_kept_as_plain_numbers_to_the_bit():
    calibration = fit_calibration(*drawn(100, 3, 7))
    assert ScoreCalibration.from_json(json.loads(json.dumps(asdict(calibration)))) == calibration
    assert ScoreCalibration.from_json(None) is None


def test_probabilities_that_are_drawn_from_have_no_calibration_error():
    logs, codes = drawn(50_000, 3, 8)
    assert expected_calibration_error(codes, softmax(logs)) < 0.01
    assert expected_calibration_error(codes, softmax(5.0 * logs)) > 0.05


def test_out_of_fold_probabilities_keep_the_winner_too():
    logs, codes = drawn(60, 3, 9)
    assert winners(cross_fitted(logs, codes)).tolist() == winners(logs).tolist()


def test_out_of_fold_probabilities_tell_the_loss_on_fresh_samples():
    """Those of a calibration that was fitted to the same samples look better than they are."""
    told, seen, fresh_loss = [], [], []
    for seed in range(30):
        logs, codes = drawn(40, 4, seed)
        fresh, truth = drawn(2_000, 4, 500 + seed)
        calibration, known = fit_calibration(logs, codes), np.arange(4)
        told.append(log_loss(codes, cross_fitted(logs, codes), labels=known))
        seen.append(log_loss(codes, calibration.probabilities(logs), labels=known))
        fresh_loss.append(log_loss(truth, calibration.probabilities(fresh), labels=known))
    assert np.mean(seen) < np.mean(fresh_loss)
    assert abs(np.mean(told) - np.mean(fresh_loss)) < 0.05


def test_samples_of_no_weight_leave_the_formula_as_it_is_up_to_the_flat_sample():
    logs, codes = drawn(30, 3, 10)
    said = fit_calibration(logs, codes, np.zeros(30)).probabilities(logs)
    assert np.isfinite(said).all()


def test_words_say_by_what_and_why_not():
    calibration = fit_calibration(*drawn(30, 3, 11), fitted_to=OUT_OF_FOLD)
    assert (
        in_words(calibration, wanted=True, learned=False)
        == "calibrated by the out-of-fold votes on 30 training samples"
    )
    assert "those of the combination" in in_words(None, wanted=True, learned=True)
    assert "as you asked" in in_words(None, wanted=False, learned=False)


@given(st.integers(0, 400), st.integers(2, 5), st.integers(0, 2**32 - 1), st.integers(1, 40))
def test_groups_hold_every_sample_once_and_their_means_are_those_of_all(n, n_classes, seed, n_levels):
    rng = np.random.default_rng(seed)
    said = rng.integers(1, n_levels + 1, (n, n_classes)).astype(float)
    codes, predicted = rng.integers(0, n_classes, n), said.argmax(axis=1)
    weights = rng.integers(0, 3, n).astype(float)
    groups = reliability(codes, said, predicted, weights)
    there = weights > 0.0
    assert sum(group.n_samples for group in groups) == there.sum()
    assert len(groups) <= MOST_GROUPS
    assert len(groups) <= 1 or there.sum() >= FEWEST * len(groups)
    if there.any():
        sure = (said[np.arange(n), predicted] / said.sum(axis=1))[there]
        assert [group.said for group in groups] == sorted(group.said for group in groups)
        assert sure.min() - 1e-6 <= groups[0].said
        assert groups[-1].said <= sure.max() + 1e-6


def test_answers_that_tell_the_truth_are_right_as_often_as_they_say():
    rng = np.random.default_rng(0)
    sure = rng.uniform(0.5, 1.0, 50_000)
    codes = (rng.uniform(size=len(sure)) > sure).astype(int)
    groups = reliability(codes, np.column_stack([sure, 1.0 - sure]), np.zeros(len(sure), dtype=int))
    assert len(groups) == MOST_GROUPS
    for group in groups:
        assert group.right == pytest.approx(group.said, abs=0.03)


def test_a_sample_that_weighs_three_counts_as_three_alike():
    said = np.tile([[0.3, 0.7]], (2, 1))
    (group,) = reliability(np.array([1, 0]), said, np.array([1, 1]), np.array([3.0, 1.0]))
    assert (group.n_samples, group.said, group.right) == (2, 0.7, 0.75)


def test_few_samples_are_one_group():
    said = np.column_stack([np.linspace(0.5, 0.9, 2 * FEWEST - 1), np.linspace(0.5, 0.1, 2 * FEWEST - 1)])
    assert len(reliability(np.zeros(len(said), dtype=int), said, np.zeros(len(said), dtype=int))) == 1


def test_answers_that_are_equally_sure_are_in_one_group_even_if_the_group_before_becomes_small():
    """The mean size of a group is never below the fewest; a single one may be, and its interval says so."""
    sure = np.repeat([0.6, 0.9], [5, 2 * FEWEST - 5])
    few, many = reliability(
        np.zeros(len(sure), dtype=int), np.column_stack([sure, 1.0 - sure]), np.zeros(len(sure), dtype=int)
    )
    assert (few.n_samples, many.n_samples) == (5, 2 * FEWEST - 5)
    assert few.interval[0] < many.interval[0]


def behind_winners(n, n_classes, seed):
    exponents = np.random.default_rng(seed).normal(0.0, 2.0, (n, n_classes))
    return exponents - exponents.max(axis=1, keepdims=True)


def test_odds_and_lead_are_those_of_the_probabilities():
    behind = behind_winners(50, 5, 0)
    said = np.sort(np.exp(behind) / np.exp(behind).sum(axis=1, keepdims=True), axis=1)
    odds, lead = odds_and_lead(behind)
    assert odds == pytest.approx(np.log(said[:, -1] / (1.0 - said[:, -1])))
    assert lead == pytest.approx(np.log(said[:, -1] / said[:, -2]))


@pytest.mark.parametrize("truth", [(0.8, 0.0, 0.0), (0.0, -0.5, 0.0), (-0.3, 0.2, 0.4)])
def test_a_known_correction_is_found_again(truth):
    behind = behind_winners(20_000, 4, 1)
    odds, lead = odds_and_lead(behind)
    true_odds = odds + truth[0] + truth[1] * odds + truth[2] * lead
    right = np.random.default_rng(2).random(len(odds)) < 1.0 / (1.0 + np.exp(-true_odds))
    assert fit_sureness(behind, right, np.ones(len(odds))) == pytest.approx(truth, abs=0.12)


def test_samples_that_count_twice_are_as_good_as_two():
    behind = behind_winners(200, 4, 3)
    right = np.arange(200) % 3 > 0
    twice = fit_sureness(np.vstack([behind, behind]), np.hstack([right, right]), np.ones(400))
    assert fit_sureness(behind, right, np.full(200, 2.0)) == pytest.approx(twice, abs=1e-5)


def test_an_ensemble_of_two_voters_says_how_often_it_is_right():
    """Digits, cut in two. A factor per class cannot tell answers that both give from those that they quarrel about."""
    X, y = load_digits(return_X_y=True)
    X, X_test, y, y_test = train_test_split(X, y, test_size=0.5, random_state=0, stratify=y)
    tree = DecisionTreeClassifier(max_depth=3)
    agents = [("left", tree, slice(0, 32)), ("right", tree, slice(32, 64))]
    model = AssistedClassifier(agents, method="ensemble", holdout=0.3, n_rounds=10, random_state=0).fit(X, y)
    without = clone(model).fit(X, y)
    without.calibration_ = replace(model.calibration_, sureness=UNCHANGED)
    error = expected_calibration_error(y_test, model.predict_proba(X_test))
    assert error < 0.06
    assert expected_calibration_error(y_test, without.predict_proba(X_test)) > 1.5 * error


def test_two_classes_need_no_correction():
    total = np.random.default_rng(0).normal(size=(100, 2))
    assert fit_calibration(total, (total[:, 1] > 0).astype(int)).sureness == UNCHANGED
