"""Rows of one person stay together, and means over persons have errors that are right on average."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from assistlearn.combination.linear import Tried, folds_of
from assistlearn.core.people import effective_size, groups_of, mean_and_error, means_and_errors
from assistlearn.evaluation.metrics import differences
from assistlearn.evaluation.pilots import drawn
from assistlearn.evaluation.words import Terms
from assistlearn.learners.folds import deal
from assistlearn.session.judging import split

PEOPLE = st.integers(2, 60).flatmap(
    lambda n: st.tuples(
        st.lists(st.integers(0, 2), min_size=n, max_size=n), st.lists(st.integers(0, n // 2), min_size=n, max_size=n)
    )
)


def people(drawn_):
    """Return codes and groups of rows of which at least two are about the same person."""
    codes, names = map(np.array, drawn_)
    names[1] = names[0]
    return codes, groups_of(names)


@settings(max_examples=60)
@given(PEOPLE, st.integers(2, 6), st.integers(0, 9))
def test_groups_stay_together_and_no_fold_is_larger_than_it_must_be(drawn_, n_folds, seed):
    codes, groups = people(drawn_)
    folds = deal(codes, n_folds, seed, groups)
    assert all(len(np.unique(folds[groups == each])) == 1 for each in groups)
    n_groups = groups.max() + 1
    assert np.array_equal(np.unique(folds), np.arange(min(n_folds, n_groups)))  # no fold is empty
    sizes, largest = np.bincount(folds), np.bincount(groups).max()
    assert sizes.max() <= len(codes) / len(sizes) + 3 * largest  # three classes, each of which is dealt evenly


def test_many_visits_of_many_people_give_folds_with_even_classes():
    rng = np.random.default_rng(0)
    groups = groups_of(rng.integers(0, 400, 2_000))
    codes = (rng.random(400) < 0.1).astype(int)[groups]
    folds = deal(codes, 5, 1, groups)
    assert np.ptp(np.bincount(folds)) <= 5
    assert np.ptp(np.bincount(folds[codes == 1])) <= 5


def test_a_person_who_has_more_rows_than_a_fold_has_one_alone_and_the_others_share_the_rest():
    groups = np.r_[np.zeros(500, dtype=int), np.arange(1, 501)]
    codes = np.arange(1_000) % 2
    sizes = np.bincount(deal(codes, 5, 0, groups))
    assert sorted(sizes) == [125, 125, 125, 125, 500]


def test_the_folds_of_a_combination_keep_people_together_and_do_not_depend_on_the_order_of_classes():
    rng = np.random.default_rng(1)
    groups, codes = groups_of(rng.integers(0, 50, 200)), rng.integers(0, 3, 200)
    folds = folds_of(codes, 1, groups=groups)
    assert all(len(np.unique(folds[groups == each])) == 1 for each in groups)
    assert np.array_equal(folds, folds_of(2 - codes, 1, groups=groups))


def test_people_who_occur_once_are_dealt_as_without_groups():
    assert groups_of(np.array(["c", "a", "b"])) is None
    assert groups_of(np.array([3.5, 1.0, 7.0])) is None


@settings(max_examples=60)
@given(PEOPLE, st.sampled_from([0.1, 0.3, 0.7]), st.integers(0, 9))
def test_a_person_is_held_out_whole_and_every_class_keeps_a_sample_to_train_on(drawn_, fraction, seed):
    codes, groups = people(drawn_)
    training, aside = split(codes, fraction, np.random.RandomState(seed), groups)
    assert not {*groups[training]} & {*groups[aside]}
    assert sorted([*training, *aside]) == list(range(len(codes)))
    assert {*codes[training]} == {*codes}


def test_about_the_wanted_share_of_every_class_is_held_out():
    rng = np.random.default_rng(2)
    groups = groups_of(rng.integers(0, 400, 2_000))
    codes = (rng.random(400) < 0.1).astype(int)[groups]
    _, aside = split(codes, 0.3, np.random.RandomState(0), groups)
    assert len(aside) == pytest.approx(600, abs=10)
    assert codes[aside].mean() == pytest.approx(codes.mean(), abs=0.01)


def test_a_pilot_opens_one_sample_of_a_person_and_none_of_a_person_it_has_trained_on():
    rng = np.random.default_rng(3)
    groups = groups_of(rng.integers(0, 300, 1_000))
    training, pool = drawn(Terms(train_size=400), rng.integers(0, 2, 1_000), 0, groups)
    assert not {*groups[training]} & {*groups[pool]}
    assert len(np.unique(groups[pool])) == len(pool)
    assert 390 <= len(training) <= 400


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
