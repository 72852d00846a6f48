"""Labels that chance has changed: the exact law, by writing out every case."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from assistlearn.core.labels import draw, kept_share

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
