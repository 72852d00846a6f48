"""Orders that look at what has happened: greedy, strongest, and one's own."""

import threading

import numpy as np
import pytest
from sklearn.datasets import load_wine
from sklearn.naive_bayes import GaussianNB
from sklearn.tree import DecisionTreeClassifier

from assistlearn import AssistedClassifier, StopReason
from assistlearn.core import State
from tests.papers_settings import PAPERS

TABLE, Y = load_wine(return_X_y=True)
X = TABLE[:, [2, 6, 12]]
STUMP = DecisionTreeClassifier(max_depth=1)


def assisted(order, method="simple", learner=STUMP, n_rounds=3, **settings) -> AssistedClassifier:
    agents = [(name, learner, [column]) for column, name in enumerate(("useless", "good", "better"))]
    return AssistedClassifier(
        agents, order=order, n_rounds=n_rounds, random_state=0, **(PAPERS | {"method": method} | settings)
    )


@pytest.mark.parametrize("method", ["ascii", "simple"])
def test_greedy_gives_the_first_turn_to_whoever_lowers_the_loss_most(method: str):
    model = assisted("greedy", method).fit(X, Y)
    losses = {}
    for name in ("useless", "good", "better"):
        only = assisted(lambda round, agents, rng, name=name: [name], method, n_rounds=1).fit(X, Y)
        losses[name] = only.contributions_[0].mean_reward if only.contributions_ else 0
    assert model.contributions_[0].agent == max(losses, key=losses.get)
    assert {c.agent for c in model.contributions_ if c.round == 1} != {"useless"}


def test_a_greedy_round_has_as_many_turns_as_there_are_agents_and_keeps_only_the_chosen_models():
    model = assisted("greedy").fit(X, Y)
    for round in (1, 2, 3):
        assert sum(c.round == round for c in model.contributions_) == 3
    for name, agent in model.agents_.items():
        own = [c.model_weight for c in model.contributions_ if c.agent == name]
        assert [kept.model_weight for kept in agent.models] == own


def test_greedy_goes_by_the_soft_loss_in_the_soft_method():
    def fall(name: str) -> float:  # of the logistic loss, from the scores that the ignorance stands for
        only = assisted(lambda round, agents, rng: [name], "soft", n_rounds=1, score_bits=32).fit(X, Y)
        (kept,) = only.agents_[name].models
        p = np.maximum(kept.model.estimator.predict_proba(X[:, only.columns_[name]]), 0.01)
        vote = p**kept.model_weight  # the softmax of the weight times the logarithms
        return float(np.log(3) + np.log((vote / vote.sum(axis=1, keepdims=True))[np.arange(len(Y)), Y]).mean())

    falls = {name: fall(name) for name in ("good", "better")}
    assert assisted("greedy", "soft", n_rounds=1).fit(X, Y).contributions_[0].agent == max(falls, key=falls.get)


def test_greedy_lowers_the_loss_in_one_round_at_least_as_far_as_any_order():
    def loss(model: AssistedClassifier) -> float:  # the exponential loss that ASCII-Simple lowers
        votes = model.fit(X, Y).decision_function(X)[np.arange(len(Y)), Y]
        return float(np.exp(-2 / 3 * votes).mean())

    greedy = loss(assisted("greedy", n_rounds=1))
    fixed = [loss(assisted(lambda r, a, g, o=o: o, n_rounds=1)) for o in (["good"], ["better"], ["useless"])]
    assert greedy <= min(fixed) + 1e-12


def test_greedy_candidates_side_by_side_are_the_same():
    one, two = assisted("greedy").fit(X, Y), assisted("greedy", n_jobs=2).fit(X, Y)
    assert one.contributions_ == two.contributions_


@pytest.mark.parametrize("settings", [{}, {"holdout": 0.3, "patience": 1}, {"weak_agent": "stop"}])
@pytest.mark.parametrize("order", ["chain", "random", "strongest", lambda round, agents, rng: ["good", "good"]])
def test_agents_that_boost_alone_learn_the_same_side_by_side(order, settings):
    learner = DecisionTreeClassifier(
        max_depth=1, max_features=1, splitter="random"
    )  # chance comes from the turn's seed
    one, two = (assisted(order, "ensemble", learner, n_rounds=6, n_jobs=n, **settings).fit(X, Y) for n in (None, 2))
    assert one.contributions_ == two.contributions_
    assert (one.n_rounds_, one.stop_reason_) == (two.n_rounds_, two.stop_reason_)
    assert np.array_equal(one.decision_function(X), two.decision_function(X))


@pytest.mark.parametrize(("method", "order"), [("simple", "greedy"), ("ensemble", "chain")])
def test_agents_are_fitted_at_the_same_time(method, order):
    meeting = threading.Barrier(3, timeout=20)  # broken, with an error, unless three come

    class Meets(DecisionTreeClassifier):
        def fit(self, *args, **kwargs):
            meeting.wait()
            return super().fit(*args, **kwargs)

    model = assisted(order, method, Meets(max_depth=1), n_rounds=1, n_jobs=3).fit(X, Y)
    assert model.contributions_


@pytest.mark.filterwarnings("ignore:No model was kept")
def test_greedy_stops_when_nobody_can_help():
    class Wrong(GaussianNB):
        def predict(self, table):
            return np.zeros(len(table), dtype=int)  # a third of the samples, no better than chance

    model = assisted("greedy", learner=Wrong(), n_rounds=5).fit(X[:150], np.tile([0, 1, 2], 50))
    assert model.stop_reason_ is StopReason.NO_AGENT_CONTRIBUTED


def test_strongest_follows_the_last_model_weights():
    model = assisted("strongest", n_rounds=4).fit(X, Y)
    turns = {}
    for c in model.contributions_:
        turns.setdefault(c.round, []).append((c.agent, c.model_weight))
    assert [name for name, _ in turns[1]] == [name for name in ("useless", "good", "better") if name in dict(turns[1])]
    for round in (2, 3, 4):
        before = dict(turns[round - 1])
        weights = [before[name] for name, _ in turns[round] if name in before]
        assert weights == sorted(weights, reverse=True)


def test_an_adaptive_order_is_asked_turn_by_turn_with_the_history():
    class Twice:
        def __init__(self):
            self.seen = []

        def next(self, taken, agents, history):
            self.seen.append((list(taken), len(history)))
            return "good" if len(taken) < 2 else None

    order = Twice()
    model = assisted(order, n_rounds=2).fit(X, Y)
    assert order.seen == [([], 0), (["good"], 1), (["good"] * 2, 2), ([], 2), (["good"], 3), (["good"] * 2, 4)]
    assert {c.agent for c in model.contributions_} == {"good"}


def test_the_gain_is_the_fall_of_the_logarithm_of_the_exponential_loss():
    rng = np.random.RandomState(0)
    reward = rng.rand(50) < 0.7
    state = State.start(50, 4, interchange=False)
    verdict = state.judge(reward)
    margin = np.where(reward, 3 / 4, -1 / 4) * verdict.model_weight
    assert verdict.gain == pytest.approx(-np.log(np.exp(-margin).mean()))
    held = rng.rand(50) < 0.5
    verdict = state.judge(reward | ~held, held=held)
    margin = np.where(held, np.where(reward, 3 / 4, -1 / 4), 0.0) * verdict.model_weight
    assert verdict.gain == pytest.approx(-np.log(np.exp(-margin).mean()))
