"""Small trees of a turn are fitted to residuals: held to scikit-learn's boosting, and to a naive one."""

from __future__ import annotations

from itertools import islice
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.special import log_softmax, softmax
from sklearn.datasets import load_breast_cancer, load_wine
from sklearn.ensemble import GradientBoostingClassifier
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor, ExtraTreeClassifier

from assistlearn import AssistedClassifier, load, save
from assistlearn.agent.agent import Agent, TrainingSamples, Turn
from assistlearn.learners import Honesty, Learner, Model
from assistlearn.learners import boosting as residual_boosting
from assistlearn.learners.boosting import (
    LOUDNESS,
    MOST,
    STEP,
    Private,
    ResidualBoosting,
    ResidualTrees,
    newton_steps,
    twin,
)
from assistlearn.methods.soft import Soft

X, CODES = load_wine(return_X_y=True)
X = X[:, [0, 2, 4]]  # hard to tell by these
N = len(CODES)
FINE = Soft("logistic", 0.5, 32)
TREE = DecisionTreeClassifier(max_depth=2)


def model_of_a_turn(honesty: Honesty, estimator=TREE, state=None, table=X, codes=CODES, method=FINE) -> Model:
    agent = Agent("a", estimator, honesty)
    agent.begin(TrainingSamples(table, codes), seed=5)
    agent.take_turn(Turn(1, 1, 7), state or method.start(len(codes), int(codes.max()) + 1), method)
    (kept,) = agent.models
    return kept.model


def test_with_two_classes_they_are_scikit_learns_gradient_boosting(monkeypatch):
    monkeypatch.setattr(residual_boosting, "DAMPING", 1e-100)  # scikit-learn's has neither
    monkeypatch.setattr(residual_boosting, "MOST", np.inf)
    table, codes = load_breast_cancer(return_X_y=True)
    table = table[:, :3].astype(np.float32)
    ours = model_of_a_turn(Honesty(models=4), table=table, codes=codes).estimator  # eight trees
    theirs = GradientBoostingClassifier(
        n_estimators=8, learning_rate=STEP, max_depth=2, init="zero", random_state=0
    ).fit(table, codes)
    np.testing.assert_allclose(softmax(ours.sums(table), axis=1), theirs.predict_proba(table), rtol=1e-9)


@pytest.mark.parametrize("weighted", [False, True], ids=["all count the same", "weighted samples"])
@pytest.mark.parametrize("spoken", [False, True], ids=["from nothing", "from what was said before"])
def test_they_are_newtons_steps_from_the_votes_on(weighted, spoken):
    rng = np.random.RandomState(3)
    weights = rng.randint(0, 4, N).astype(float) if weighted else None
    state = FINE.start(N, 3, weights)
    before = rng.dirichlet(np.ones(3), N)
    if spoken:
        state.apply(FINE.reward(before, CODES, None, 3), 0.7)
    ours = model_of_a_turn(Honesty(models=2), state=state).estimator

    logits = 0.7 * np.log(np.maximum(before, 0.01)) if spoken else np.zeros((N, 3))
    counting = np.ones(N) if weights is None else weights / weights.mean()
    sums = np.zeros((N, 3))
    for tree in ours.trees:
        shares = softmax(logits + sums, axis=1)
        residuals = np.eye(3)[CODES] - shares
        leaf_of = tree.apply(X)
        fitted = DecisionTreeRegressor(max_depth=2, random_state=tree.random_state)
        np.testing.assert_array_equal(leaf_of, fitted.fit(X, residuals, sample_weight=counting).apply(X))
        for leaf in np.unique(leaf_of):
            inside = leaf_of == leaf
            fall = (counting[inside, np.newaxis] * residuals[inside]).sum(axis=0)
            bend = (counting[inside, np.newaxis] * (shares * (1 - shares))[inside]).sum(axis=0)
            sums[inside] += STEP * np.clip(fall / (bend + 1.0) * 2 / 3, -4.0, 4.0)
    np.testing.assert_allclose(ours.sums(X), sums, rtol=1e-6, atol=1e-7)
    np.testing.assert_allclose(ours.predict_proba(X), softmax(LOUDNESS * sums, axis=1), rtol=1e-5)


