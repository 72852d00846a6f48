"""Differences on the same samples, and how often their intervals hold the truth."""

from __future__ import annotations

import time

import numpy as np
import pytest

from assistlearn.evaluation.metrics import METRICS, answers_of, differences, measure, resampled

DRAWN = ("balanced_accuracy", "roc_auc", "average_precision")


def two_sets_of_answers(n, seed, n_classes=2, gain=0.5):
    """Return classes and what two say about them: the second knows less, but part of the same."""
    rng = np.random.default_rng(seed)
    codes = rng.integers(0, n_classes, n)
    truth = np.eye(n_classes)[codes]
    shared = rng.normal(size=(n, n_classes)) + truth
    own = rng.normal(size=(n, n_classes)) + gain * truth
    return codes, softmax(shared + own), softmax(shared)


def softmax(scores):
    said = np.exp(scores)
    return said / said.sum(axis=1, keepdims=True)


def test_a_difference_is_that_of_the_two_figures_and_lies_in_its_interval():
    codes, assisted, alone = two_sets_of_answers(300, 0, n_classes=3)
    first, second = measure(codes, assisted), measure(codes, alone)
    for name, found in differences(codes, assisted, alone).items():
        assert found.value == pytest.approx(first[name] - second[name], abs=1e-12)
        assert found.low < found.value < found.high


def test_the_other_way_round_changes_the_sign():
    codes, assisted, alone = two_sets_of_answers(300, 1)
    one, other = differences(codes, assisted, alone), differences(codes, alone, assisted)
    for name in METRICS:
        assert (one[name].low, one[name].high) == pytest.approx((-other[name].high, -other[name].low), abs=1e-12)


def test_where_a_class_does_not_occur_the_curves_have_no_difference():
    codes, assisted, alone = two_sets_of_answers(50, 2, n_classes=3)
    kept = codes != 1
    found = differences(codes[kept], assisted[kept], alone[kept])
    assert [name for name, difference in found.items() if difference is None] == ["roc_auc", "average_precision"]


def test_few_samples_without_a_disagreement_are_no_certainty():
    codes, assisted, _ = two_sets_of_answers(20, 3)
    found = differences(codes, assisted, assisted)
    assert found["accuracy"].low < -0.05
    assert found["accuracy"].high > 0.05
    assert found["log_loss"].value == 0.0


def test_a_draw_that_takes_every_sample_once_is_the_metric_itself():
    codes, assisted, alone = two_sets_of_answers(400, 4, n_classes=3)
    assisted, alone = assisted.round(1) + 0.05, alone.round(1) + 0.05  # many equal scores
    weights = np.random.default_rng(0).uniform(0.5, 2.0, 400)
    one, other = answers_of(codes, assisted, weights), answers_of(codes, alone, weights)

    class EverySampleOnce:
        def integers(self, low, high, shape):
            return np.broadcast_to(np.arange(shape[1]), shape)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(np.random, "default_rng", lambda seed: EverySampleOnce())
        found = resampled(one, other, DRAWN, 0)
    for name in DRAWN:
        assert found[name] == pytest.approx(METRICS[name].of(one) - METRICS[name].of(other), abs=1e-12)


def test_equal_weights_are_no_weights_and_a_weight_of_two_is_no_second_sample():
    codes, assisted, alone = two_sets_of_answers(200, 5)
    plain, weighted = differences(codes, assisted, alone), differences(codes, assisted, alone, np.full(200, 3.0))
    for name in METRICS:
        assert (plain[name].low, plain[name].high) == pytest.approx((weighted[name].low, weighted[name].high))


def test_intervals_hold_the_true_difference_about_as_often_as_they_say():
    """95 % of 160; fewer than 140, or all of them, would have a chance of 1 in 3,000 or less."""
    codes, assisted, alone = two_sets_of_answers(200_000, 99)
    first, second = measure(codes, assisted), measure(codes, alone)
    truth = {name: first[name] - second[name] for name in METRICS}
    held = dict.fromkeys(METRICS, 0)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("assistlearn.evaluation.metrics.DRAWS", 200)
        for seed in range(160):
            found = differences(*two_sets_of_answers(150, seed), seed=seed)
            for name, difference in found.items():
                held[name] += difference.low <= truth[name] <= difference.high
    assert {name: count for name, count in held.items() if not 140 <= count <= 159} == {}


def test_ten_thousand_samples_take_a_second_or_two():
    codes, assisted, alone = two_sets_of_answers(10_000, 6)
    began = time.process_time()
    differences(codes, assisted, alone)
    assert time.process_time() - began < 4.0


def test_one_sample_tells_no_difference():
    codes, assisted, alone = two_sets_of_answers(1, 7)
    assert set(differences(codes, assisted, alone).values()) == {None}
