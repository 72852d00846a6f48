"""Whoever has the state can tell whether a model weight follows from the reward."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.datasets import load_wine
from sklearn.ensemble import RandomForestClassifier
from sklearn.naive_bayes import GaussianNB
from sklearn.tree import DecisionTreeClassifier

from assistlearn.agent.agent import Agent, TrainingSamples, Turn
from assistlearn.core import Verdict
from assistlearn.errors import ProtocolError
from assistlearn.learners import Honesty
from assistlearn.methods import method_named
from assistlearn.methods.method import Standpoint, check_model_weight, check_verdict
from assistlearn.plan import Plan

X, Y = load_wine(return_X_y=True)
METHODS = {name: method_named(name, vars(Plan())) for name in ("ascii", "simple", "soft", "ensemble")}
LEARNERS = [DecisionTreeClassifier(max_depth=1), GaussianNB(), RandomForestClassifier(n_estimators=10)]


def turns_of(name: str, learner, honesty: str = "in-sample", held: np.ndarray | None = None):
    """Yield the state before, the reward and the verdict of some honest turns, two agents in turn."""
    method = METHODS[name]
    state = method.start(len(Y), 3)
    agents = []
    for columns in ([0, 1, 2, 3], [4, 5, 6]):
        agent = Agent("lab", learner, Honesty(honesty, 3))
        rows = X[:, columns] if held is None else X[held][:, columns]
        agent.begin(TrainingSamples(rows, Y, held), seed=1)
        agents.append(agent)
    for number in range(8):
        if number % 2 == 0:
            state.begin_round()
        answer = agents[number % 2].take_turn(Turn(number + 1, number // 2 + 1, number), state, method)
        yield state, answer
        if not answer.verdict.useless:
            state.apply(answer.reward, answer.verdict.model_weight)


@pytest.mark.parametrize("name", METHODS)
@pytest.mark.parametrize("learner", LEARNERS, ids=lambda learner: type(learner).__name__)
@pytest.mark.parametrize("honesty", ["in-sample", "out-of-fold", "auto"])
def test_an_honest_turn_fits(name, learner, honesty):
    seen = Standpoint(trusting=honesty == "auto")
    for state, answer in turns_of(name, learner, honesty):
        check_verdict(METHODS[name], state, answer.reward, answer.verdict, seen)


@pytest.mark.parametrize("name", METHODS)
def test_an_honest_turn_of_an_agent_that_lacks_samples_fits_whether_or_not_one_knows_which(name):
    held = np.arange(len(Y)) % 5 != 0
    for state, answer in turns_of(name, GaussianNB(), held=held):
        for seen in (Standpoint(held), Standpoint(unsure=True)):
            check_verdict(METHODS[name], state, answer.reward, answer.verdict, seen)


@pytest.mark.parametrize("name", METHODS)
def test_an_agent_whose_samples_are_all_of_one_class_may_be_silent(name):
    held = Y == 1
    for state, answer in turns_of(name, GaussianNB(), held=held):
        check_verdict(METHODS[name], state, answer.reward, answer.verdict, Standpoint(held))


@pytest.mark.parametrize("name", METHODS)
def test_no_other_weight_or_mean_reward_fits(name):
    for state, answer in turns_of(name, GaussianNB()):
        for changed in (
            replace(answer.verdict, model_weight=1.01 * answer.verdict.model_weight),
            replace(answer.verdict, model_weight=0.99 * answer.verdict.model_weight),
            replace(answer.verdict, mean_reward=0.99 * answer.verdict.mean_reward),
            replace(answer.verdict, perfect=not answer.verdict.perfect),
        ):
            with pytest.raises(ProtocolError):
                check_verdict(METHODS[name], state, answer.reward, changed, Standpoint())


@pytest.mark.parametrize("name", METHODS)
@pytest.mark.parametrize("seen", [Standpoint(unsure=True), Standpoint(trusting=True)], ids=["unsure", "trusting"])
def test_no_larger_weight_fits_where_a_smaller_one_may(name, seen):
    for state, answer in turns_of(name, GaussianNB()):
        weight = answer.verdict.model_weight
        check_model_weight(METHODS[name], state, answer.reward, 0.5 * weight, seen)
        fresh = METHODS[name].judge_afresh(state, answer.reward, None).model_weight if seen.trusting else 0.0
        with pytest.raises(ProtocolError, match="worth at most"):
            check_model_weight(METHODS[name], state, answer.reward, 1.01 * max(weight, fresh), seen)


@given(st.lists(st.booleans(), min_size=3, max_size=20), st.integers(0, 50))
def test_another_rounding_does_no_harm(reward, ulps):
    method, reward = METHODS["simple"], np.array(reward)
    state = method.start(len(reward), 2)
    ours = state.judge(reward)
    off = ours.model_weight * (1.0 + ulps * 2.3e-16)
    check_verdict(method, state, reward, Verdict(off, ours.mean_reward, ours.perfect), Standpoint())
