"""Labels that chance has changed: what they say about true ones, and how a learner learns from them, honestly."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.calibration import CalibratedClassifierCV
from sklearn.linear_model import RidgeClassifier
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier
from sklearn.tree import DecisionTreeClassifier

from assistlearn.core.labels import draw, kept_share
from assistlearn.learners import Honesty, Learner
from assistlearn.learners.model import dump_model, load_model
from assistlearn.learners.noisy_labels import (
    LEAST_SAMPLES,
    fit_to_noisy_labels,
    likeliest_labels,
    posterior,
    true_probabilities,
)
from assistlearn.methods.soft import Soft

EPSILONS = st.floats(0.05, 6.0)


def blobs(n=400, n_classes=4, epsilon=1.0, seed=0):
    """Return points around a centre of each class, their classes, and these as chance has changed them."""
    rng = np.random.default_rng(seed)
    codes = rng.integers(n_classes, size=n)
    angles = 2 * np.pi * codes / n_classes
    points = np.c_[np.cos(angles), np.sin(angles)] * 3 + rng.normal(size=(n, 2))
    return points, codes, draw(codes, None, (math.inf, epsilon, 0.0), n_classes, rng.random(n))


def learner_for(estimator, points, noisy):
    learner = Learner(estimator, "lab", Honesty("out-of-fold", cv=5))
    learner.prepare(points, noisy, seed=1)
    return learner


@st.composite
def distributions(draw_from):
    parts = np.array(draw_from(st.lists(st.floats(0.01, 1.0), min_size=2, max_size=6)))
    return parts / parts.sum()


@given(truth=distributions(), epsilon=EPSILONS)
def test_chance_takes_away_exactly_what_it_has_added(truth, epsilon):
    kept = kept_share(epsilon, len(truth))
    changed = kept * truth + (1 - kept) / len(truth)
    assert true_probabilities(changed[np.newaxis], epsilon)[0] == pytest.approx(truth, abs=1e-9)


@given(truth=distributions(), epsilon=EPSILONS)
def test_the_posterior_is_what_counting_all_cases_gives(truth, epsilon):
    """A fine grid of chance is drawn out of every true label; among the cases with one outcome, truths are counted."""
    n_classes, n_cases = len(truth), 4_000
    grid = (np.arange(n_cases) + 0.5) / n_cases
    outcomes = np.array(
        [draw(np.full(n_cases, code), None, (math.inf, epsilon, 0.0), n_classes, grid) for code in range(n_classes)]
    )
    for seen in range(n_classes):
        cases = truth * (outcomes == seen).mean(axis=1)
        found = posterior(truth[np.newaxis], np.array([seen]), epsilon)[0]
        assert found == pytest.approx(cases / cases.sum(), abs=0.02)


@given(epsilon=EPSILONS, n_classes=st.integers(3, 8), seed=st.integers(0, 99))
def test_no_class_of_the_likeliest_labels_is_too_rare_to_learn(epsilon, n_classes, seed):
    rng = np.random.default_rng(seed)
    said, noisy = rng.dirichlet(np.ones(n_classes), size=60), rng.integers(n_classes, size=60)
    counts = np.bincount(likeliest_labels(said, noisy, epsilon))
    assert counts[counts > 0].min() >= LEAST_SAMPLES or (counts > 0).sum() == 1


def test_the_likeliest_labels_are_true_far_more_often_than_the_changed_ones():
    points, codes, noisy = blobs(epsilon=1.0)
    learner = learner_for(KNeighborsClassifier(30), points, noisy)
    _, said = learner.fit(np.full(len(noisy), 1 / len(noisy)), 1, "round 1", 4)
    assert (noisy == codes).mean() < 0.55
    assert (likeliest_labels(true_probabilities(said, 1.0), noisy, 1.0) == codes).mean() > 0.7


def test_later_passes_are_closer_to_the_truth_than_the_first():
    first, second = [], []
    for seed in range(5):
        points, codes, noisy = blobs(epsilon=1.0, seed=seed)
        tree = DecisionTreeClassifier(min_samples_leaf=10)
        _, said = learner_for(tree, points, noisy).fit(np.full(len(noisy), 1 / len(noisy)), 1, "round 1", 4)
        _, again = fit_to_noisy_labels(learner_for(tree, points, noisy), 1.0, 1, "round 1", 4)
        first.append((said.argmax(axis=1) == codes).mean())
        second.append((again.argmax(axis=1) == codes).mean())
    assert np.mean(second) > np.mean(first) + 0.03


@pytest.mark.parametrize("estimator", [KNeighborsClassifier(50), DecisionTreeClassifier(max_depth=2), GaussianNB()])
def test_answers_about_pure_noise_are_hardly_better_than_chance(estimator):
    """A sample's own label must not come back in its answer, not even by way of its neighbours' corrected labels."""
    agreed = []
    for seed in range(8):
        points, _, noisy = blobs(n=300, epsilon=0.001, seed=seed)
        _, said = fit_to_noisy_labels(learner_for(estimator, points, noisy), 0.001, seed, "round 1", 4)
        agreed.append((said.argmax(axis=1) == noisy).mean())
    assert np.mean(agreed) < 0.25 + 0.06


@pytest.mark.parametrize(("n_classes", "epsilon"), [(2, 1.0), (4, math.inf)])
def test_two_classes_and_true_labels_need_one_pass(n_classes, epsilon):
    points, _, noisy = blobs(n_classes=n_classes, epsilon=epsilon)
    even = np.full(len(noisy), 1 / len(noisy))
    plain, honest = learner_for(GaussianNB(), points, noisy).fit(even, 3, "round 1", n_classes)
    model, said = fit_to_noisy_labels(learner_for(GaussianNB(), points, noisy), epsilon, 3, "round 1", n_classes)
    assert np.array_equal(said, honest)
    assert np.array_equal(model.say(points), plain.say(points))


@pytest.mark.parametrize("epsilon", [0.001, 1.0, math.inf])
def test_a_learner_without_probabilities_answers_with_labels(epsilon):
    points, codes, noisy = blobs(epsilon=epsilon)
    model, said = fit_to_noisy_labels(learner_for(RidgeClassifier(), points, noisy), epsilon, 1, "round 1", 4)
    assert said.shape == (len(codes),)
    assert model.say(points).shape == (len(codes),)
    if epsilon >= 1.0:
        assert (said == codes).mean() > 0.7


def test_a_class_that_hardly_anybody_has_does_not_stop_a_learner_that_refuses_it():
    points, codes, noisy = blobs(n=300, n_classes=3)
    codes = np.where((codes == 2) & (np.arange(300) > 12), 0, codes)
    noisy = draw(codes, None, (math.inf, 2.0, 0.0), 3, np.random.default_rng(0).random(300))
    learner = learner_for(CalibratedClassifierCV(GaussianNB(), cv=5), points, noisy)
    model, said = fit_to_noisy_labels(learner, 2.0, 1, "round 1", 3)
    assert said.shape == model.say(points).shape == (300, 3)


@pytest.mark.parametrize("n_classes", [2, 4])
def test_small_trees_that_boost_by_themselves_are_closer_to_the_truth(n_classes, tmp_path):
    points, codes, noisy = blobs(n=600, n_classes=n_classes, epsilon=2.0)
    right = {}
    for models in (1, 20):
        learner = Learner(DecisionTreeClassifier(max_depth=1), "lab", Honesty("out-of-fold", cv=5, models=models))
        learner.prepare(points, noisy, seed=1)
        soft = Soft("logistic", 0.5, 8)
        model, said = fit_to_noisy_labels(learner, 2.0, 1, "round 1", n_classes, method=soft)
        right[models] = (said.argmax(axis=1) == codes).mean()
        (tmp_path / "model").write_bytes(dump_model(model))
        assert np.array_equal(load_model(tmp_path / "model").say(points), model.say(points))
    assert right[20] > right[1] + (0.2 if n_classes > 2 else -0.02)
