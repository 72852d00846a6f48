"""Claims about made-up results come out as they must."""

import numpy as np
import pytest
from scipy.stats import t as student
from scipy.stats import ttest_1samp

from paper.claims import ClaimVerdict, checked_claims, compare, round_near_oracle, round_of_target
from paper.transmission import Cost
from tests.paper.made_up import result


def verdict(found, words):
    [each] = [each for each in checked_claims(found) if words in each.claim]
    return each.verdict


def rising(low, high, n):
    return list(np.linspace(low, high, n))


def test_better_than_a_single_agent():
    curves = {"Single": 0.77, "Oracle": 0.83}
    assert verdict(result("fig3c", curves | {"ASCII": 0.82}), "single agent") is ClaimVerdict.HOLDS
    assert verdict(result("fig3c", curves | {"ASCII": 0.771}, noise=2.0), "single agent") is ClaimVerdict.IN_PART
    assert verdict(result("fig3c", curves | {"ASCII": 0.75}), "single agent") is ClaimVerdict.NOT


@pytest.mark.parametrize(
    ("last", "expected"),
    [
        (rising(0.70, 0.88, 10), ClaimVerdict.IN_PART),
        (0.85, ClaimVerdict.HOLDS),
        (rising(0.6, 0.7, 10), ClaimVerdict.NOT),
    ],
)
def test_near_oracle_within_a_few_rounds(last, expected):
    assert verdict(result("fig3c", {"Single": 0.6, "Oracle": 0.86, "ASCII": last}), "near-oracle") is expected


def test_the_variants_are_compared_over_all_rounds_and_at_the_last():
    curves = {"ASCII": 0.9, "ASCII-Random": 0.85, "ASCII-Simple": 0.9, "Ensemble-Ada": [0.5, 0.6, 0.7, 0.8, 0.9]}
    found = result("fig6a", curves)
    assert verdict(found, "ASCII-Random") is ClaimVerdict.HOLDS
    assert verdict(found, "ASCII-Simple") is ClaimVerdict.NOT
    assert verdict(found, "Ensemble-Ada") is ClaimVerdict.IN_PART


def test_a_better_variant_is_said():
    found = result("fig6a", dict.fromkeys(("ASCII", "ASCII-Simple", "Ensemble-Ada"), 0.6) | {"ASCII-Random": 0.7})
    [each] = [each for each in checked_claims(found) if "ASCII-Random" in each.claim]
    assert each.verdict is ClaimVerdict.NOT
    assert "-0.100" in each.evidence


def test_standard_errors():
    curves = {"Single": 0.6, "Oracle": 0.8, "ASCII": 0.8}
    assert verdict(result("fig3c", curves), "standard errors") is ClaimVerdict.HOLDS
    assert verdict(result("fig3c", curves, noise=20.0), "standard errors") is ClaimVerdict.NOT


@pytest.mark.parametrize(
    ("ours", "expected"), [(0.9, ClaimVerdict.HOLDS), (0.831, ClaimVerdict.HOLDS), (0.8, ClaimVerdict.NOT)]
)
def test_not_below_what_was_published(ours, expected):
    assert verdict(result("fig3c", {"Single": 0.6, "Oracle": 0.8, "ASCII": ours}), "not below") is expected


def cost(labels):
    return Cost(
        n_samples=1000, n_columns=100, ids=0, labels=labels, turns=[0] * 10, end=0, columns=100, columns_compressed=90
    )


@pytest.mark.parametrize(
    ("labels", "assisted", "expected"),
    [
        (5, 0.95, ClaimVerdict.HOLDS),  # 100 times in the paper's way, 20 in bits
        (50, 0.95, ClaimVerdict.IN_PART),  # 100 and 2
        (50, 0.1, ClaimVerdict.NOT),  # never reached
    ],
)
def test_what_is_sent(labels, assisted, expected):
    found = result("fig4a", {"Single": 0.3, "Oracle": 0.98, "ASCII": assisted}, cost=cost(labels))
    assert verdict(found, "10 times less") is expected


def test_the_round_of_the_target_is_the_first_at_nine_tenths_of_the_oracles_last():
    found = result("fig4a", {"Single": 0.3, "Oracle": rising(0.5, 0.8, 10), "ASCII": rising(0.46, 0.91, 10)}, noise=0)
    assert round_of_target(found) == 7  # 0.46 + 6 x 0.05 = 0.76 >= 0.72; after six rounds 0.71
    assert round_near_oracle(np.array([0.5, 0.6]), 0.9) is None


def test_the_paired_test_is_that_of_the_differences():
    rng = np.random.default_rng(0)
    first, second = rng.normal(0.8, 0.1, 20), rng.normal(0.79, 0.1, 20)
    found = compare(first, second)
    assert found.difference == pytest.approx((first - second).mean())
    assert found.p == pytest.approx(ttest_1samp(first - second, 0.0).pvalue)
    assert compare(second, first).p == pytest.approx(found.p)


def test_equal_results_are_neither_better_nor_worse():
    same = np.array([0.5, 0.6, 0.7])
    assert not compare(same, same).better
    assert not compare(same, same).worse


def test_splitting_the_same_samples_again_makes_a_difference_less_sure():
    rng = np.random.default_rng(1)
    first, second = rng.normal(0.81, 0.02, 20), rng.normal(0.79, 0.02, 20)
    plain, corrected = compare(first, second), compare(first, second, resplit=0.3 / 0.7)
    assert plain.better
    assert corrected.p == plain.p
    shrunk = np.sqrt(1 + 20 * 0.3 / 0.7)  # how much smaller t is
    t = plain.difference / np.sqrt((first - second).var(ddof=1) / 20)
    assert corrected.p_resplit == pytest.approx(2 * student.sf(t / shrunk, 19))
    assert not corrected.better


def test_a_demo_decides_nothing():
    found = result("fig3b", {"Single": 0.5, "Oracle": 0.6, "ASCII": 0.6}, demo=True)
    assert {each.verdict for each in checked_claims(found)} == {ClaimVerdict.OPEN}
    whole = result("fig3b", {"Single": 0.5, "Oracle": 0.6, "ASCII": 0.6})
    assert ClaimVerdict.OPEN not in {each.verdict for each in checked_claims(whole)}
