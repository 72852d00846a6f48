"""Trees that know their samples by heart are bagged in a turn, and what they have not drawn is honest."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.datasets import load_digits, load_wine
from sklearn.ensemble import BaggingClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.tree import DecisionTreeClassifier

from assistlearn.agent.agent import Agent, TrainingSamples, Turn
from assistlearn.learners import Honesty, Learner
from assistlearn.learners.boosting import Private, ResidualTrees, bag
from assistlearn.plan import Plan

X, Y = load_wine(return_X_y=True)
SOFT = Plan(method="soft").make_method()
DEEP, SMALL = DecisionTreeClassifier(), DecisionTreeClassifier(max_depth=1)


def turn_of(estimator, honesty: Honesty, table=X, codes=Y) -> Agent:
    agent = Agent("a", estimator, honesty)
    agent.begin(TrainingSamples(table, codes), seed=3)
    agent.take_turn(Turn(1, 1, 5), SOFT.start(len(codes), int(codes.max()) + 1), SOFT)
    return agent


@pytest.mark.parametrize("reward", ["out-of-fold", "auto"])
def test_a_tree_without_end_is_bagged_and_a_small_one_boosted_on_residuals(reward):
    honesty = Honesty(reward, 3, models=4)
    (deep,), (small,) = turn_of(DEEP, honesty).models, turn_of(SMALL, honesty).models
    assert deep.model.estimator.kind == "bagged"
    assert len(deep.model.estimator.models) == 4
    assert isinstance(small.model.estimator, ResidualTrees)


@pytest.mark.parametrize(
    ("estimator", "honesty"),
    [
        (DEEP, Honesty("in-sample", 3, models=4)),
        (DEEP, Honesty("out-of-fold", 3)),
        (make_pipeline(StandardScaler(), DEEP), Honesty("out-of-fold", 3, models=4)),
    ],
    ids=["in-sample", "one model", "behind transformers that have seen all samples"],
)
def test_no_tree_is_bagged_where_nothing_honest_would_come_of_it(estimator, honesty):
    kinds = [getattr(kept.model.estimator, "kind", None) for kept in turn_of(estimator, honesty).models]
    assert "bagged" not in kinds


def test_a_trees_own_samples_do_not_speak_in_the_honest_answers():
    learner = Learner(DEEP, "a")
    learner.prepare(X, Y, 0)
    state = SOFT.start(len(Y), 3)
    _, before = bag(learner, Y, Private(state, SOFT, 7, "round 1"), 10)
    changed = Y.copy()
    changed[20] = (changed[20] + 1) % 3
    again = Learner(DEEP, "a")
    again.prepare(X, changed, 0)
    _, after = bag(again, changed, Private(state, SOFT, 7, "round 1"), 10)
    np.testing.assert_array_equal(before[20], after[20])  # its label is only in trees that do not answer for it
    assert (before != after).any()


def test_a_sample_that_every_tree_has_drawn_gets_no_opinion():
    learner = Learner(DEEP, "a")
    learner.prepare(X, Y, 0)
    _, said = bag(learner, Y, Private(SOFT.start(len(Y), 3), SOFT, 7, "round 1"), 1)
    drawn = np.bincount(np.random.RandomState(first_seed(7)).randint(len(Y), size=len(Y)), minlength=len(Y)) > 0
    np.testing.assert_array_equal(said[drawn], np.full((drawn.sum(), 3), 1 / 3))
    assert (said[~drawn].max(axis=1) == 1.0).all()


def first_seed(seed: int) -> int:
    from assistlearn.learners.model import TurnSeeds

    return TurnSeeds(seed).of(1)


def test_bagged_trees_are_as_right_about_new_samples_as_scikit_learns():
    digits, codes = load_digits(return_X_y=True)
    train, test = np.arange(1_000), np.arange(1_000, 1_797)
    agent = turn_of(DEEP, Honesty("out-of-fold", 3, models=20), digits[train], codes[train])
    ours = agent.models[0].model.predict(digits[test]) == codes[test]
    theirs = BaggingClassifier(DEEP, 20, random_state=0).fit(digits[train], codes[train]).predict(digits[test])
    single = DecisionTreeClassifier(random_state=0).fit(digits[train], codes[train]).predict(digits[test])
    assert ours.mean() == pytest.approx((theirs == codes[test]).mean(), abs=0.03)
    assert ours.mean() > (single == codes[test]).mean() + 0.05
