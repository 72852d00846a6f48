"""The entropy of a column is that of its values, numbers in bins, whatever they are called."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import entropy

from assistlearn.evaluation.attacks import BINS, column_entropy


@given(st.lists(st.integers(0, 9), min_size=1, max_size=200))
def test_few_values_have_the_entropy_of_their_counts(values):
    wanted = entropy(np.unique(values, return_counts=True)[1], base=2)
    assert column_entropy(np.array(values, float)) == pytest.approx(wanted)
    assert column_entropy(np.array([f"c{value}" for value in values], dtype=object)) == pytest.approx(wanted)


def test_many_numbers_hold_no_more_than_their_bins():
    rng = np.random.default_rng(0)
    for numbers in (rng.normal(size=5_000), rng.exponential(size=5_000), np.arange(5_000.0)):
        assert column_entropy(numbers) == pytest.approx(np.log2(BINS), abs=0.01)
    skewed = np.where(rng.random(5_000) < 0.9, 0.0, rng.normal(size=5_000))
    assert column_entropy(skewed) < 1.5


def test_a_missing_value_is_a_value():
    assert column_entropy(np.array([1.0, np.nan])) == 1.0
    assert column_entropy(np.array(["x", None], dtype=object)) == 1.0
    assert column_entropy(np.full(4, np.nan)) == 0.0


def test_numbers_with_gaps_can_hold_a_little_more_than_their_bins():
    numbers = np.append(np.arange(100.0 * BINS), np.full(100, np.nan))
    assert column_entropy(numbers) == pytest.approx(np.log2(BINS + 1), abs=1e-4)
