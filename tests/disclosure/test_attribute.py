"""The attack finds what was released on purpose, finds nothing in noise, and says so beside a guess without."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import entropy
from sklearn.metrics import roc_auc_score

from assistlearn.core.state import quantise
from assistlearn.evaluation.attacks import (
    BINS,
    MOST_KNOWN,
    SHARES,
    attribute_inferences,
    auc,
    beside,
    column_entropy,
    of_labels,
    said_of_classes,
    target_of,
)

N = 2_000
SEEDS = range(3)


def attribute_inference(target, has, transcript, share, seeds):
    return next(iter(attribute_inferences(target, has, [transcript], share, seeds)), None)


@pytest.fixture
def rng():
    return np.random.default_rng(8)


def columns_of(rng):
    return {
        "numbers": rng.normal(size=N),
        "two values": (rng.random(N) < 0.3).astype(float),
        "categories": rng.choice(np.array(["a", "b", "c"], dtype=object), N, p=[0.5, 0.3, 0.2]),
    }


@pytest.mark.parametrize("kind", ["numbers", "two values", "categories"])
@pytest.mark.parametrize("share", SHARES)
def test_a_column_that_was_released_is_found(kind, share, rng):
    column = columns_of(rng)[kind]
    labels = of_labels(rng.integers(0, 2, N), 2)
    target = target_of(column)
    released = (target.positive if target.numbers is None else target.numbers).astype(float)[:, np.newaxis]
    found = attribute_inference(target, labels, np.column_stack([rng.normal(size=N), released]), share, SEEDS)
    assert found.auc > (0.98 if share > 0.01 else 0.95)
    assert found.without < 0.56
    assert (found.rank is None) == (kind != "numbers")
    if kind == "numbers":
        assert found.rank > 0.85
        assert abs(found.rank_without) < 0.1


@pytest.mark.parametrize("kind", ["numbers", "two values", "categories"])
def test_nothing_is_found_in_chance(kind, rng):
    labels = of_labels(rng.integers(0, 2, N), 2)
    chance = rng.choice([-1.0, 1.0], (N, 10))
    found = attribute_inference(target_of(columns_of(rng)[kind]), labels, chance, 0.05, range(6))
    assert abs(found.auc - 0.5) < max(4 * found.auc_error, 0.02)


def test_a_transcript_that_says_nothing_leaves_the_guess_without_it(rng):
    own = rng.normal(size=(N, 2))
    target = target_of(own @ [1.0, 0.5] + rng.normal(size=N))
    empty = attribute_inference(target, own, np.zeros((N, 0)), 0.05, SEEDS)
    assert (empty.auc, empty.auc_error, empty.rank) == (empty.without, empty.without_error, empty.rank_without)
    assert 0.7 < empty.without < 0.95
    useful = (own @ [1.0, 0.5] + target.numbers)[:, np.newaxis]
    shuffled = attribute_inference(target, own, rng.permutation(useful), 0.05, SEEDS)
    assert abs(shuffled.auc - empty.auc) < 0.02
    assert attribute_inference(target, own, useful, 0.05, SEEDS).auc > empty.auc + 0.05


def test_an_interaction_of_transcript_and_labels_is_found(rng):
    codes = rng.integers(0, 2, N)
    column = rng.integers(0, 2, N).astype(float)
    reward = (column == codes)[:, np.newaxis].astype(float)  # says nothing of the column by itself
    found = attribute_inference(target_of(column), of_labels(codes, 2), reward, 0.3, SEEDS)
    assert found.without < 0.55
    assert found.auc > 0.999


def test_the_same_seeds_give_the_same_figures(rng):
    target, labels = target_of(rng.normal(size=N)), of_labels(rng.integers(0, 2, N), 2)
    transcript = rng.normal(size=(N, 3)) + target.numbers[:, np.newaxis]
    twice = [attribute_inference(target, labels, transcript, 0.05, [1, 2]) for _ in range(2)]
    assert twice[0] == twice[1]
    assert attribute_inference(target, labels, transcript, 0.05, [3, 4]) != twice[0]


def test_what_is_known_of_too_few_is_no_attack(rng):
    target = target_of(np.r_[np.ones(3), np.zeros(97)])
    assert attribute_inference(target, np.zeros((100, 1)), np.zeros((100, 1)), 0.01, SEEDS) is None


def test_an_attack_learns_from_some_thousands_at_the_most(rng):
    n = 4 * MOST_KNOWN
    target = target_of(rng.normal(size=n))
    found = attribute_inference(target, np.zeros((n, 0)), target.numbers[:, np.newaxis], 0.5, [0])
    assert found.n_known == MOST_KNOWN
    assert found.auc_error == np.inf  # one repeat says nothing of the spread
    assert found.auc > 0.999


@given(st.lists(st.tuples(st.integers(-3, 3), st.booleans()), min_size=2, max_size=40))
def test_the_area_is_scikit_learns(samples):
    scores, positive = np.array([s for s, _ in samples], float), np.array([p for _, p in samples])
    if positive.all() or not positive.any():
        assert np.isnan(auc(scores, positive))
    else:
        assert auc(scores, positive) == pytest.approx(roc_auc_score(positive, scores))


@given(st.lists(st.one_of(st.none(), st.integers(-5, 5)), min_size=1, max_size=60))
def test_a_column_is_divided_in_two_that_both_occur_or_is_constant(values):
    column = np.array([np.nan if value is None else value for value in values], float)
    target = target_of(column)
    distinct = {value for value in values if value is not None}
    if len(distinct) < 2:
        assert target is None
        return
    assert target.present.tolist() == [value is not None for value in values]
    assert 0 < target.positive.sum() < target.present.sum()
    low, high = column[target.present & ~target.positive], column[target.positive]
    assert low.max() < high.min()


def test_rewards_of_two_classes_speak_of_the_second(rng):
    codes = np.array([0, 0, 1, 1])
    answers = np.array([0, 1, 0, 1])
    assert said_of_classes(answers == codes, codes, 2)[:, 0].tolist() == [-1.0, 1.0, -1.0, 1.0]
    soft = quantise(np.array([2.0, -2.0, -2.0, 2.0]), 8)
    assert np.sign(said_of_classes(soft, codes, 2)[:, 0]).tolist() == [-1.0, 1.0, -1.0, 1.0]


def test_columns_that_say_the_same_of_everybody_are_left_out():
    told = np.array([[1.0, 2.0, np.nan], [1.0, 3.0, 1.0]])
    np.testing.assert_array_equal(beside([told], 2), told[:, 1:])
    assert beside([], 3).shape == (3, 0)


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
