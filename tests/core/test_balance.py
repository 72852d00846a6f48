"""Balanced weights: every class counts the same; scikit-learn's are the outside check."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from sklearn.utils.class_weight import compute_sample_weight

from assistlearn.core.labels import balanced, without_scale
from tests.core.strategies import problems


@given(problems())
def test_every_class_has_the_same_weight_and_all_together_as_much_as_before(problem):
    weights = balanced(problem.labels, problem.n_classes, problem.start)
    present = np.unique(problem.labels)
    sums = [weights[problem.labels == label].sum() for label in present]
    np.testing.assert_allclose(sums, problem.start.sum() / problem.n_classes)
    within = problem.labels == present[0]
    np.testing.assert_allclose(weights[within] / weights[within][0], problem.start[within] / problem.start[within][0])


@given(st.lists(st.integers(0, 4), min_size=1, max_size=40))
def test_without_weights_they_are_scikit_learns_to_the_bit(labels):
    codes = np.unique(labels, return_inverse=True)[1]
    np.testing.assert_array_equal(balanced(codes, codes.max() + 1), compute_sample_weight("balanced", codes))


@given(problems(), st.data())
def test_a_sample_of_weight_two_is_two_samples(problem, data):
    n = len(problem.labels)
    times = np.array(data.draw(st.lists(st.integers(0, 3), min_size=n, max_size=n)))
    weights = balanced(problem.labels, problem.n_classes, times.astype(float))
    repeated = balanced(np.repeat(problem.labels, times), problem.n_classes)
    starts = np.concatenate([[0], np.cumsum(times)[:-1]])[times > 0]
    np.testing.assert_allclose(weights[times > 0], repeated[starts] * times[times > 0])
    assert (weights[times == 0] == 0.0).all()


@given(st.lists(st.just(0.0) | st.floats(1e-3, 1e3), min_size=2, max_size=20).filter(any), st.integers(-30, 30))
def test_the_scale_of_weights_goes_without_a_change_of_any_digit(weights, power):
    one, other = (without_scale(np.array(weights) * factor) for factor in (1.0, 2.0**power))
    if min(weights) == max(weights):
        assert one is other is None
    else:
        np.testing.assert_array_equal(one, other)
        np.testing.assert_array_equal(without_scale(one), one)
        assert 1.0 <= one.max() < 2.0
        np.testing.assert_allclose(one * max(weights), np.array(weights) * one.max())