@given(
    codes=st.lists(st.integers(0, 3), min_size=8, max_size=30).filter(lambda codes: len(set(codes)) > 1),
    seed=st.integers(0, 1000),
    loud=st.floats(0.0, 5.0),
    depth=st.integers(1, 3),
    weighted=st.booleans(),
)
@settings(max_examples=60, deadline=None)
def test_no_tree_raises_the_training_loss(codes, seed, loud, depth, weighted):
    codes = np.array(codes)
    rng = np.random.RandomState(seed)
    learner = Learner(DecisionTreeClassifier(max_depth=depth), "a")
    learner.prepare(rng.rand(len(codes), 2), codes, seed)
    weights = rng.rand(len(codes)) + 0.01 if weighted else None
    n_classes = max(int(codes.max()) + 1, 2)
    state = FINE.start(len(codes), n_classes, weights)
    (present,) = state.vectors()
    present += rng.randn(*present.shape) * loud
    logits = state.class_votes(codes) * (n_classes - 1) / n_classes
    losses = [np.average(-log_softmax(logits, axis=1)[np.arange(len(codes)), codes], weights=weights)]
    for step in islice(ResidualBoosting.each(learner, state, codes, Private(state, FINE, seed, "round 1")), 8):
        logits = logits + step.said
        losses.append(np.average(-log_softmax(logits, axis=1)[np.arange(len(codes)), codes], weights=weights))
    assert (np.diff(losses) <= 1e-12).all()


def test_a_step_is_halved_where_it_would_raise_the_loss(monkeypatch):
    monkeypatch.setattr(residual_boosting, "STEP", 64.0)
    monkeypatch.setattr(residual_boosting, "DAMPING", 1e-100)
    learner = Learner(TREE, "a")
    learner.prepare(X, CODES, 0)
    state = FINE.start(N, 3)
    (step,) = islice(ResidualBoosting.each(learner, state, CODES, Private(state, FINE, 7, "round 1")), 1)
    shares = np.full((N, 3), 1 / 3)
    whole = 64.0 * newton_steps(step.model.apply(X), step.model.tree_.node_count, np.eye(3)[CODES] > 0, shares, None)
    told = whole[step.model.apply(X)]
    halvings = np.log2(told[step.said != 0.0] / step.said[step.said != 0.0])
    assert halvings.min() == halvings.max() == pytest.approx(round(halvings[0]))
    assert halvings[0] >= 1.0


def test_no_leaf_says_more_than_the_most():
    truth, shares = np.array([[True, False, False]]), np.array([[1e-9, 0.5, 0.5]])
    steps = newton_steps(np.array([0]), 1, truth, shares, np.array([1e6]))
    assert steps.max() == MOST == -newton_steps(np.array([0]), 1, ~truth, 1.0 - shares, np.array([1e6])).min()


@pytest.mark.parametrize(
    ("estimator", "loss"),
    [
        (TREE, "exponential"),
        (ExtraTreeClassifier(max_depth=2), "logistic"),
        (DecisionTreeClassifier(max_depth=2, class_weight="balanced"), "logistic"),
        (DecisionTreeClassifier(max_depth=2, ccp_alpha=0.001), "logistic"),
        (DecisionTreeClassifier(max_depth=2, min_impurity_decrease=0.001), "logistic"),
        (DecisionTreeClassifier(), "logistic"),
    ],
    ids=["exponential loss", "another tree", "class weights", "pruned", "impurity", "knows its samples by heart"],
)
def test_where_a_tree_has_no_twin_it_is_boosted_under_weights(estimator, loss):
    model = model_of_a_turn(Honesty(models=3), estimator, method=Soft(loss, 0.5, 32))
    assert not isinstance(model.estimator, ResidualTrees)


def test_a_monotonic_tree_is_boosted_under_weights():
    assert twin(DecisionTreeClassifier(max_depth=2, monotonic_cst=[1, 0, 0])) is None


def test_the_twin_keeps_every_limit_of_the_tree():
    limits = {
        "max_depth": 4,
        "min_samples_leaf": 3,
        "min_samples_split": 7,
        "max_leaf_nodes": 6,
        "max_features": 2,
        "min_weight_fraction_leaf": 0.01,
        "splitter": "random",
    }
    found = twin(DecisionTreeClassifier(criterion="entropy", **limits))
    assert found is not None
    assert found.criterion == "squared_error"
    assert {name: found.get_params()[name] for name in limits} == limits


def test_two_trees_count_as_one_model():
    assert len(model_of_a_turn(Honesty(models=3)).estimator.trees) == 6


def test_three_agents_with_small_trees_tell_wine_apart_and_say_so_after_loading(tmp_path: Path):
    table, codes = load_wine(return_X_y=True)
    agents = [(f"a{i}", DecisionTreeClassifier(max_depth=1), list(range(i, 13, 3))) for i in range(3)]
    clf = AssistedClassifier(
        agents, method="soft", reward="auto", combine="auto", models_per_turn=10, n_rounds=2, random_state=0
    ).fit(table[::2], codes[::2])
    assert clf.score(table[1::2], codes[1::2]) > 0.9
    save(clf, tmp_path / "clf.skops")
    again = load(tmp_path / "clf.skops")
    np.testing.assert_array_equal(again.predict_proba(table), clf.predict_proba(table))
