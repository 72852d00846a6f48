"""An agent fits under the ignorance it hears, keeps what is useful, and forgets the table when training ends."""

import math

import numpy as np
import pytest
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer
from sklearn.tree import DecisionTreeClassifier

from assistlearn.agent.agent import Agent, TrainingSamples, Turn
from assistlearn.core import State
from assistlearn.errors import LearnerError
from assistlearn.methods.hard import Ascii
from tests.learners.classifiers import Constant, Failing, Heaviest, Memory, Opposite, Witness

X = np.random.RandomState(0).rand(40, 3)
CODES = (X[:, 0] + 0.3 * X[:, 1] > 0.6).astype(int)


def begun(estimator, holdout=None, table=X) -> Agent:
    agent = Agent("lab", estimator)
    agent.begin(TrainingSamples(table, CODES, holdout=holdout), seed=0)
    return agent


def three_turns(agent: Agent) -> Agent:
    state = State.start(40, 2)
    for number in (1, 2, 3):
        answer = agent.take_turn(Turn(number, number, 5), state, Ascii())
        state.apply(answer.reward, answer.verdict.model_weight)
    return agent


def test_its_answer_says_where_it_is_right_and_what_that_is_worth():
    state = State.start(40, 2)
    answer = begun(DecisionTreeClassifier(max_depth=1)).take_turn(Turn(1, 1, 5), state, Ascii())
    stump = DecisionTreeClassifier(max_depth=1).fit(X, CODES)
    right = stump.predict(X) == CODES
    assert np.array_equal(answer.reward, right)
    share = right.mean()
    assert answer.verdict.model_weight == pytest.approx(math.log(share / (1 - share)))
    assert answer.holdout is None


def test_it_learns_under_the_present_ignorance():
    Witness.seen.clear()
    state = State.start(40, 2)
    state.apply(CODES == 0, 1.5)
    begun(Witness(max_depth=1)).take_turn(Turn(1, 1, 5), state, Ascii())
    weights = Witness.seen[0][0]
    assert weights[CODES == 1].min() / weights[CODES == 0].max() == pytest.approx(math.exp(1.5))


def test_it_keeps_a_useful_model_with_its_weight_and_round():
    agent = begun(DecisionTreeClassifier(max_depth=1))
    answer = agent.take_turn(Turn(3, 2, 5), State.start(40, 2), Ascii())
    (kept,) = agent.models
    assert (kept.round, kept.model_weight) == (2, answer.verdict.model_weight)
    assert np.array_equal(kept.model.predict(X) == CODES, answer.reward)
    assert agent.total_weight == answer.verdict.model_weight


def test_it_does_not_keep_a_useless_model():
    table = np.c_[X, CODES]
    agent = begun(Opposite(), holdout=table[:3], table=table)
    answer = agent.take_turn(Turn(1, 1, 5), State.start(40, 2), Ascii())
    assert answer.verdict.useless
    assert answer.holdout is None
    assert agent.models == []
    assert agent.total_weight == 0
    assert list(agent.answers(table, 2)) == []
    assert not agent.scores(table, 40, 2, Ascii()).any()


def test_it_answers_for_the_held_out_samples():
    table = np.c_[X, CODES]
    held_out = np.array([[0.0, 0.0, 0.0, 1.0], [0.0, 0.0, 0.0, 0.0]])
    answer = begun(Memory(), held_out, table).take_turn(Turn(1, 1, 5), State.start(40, 2), Ascii())
    assert answer.holdout.tolist() == [1, 0]


def test_ending_cuts_back_to_the_first_rounds():
    agent = three_turns(begun(DecisionTreeClassifier(max_depth=1)))
    agent.end(2)
    assert [kept.round for kept in agent.models] == [1, 2]


def test_beginning_again_forgets_the_models_of_the_last_run():
    agent = three_turns(begun(DecisionTreeClassifier(max_depth=1)))
    agent.begin(TrainingSamples(X, CODES), seed=0)
    assert agent.models == []


def test_its_scores_are_its_own_weighted_votes():
    agent = three_turns(begun(DecisionTreeClassifier(max_depth=1)))
    expected = np.zeros((40, 2))
    for kept in agent.models:
        sign = np.where(kept.model.predict(X) == 1, 1.0, -1.0)
        expected += kept.model_weight * np.c_[-sign, sign]
    np.testing.assert_allclose(agent.scores(X, 40, 2, Ascii()), expected, atol=1e-12)


def test_a_pipelines_transformers_see_new_rows_once_not_once_per_model():
    calls = []
    count = FunctionTransformer(lambda rows: calls.append(len(rows)) or rows)
    agent = three_turns(begun(make_pipeline(count, DecisionTreeClassifier(max_depth=1))))
    calls.clear()
    agent.scores(X[:11], 11, 2, Ascii())
    assert calls == [11]


@pytest.mark.parametrize("code", [-1, 2, 7])
def test_a_model_that_answers_a_class_that_does_not_exist_is_refused(code: int):
    agent = begun(Heaviest())
    agent.take_turn(Turn(1, 4, 5), State.start(40, 2), Ascii())
    agent.models[0].model.estimator.code_ = code
    with pytest.raises(LearnerError, match=rf"'lab'.*round 4.*class code {code}\b.*2 classes"):
        agent.scores(X, 40, 2, Ascii())


@pytest.mark.parametrize("held_out", [False, True])
def test_a_model_that_fails_to_predict_is_named_with_its_round(held_out):
    agent = begun(Failing(ValueError("no coffee left"), "predict elsewhere"), holdout=X[:5] if held_out else None)

    def answer() -> None:
        agent.take_turn(Turn(1, 4, 5), State.start(40, 2), Ascii())
        assert not held_out
        agent.scores(X[:5], 5, 2, Ascii())

    with pytest.raises(LearnerError, match=r"'lab'.*Failing could not predict.*round 4.*no coffee left"):
        answer()


def test_a_constant_answer_of_the_other_class_is_useless_with_three_classes_or_not():
    """With K classes a constant is better than chance only if its class is more than 1 / K of the ignorance."""
    agent = begun(Constant(1))
    share = CODES.mean()
    verdict = agent.take_turn(Turn(1, 1, 5), State.start(40, 2), Ascii()).verdict
    assert verdict.useless == (share <= 0.5)
    assert verdict.mean_reward == pytest.approx(share)
    assert not agent.take_turn(Turn(2, 2, 5), State.start(40, 3), Ascii()).verdict.useless
