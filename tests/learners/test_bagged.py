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
from assistlearn.learners.folds import deal
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
    assert len(deep.model.estimator.models) == 8  # four answer for each sample
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
    folds = deal(Y, 3, 0)
    _, before = bag(learner, Y, Private(state, SOFT, 7, "round 1"), 10, folds)
    changed = Y.copy()
    changed[20] = (changed[20] + 1) % 3
    again = Learner(DEEP, "a")
    again.prepare(X, changed, 0)
    _, after = bag(again, changed, Private(state, SOFT, 7, "round 1"), 10, folds)
    fold = folds == folds[20]
    np.testing.assert_array_equal(before[fold], after[fold])  # its label is only in trees that answer for other folds
    assert (before[~fold] != after[~fold]).any()


def test_samples_alike_in_a_fold_get_the_same_answer_whatever_their_labels():
    table = np.repeat(np.arange(6.0), 30)[:, np.newaxis]
    codes = np.random.RandomState(0).randint(2, size=len(table))
    learner = Learner(DEEP, "a")
    learner.prepare(table, codes, 0)
    folds = deal(codes, 3, 0)
    _, said = bag(learner, codes, Private(SOFT.start(len(codes), 2), SOFT, 7, "round 1"), 5, folds)
    for fold in range(3):
        for value in range(6):
            assert len(np.unique(said[(folds == fold) & (table[:, 0] == value)], axis=0)) == 1


def test_a_fold_without_which_there_is_one_class_gets_no_opinion():
    codes = np.array([0] * 8 + [1] * 4)
    learner = Learner(DEEP, "a")
    learner.prepare(np.arange(12.0)[:, np.newaxis], codes, 0)
    folds = np.repeat([0, 1, 2], 4)
    models, said = bag(learner, codes, Private(SOFT.start(12, 2), SOFT, 7, "round 1"), 2, folds)
    np.testing.assert_array_equal(said[folds == 2], np.full((4, 2), 1 / 2))
    assert len(models) == 3  # of the first four draws, one had a single class


def test_bagged_trees_are_as_right_about_new_samples_as_scikit_learns():
    digits, codes = load_digits(return_X_y=True)
    train, test = np.arange(1_000), np.arange(1_000, 1_797)
    agent = turn_of(DEEP, Honesty("out-of-fold", 3, models=20), digits[train], codes[train])
    ours = agent.models[0].model.predict(digits[test]) == codes[test]
    theirs = BaggingClassifier(DEEP, 40, random_state=0).fit(digits[train], codes[train]).predict(digits[test])
    single = DecisionTreeClassifier(random_state=0).fit(digits[train], codes[train]).predict(digits[test])
    assert ours.mean() == pytest.approx((theirs == codes[test]).mean(), abs=0.03)
    assert ours.mean() > (single == codes[test]).mean() + 0.05
