"""Guesses of labels follow epsilon from blind to certain; members are told where models know them by heart."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.datasets import make_classification
from sklearn.tree import DecisionTreeClassifier

from bench.privacy.inference import label_inference, membership_inference, response_table

N = 1_500


@given(st.integers(2, 12), st.floats(0.0, 20.0))
def test_randomised_response_keeps_its_epsilon(n_classes, epsilon):
    table = response_table(n_classes, epsilon)
    np.testing.assert_allclose(table.sum(axis=1), 1.0)
    ratios = table.max(axis=0) / table.min(axis=0)
    np.testing.assert_allclose(np.log(ratios), epsilon, rtol=1e-5, atol=1e-9)


def told_of(truth, n_classes, epsilon, rng):
    return (rng.random((len(truth), 1)) > response_table(n_classes, epsilon)[truth].cumsum(axis=1)).sum(axis=1)


@pytest.mark.parametrize("n_classes", [2, 3])
def test_a_label_is_the_better_guessed_the_larger_epsilon(n_classes):
    rng = np.random.default_rng(2)
    X, truth = make_classification(N, 8, n_informative=5, n_classes=n_classes, class_sep=0.6, random_state=1)
    found = [
        label_inference(truth, told_of(truth, n_classes, epsilon, rng), n_classes, epsilon, X, 0)
        for epsilon in (1.0, 2.0, 4.0, np.inf)
    ]
    areas = [one.auc for one in found]
    assert areas == sorted(areas)
    assert found[-1].auc == found[-1].right == 1.0
    assert all(one.auc > one.columns_alone > 0.6 for one in found)


def test_pure_noise_and_columns_of_chance_tell_nothing():
    rng = np.random.default_rng(3)
    truth = rng.integers(0, 2, N)
    found = label_inference(truth, told_of(truth, 2, 0.0, rng), 2, 0.0, rng.normal(size=(N, 3)), 0)
    assert abs(found.auc - 0.5) < 0.05
    assert abs(found.right - 0.5) < 0.05


def test_without_columns_the_guess_is_what_was_told():
    rng = np.random.default_rng(4)
    truth = rng.integers(0, 2, 20_000)
    found = label_inference(truth, told_of(truth, 2, 1.0, rng), 2, 1.0, np.zeros((20_000, 0)), 0)
    assert found.auc == pytest.approx(np.e / (1 + np.e), abs=0.02)
    assert found.columns_alone == 0.5


def test_members_are_found_where_a_model_knows_them_by_heart_and_not_where_it_does_not():
    rng = np.random.default_rng(5)
    X = rng.normal(size=(N, 4))
    codes = (X[:, 0] + rng.normal(size=N) > 0).astype(int)
    members = np.arange(N) < N // 2
    by_heart = DecisionTreeClassifier(random_state=0).fit(X[members], codes[members])
    small = DecisionTreeClassifier(max_depth=1).fit(X[members], codes[members])
    caught = membership_inference(members, by_heart.predict_proba(X), codes, 0.3, range(3))
    assert caught.auc > 0.6
    assert abs(caught.without - 0.5) < 0.05
    blind = membership_inference(members, small.predict_proba(X), codes, 0.3, range(3))
    assert abs(blind.auc - 0.5) < 0.05
