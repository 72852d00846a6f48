"""Groups of answers hold every sample once; where they tell the truth, they are right as often as they say."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from assistlearn.evaluation.calibration import FEWEST, MOST_GROUPS, reliability


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
