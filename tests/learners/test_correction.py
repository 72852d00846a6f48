"""A later turn: a model fitted beside the others' votes, less what the agent's own models have said."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from sklearn.datasets import load_breast_cancer, load_wine
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import train_test_split
from sklearn.naive_bayes import GaussianNB

from assistlearn import AssistedClassifier
from assistlearn.agent.agent import Agent, TrainingSamples, Turn
from assistlearn.learners import Honesty, Model
from assistlearn.learners.boosting import corrected
from assistlearn.methods.soft import Soft
from bench.accuracy.problems.tic_tac_toe import TIC_TAC_TOE, boards

SOFT = Soft("logistic", 0.5, 32, models_per_turn=20)


class Says:
    """A model that says the same odds of the second class about every row."""

    def __init__(self, odds: float) -> None:
        self.odds, self.classes_ = odds, np.arange(2)

    def predict_proba(self, rows):
        right = 1.0 / (1.0 + np.exp(-self.odds))
        return np.tile([1.0 - right, right], (len(rows), 1))


def test_after_a_correction_all_earlier_models_together_say_what_the_new_one_says():
    rows = np.zeros((1, 1))
    kept: list[tuple[Model, float]] = [(Model(None, Says(0.7), 2), 0.5)]
    for odds, weight in ((-0.4, 1.2), (1.1, 0.8), (0.2, 1.0)):
        kept.append((corrected(Model(None, Says(odds), 2), weight, kept, 2), 1.0))  # told in full
        together = sum(step * np.diff(np.log(model.say(rows)))[0, 0] for model, step in kept)
        assert together == pytest.approx(weight * odds)
    assert len(kept[-1][0].estimator.models) == 4  # each model is in it once


def test_a_correction_told_in_part_moves_the_sum_by_that_part():
    rows = np.zeros((1, 1))
    first = Model(None, Says(0.8), 2), 0.5
    second = corrected(Model(None, Says(1.0), 2), 1.0, [first], 2), 0.25
    third = corrected(Model(None, Says(0.0), 2), 1.0, [first, second], 2)
    before = 0.5 * 0.8 + 0.25 * (1.0 - 0.4)
    assert np.diff(np.log(third.say(rows)))[0, 0] == pytest.approx(-before)


@pytest.mark.parametrize("data", [load_breast_cancer, load_wine], ids=["two classes", "three"])
def test_an_agent_that_is_alone_has_nothing_to_say_after_it_has_made_up_for_the_shrinkage(data):
    """It would learn the noise of its own folds, with the wrong sign, if it heard its own votes."""
    X, codes = data(return_X_y=True)
    agent = Agent("a", GaussianNB(), Honesty("out-of-fold", 3, models=1 + SOFT.models_per_turn))
    agent.begin(TrainingSamples(X[:, :2], codes), seed=5)
    state, gains = SOFT.start(len(codes), int(codes.max()) + 1), []
    for number in (1, 2, 3):
        state.begin_round(number)
        answer = agent.take_turn(Turn(number, number, 7), state, SOFT)
        gains.append(answer.verdict.gain)
        if not answer.verdict.useless:
            state.apply(answer.reward, answer.verdict.model_weight)
            agent.hear_own(answer.reward, answer.verdict.model_weight, answer.verdict.model_weight, SOFT)
    assert gains[0] > 5 * gains[1] > 0.0
    assert gains[2] < 1e-6


@pytest.fixture(scope="module")
def tic_tac_toe():
    return TIC_TAC_TOE[1].cut(0)


@pytest.fixture(scope="module")
def model(tic_tac_toe) -> AssistedClassifier:
    agents = [(name, LogisticRegression(), columns) for name, columns in tic_tac_toe.columns.items()]
    return AssistedClassifier(agents, n_rounds=4, random_state=0).fit(tic_tac_toe.X_train, tic_tac_toe.y_train)


def test_rounds_go_on_where_two_agents_know_little_apart_and_much_together(tic_tac_toe, model):
    assert model.n_rounds_ == 4
    assert all(later < 0.95 * earlier for earlier, later in pairwise(model.round_losses_))
    stages = list(model.staged_score(tic_tac_toe.X_test, tic_tac_toe.y_test))
    assert stages[0] < 0.8 < 0.9 < stages[-1]


def test_the_votes_of_new_rows_are_those_that_were_honestly_told_but_for_the_folds(tic_tac_toe, model):
    """What is told in a later round must be what the kept models of all rounds say together."""
    X, _, y, _ = train_test_split(tic_tac_toe.X_test, tic_tac_toe.y_test, random_state=0)
    lost = -np.log(model.predict_proba(X)[np.arange(len(y)), y])
    assert abs(lost.mean() - model.combination_.loss) < 3 * (lost.std() / len(y) ** 0.5 + model.combination_.error)


def test_there_are_958_final_boards():
    found, won = boards()
    assert found.shape == (958, 9)
    assert won.sum() == 626
    assert len({tuple(board) for board in found}) == 958
