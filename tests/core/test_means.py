"""A weighted mean and its standard error: lawful for any weights, and never certain after one sample."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from assistlearn.combination.evidence import Tried
from assistlearn.core.people import effective_size, mean_and_error, means_and_errors
from assistlearn.evaluation.differences import differences

numbers = st.floats(-100.0, 100.0, allow_subnormal=False)
weighted = st.lists(st.tuples(numbers, st.floats(0.01, 100.0)), min_size=2, max_size=30)


@given(st.lists(numbers, min_size=2, max_size=30))
def test_with_equal_weights_the_error_is_scipys(values):
    mean, error = mean_and_error(np.array(values))
    assert mean == pytest.approx(np.mean(values), abs=1e-9)
    assert error == pytest.approx(stats.sem(values), rel=1e-9, abs=1e-9)


@given(weighted, st.floats(1e-6, 1e6))
def test_the_scale_of_the_weights_does_not_matter(samples, scale):
    values, weights = np.array(samples).T
    assert mean_and_error(values, scale * weights) == pytest.approx(mean_and_error(values, weights), abs=1e-9)


@given(weighted, st.lists(numbers, max_size=5))
def test_samples_of_weight_zero_do_not_count(samples, others):
    values, weights = np.array(samples).T
    among = np.append(values, others), np.append(weights, np.zeros(len(others)))
    assert mean_and_error(*among) == pytest.approx(mean_and_error(values, weights), rel=1e-12, abs=1e-12)


@given(numbers, st.lists(numbers, max_size=5))
def test_one_sample_is_no_certainty_however_many_of_weight_zero_stand_beside_it(value, others):
    weights = np.append(2.0, np.zeros(len(others)))
    assert mean_and_error(np.append(value, others), weights) == (pytest.approx(value), math.inf)
    assert mean_and_error(np.array([value])) == (value, math.inf)


def test_without_a_sample_there_is_no_mean_and_no_certainty():
    for found in (mean_and_error(np.empty(0)), mean_and_error(np.ones(3), np.zeros(3))):
        assert math.isnan(found[0])
        assert found[1] == math.inf


def test_a_sample_of_almost_all_the_weight_is_no_certainty_either():
    """Its own distance to the mean is nearly zero, but the others show how far samples lie apart."""
    rng = np.random.default_rng(0)
    weights = np.append(1e6, np.ones(50))
    errors = [mean_and_error(rng.normal(size=51), weights)[1] for _ in range(400)]
    assert np.mean(np.square(errors)) == pytest.approx(1.0, rel=0.25)
    assert mean_and_error(np.array([1.0, 5.0]), np.array([1e300, 1e-300])) == (1.0, math.inf)


@pytest.mark.parametrize("weights", [np.ones(3), [1, 2, 3, 4], [0, 1, 20, 1, 1], np.r_[9.0, np.ones(20)]])
def test_the_square_of_the_error_is_on_average_that_of_the_mean(weights):
    weights = np.asarray(weights, dtype=float)
    values = np.random.default_rng(1).normal(size=(len(weights), 20_000))
    means, errors = means_and_errors(values, weights)
    assert np.mean(errors**2) == pytest.approx(np.var(means), rel=0.04)
    assert np.var(means) == pytest.approx(1.0 / effective_size(weights), rel=0.04)


def test_one_sample_proves_no_way_better_and_no_difference():
    one = np.array([0.0, 1.0, 0.0])
    good, bad = Tried(np.zeros(3), one), Tried(np.ones(3), one)
    assert good.loss < bad.loss
    assert good.error == math.inf
    assert not good.is_better_than(bad)
    codes, said = np.array([0, 1, 0]), np.array([[0.9, 0.1], [0.2, 0.8], [0.7, 0.3]])
    assert set(differences(codes, said, np.full((3, 2), 0.5), one).values()) == {None}
