"""How a learner is given the ignorance and seeds: weights where it takes them, seeded resampling where it does not."""

import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse
from sklearn import config_context
from sklearn.ensemble import BaggingClassifier
from sklearn.model_selection import GridSearchCV, RandomizedSearchCV
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier
from sklearn.neural_network import MLPClassifier
from sklearn.tree import DecisionTreeClassifier

from assistlearn.learners.model import MAX_SEED, resample, seed_all, take_rows, takes_weights, weight_scale


@given(st.integers(1, 10**9))
def test_the_scale_is_the_power_of_two_nearest_to_the_number_of_samples(n_samples: int):
    scale = weight_scale(n_samples)
    assert np.log2(scale) == int(np.log2(scale))
    assert 2**-0.5 <= scale / n_samples <= 2**0.5


@pytest.mark.parametrize(
    ("learner", "takes"),
    [
        (DecisionTreeClassifier(), True),
        (MLPClassifier(), True),
        (KNeighborsClassifier(), False),
        (GridSearchCV(DecisionTreeClassifier(), {"max_depth": [1, 2]}), True),
        (RandomizedSearchCV(DecisionTreeClassifier(), {"max_depth": [1, 2]}), True),
        (GridSearchCV(KNeighborsClassifier(), {"n_neighbors": [1, 2]}), False),
    ],
)
def test_a_learner_takes_weights_if_its_fit_or_what_it_searches_does(learner, takes):
    assert takes_weights(learner) == takes


def test_with_metadata_routing_a_search_takes_weights_only_where_they_are_requested():
    with config_context(enable_metadata_routing=True):
        asking = DecisionTreeClassifier().set_fit_request(sample_weight=True)
        assert takes_weights(GridSearchCV(asking, {"max_depth": [1, 2]}))
        assert not takes_weights(GridSearchCV(DecisionTreeClassifier(), {"max_depth": [1, 2]}))
        refusing = DecisionTreeClassifier().set_fit_request(sample_weight=False)
        assert not takes_weights(GridSearchCV(refusing, {"max_depth": [1, 2]}))


@st.composite
def draws(draw: st.DrawFn) -> tuple[np.ndarray, np.ndarray, int]:
    n = draw(st.integers(1, 40))
    codes = np.array(draw(st.lists(st.integers(0, 5), min_size=n, max_size=n)))
    parts = np.array(draw(st.lists(st.one_of(st.just(0.0), st.floats(1e-12, 1.0)), min_size=n, max_size=n).filter(any)))
    return codes, parts / parts.sum(), draw(st.integers(0, 2**31 - 1))


@given(draws())
def test_resampling_keeps_every_class_that_counts_and_draws_nothing_that_does_not(case):
    codes, ignorance, seed = case
    rows = resample(codes, ignorance, seed)
    assert (ignorance[rows] > 0).all()
    assert set(codes[rows]) == set(codes[ignorance > 0])
    n_classes = len(set(codes))
    assert len(codes) <= len(rows) <= len(codes) + n_classes
    assert np.array_equal(rows, resample(codes, ignorance, seed))


def test_resampling_follows_the_ignorance():
    """A law of large numbers: 4 standard deviations of a binomial count."""
    n = 20_000
    ignorance = np.where(np.arange(n) < n // 2, 0.8, 0.2) / (n // 2)
    share = (resample(np.zeros(n, dtype=int), ignorance, seed=3) < n // 2).mean()
    assert share == pytest.approx(0.8, abs=4 * np.sqrt(0.8 * 0.2 / n))


def test_a_missed_class_is_represented_by_its_most_ignored_sample():
    codes = np.array([0] * 50 + [1, 1, 1])
    ignorance = np.r_[np.full(50, 1.0), 1e-15, 3e-15, 2e-15]
    rows = resample(codes, ignorance / ignorance.sum(), seed=0)
    assert rows[-1] == 51
    assert len(rows) == 54


def test_rows_are_taken_in_order_from_every_kind_of_table():
    table = np.arange(12.0).reshape(4, 3)
    rows = np.array([2, 0, 2])
    expected = table[rows]
    assert np.array_equal(take_rows(table, rows), expected)
    assert np.array_equal(take_rows(sparse.csr_array(table), rows).toarray(), expected)
    assert np.array_equal(take_rows(sparse.csc_matrix(table), rows).toarray(), expected)
    assert np.array_equal(take_rows(pl.DataFrame(table), rows).to_numpy(), expected)
    frame = pd.DataFrame(table, index=[7, 8, 8, 9])  # positions, whatever the index says
    assert np.array_equal(take_rows(frame, rows).to_numpy(), expected)


# -- seeds: every random state, however deeply nested, comes from one


def test_several_random_states_get_different_numbers_that_follow_from_the_seed():
    def seeded(seed: int) -> tuple[int, int]:
        bag = BaggingClassifier(DecisionTreeClassifier())
        seed_all(bag, seed)
        return bag.random_state, bag.estimator.random_state

    assert seeded(5) == seeded(5)
    assert seeded(5) != seeded(6)
    outer, inner = seeded(5)
    assert outer != inner
    assert 0 <= min(outer, inner) <= max(outer, inner) < MAX_SEED


def test_a_learner_without_chance_is_left_alone():
    learner = GaussianNB()
    before = learner.get_params()
    seed_all(learner, 5)
    assert learner.get_params() == before
