"""Class codes are numpy's, balanced weights are scikit-learn's, and a changed label reveals what epsilon allows."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from sklearn.utils.class_weight import compute_sample_weight

from assistlearn.core.labels import balanced, classes_and_codes, draw, kept_share, without_scale
from tests.core.strategies import problems

WHOLE = st.sampled_from([np.int8, np.uint8, np.int16, np.int32, np.int64, np.uint64])


@given(WHOLE.flatmap(lambda kind: hnp.arrays(kind, st.integers(1, 30))))
def test_whole_numbers_get_the_codes_that_sorting_gives(y):
    classes, codes = classes_and_codes(y)
    expected, positions = np.unique(y, return_inverse=True)
    assert classes.dtype == y.dtype
    np.testing.assert_array_equal(classes, expected)
    np.testing.assert_array_equal(codes, positions)


@pytest.mark.parametrize("y", [["b", "a", "b"], [0.5, 0.25, 0.5], [True, False, True], np.array(["x", "y"], object)])
def test_other_labels_are_sorted(y):
    classes, codes = classes_and_codes(np.asarray(y))
    np.testing.assert_array_equal(classes[codes], y)
    assert list(classes) == sorted(set(y))


@pytest.mark.parametrize(("n_classes", "kind"), [(2, np.int8), (128, np.int8), (129, np.int16), (40_000, np.int32)])
def test_codes_are_small_and_can_be_negative(n_classes, kind):
    for y in (np.arange(n_classes), np.arange(n_classes).astype(str)):
        assert classes_and_codes(y)[1].dtype == kind


def test_labels_that_are_codes_already_are_not_copied():
    y = np.array([1, 0, 2, 2], dtype=np.int8)
    assert classes_and_codes(y)[1] is y


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


EPSILONS = st.floats(0.01, 8.0)
CLASSES = st.integers(2, 6)


def law(above: int, below: int | None, epsilons: tuple[float, float, float], n_classes: int, n: int = 200_000):
    """Return how often each class is drawn, over chance that is spread evenly from zero to one."""
    chance = (np.arange(n) + 0.5) / n
    lower = None if below is None else np.full(n, below)
    drawn = draw(np.full(n, above), lower, epsilons, n_classes, chance)
    return np.bincount(drawn, minlength=n_classes) / n


def warner(true: int, told: int, epsilon: float, n_classes: int) -> float:
    """Return K-ary randomised response as the textbook has it."""
    return math.exp(epsilon * (true == told)) / (math.exp(epsilon) + n_classes - 1)


@given(EPSILONS, CLASSES)
def test_the_odds_of_a_told_label_differ_by_exactly_epsilon(epsilon, n_classes):
    share = kept_share(epsilon, n_classes)
    right, wrong = share + (1 - share) / n_classes, (1 - share) / n_classes
    assert math.log(right / wrong) == pytest.approx(epsilon, rel=1e-9)
    assert right == pytest.approx(warner(1, 1, epsilon, n_classes), rel=1e-12)


@pytest.mark.parametrize("n_classes", [2, 3, 5])
@pytest.mark.parametrize("epsilon", [0.1, 1.0, 3.0])
def test_labels_are_drawn_by_the_textbooks_law(epsilon, n_classes):
    for true in range(n_classes):
        expected = [warner(true, told, epsilon, n_classes) for told in range(n_classes)]
        np.testing.assert_allclose(law(true, None, (math.inf, epsilon, 0.0), n_classes), expected, atol=1e-4)


@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("order", list(itertools.permutations([0.5, 1.0, 2.0])))
def test_whatever_the_order_in_which_labels_are_told_all_together_say_what_the_largest_epsilon_says(order, n_classes):
    def joint(true: int) -> dict[tuple[int, ...], float]:
        """Return how likely every outcome is, told in this order, each given what was told before."""
        outcomes: dict[tuple[int, ...], float] = {(): 1.0}
        for step, epsilon in enumerate(order):
            longer = {}
            for told, chance in outcomes.items():
                known = dict(zip(order, told, strict=False))
                high = min((each for each in known if each > epsilon), default=math.inf)
                low = max((each for each in known if each < epsilon), default=0.0)
                likely = law(known.get(high, true), known.get(low), (high, epsilon, low), n_classes, 20_000)
                longer |= {(*told, code): chance * likely[code] for code in range(n_classes)}
            outcomes = longer
            assert len(outcomes) == n_classes ** (step + 1)
        return outcomes

    laws = [joint(true) for true in range(n_classes)]
    for told in laws[0]:
        for one, other in itertools.permutations(laws, 2):
            assert math.log(one[told] / other[told]) <= max(order) + 2e-3
    for place, epsilon in enumerate(order):  # and each of them alone has its own law
        for true in range(n_classes):
            alone = np.zeros(n_classes)
            for told, chance in laws[true].items():
                alone[told[place]] += chance
            expected = [warner(true, code, epsilon, n_classes) for code in range(n_classes)]
            np.testing.assert_allclose(alone, expected, atol=5e-4)


@given(CLASSES, st.integers(0, 5), st.floats(0.0, 1.0, exclude_max=True))
def test_without_any_noise_the_true_label_is_told(n_classes, true, chance):
    true %= n_classes
    assert draw(np.array([true]), None, (math.inf, math.inf, 0.0), n_classes, np.array([chance])).tolist() == [true]


@given(EPSILONS, CLASSES)
def test_a_larger_epsilon_keeps_more(epsilon, n_classes):
    assert kept_share(epsilon / 2, n_classes) < kept_share(epsilon, n_classes) < kept_share(math.inf, n_classes) == 1.0
    assert kept_share(1e6, n_classes) == 1.0
