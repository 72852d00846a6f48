"""Honest rewards: what models answer for samples they have not seen."""

from typing import ClassVar

import numpy as np
import pytest
from sklearn.base import BaseEstimator, TransformerMixin, clone
from sklearn.datasets import load_wine
from sklearn.ensemble import ExtraTreesClassifier, RandomForestClassifier
from sklearn.feature_selection import SelectKBest
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import PredefinedSplit, cross_val_predict
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.tree import DecisionTreeClassifier

from assistlearn import AssistedClassifier
from assistlearn.agent.agent import Agent, TrainingSamples, Turn
from assistlearn.core.votes import score_of_truth
from assistlearn.learners import Honesty, Learner
from assistlearn.learners.folds import deal
from assistlearn.learners.model import weight_scale
from assistlearn.methods.hard import Ascii
from assistlearn.plan import Plan
from tests.papers_settings import PAPERS

X, CODES = load_wine(return_X_y=True)
N = len(CODES)
EQUAL = np.full(N, 1 / N)
HEAVY = np.where(CODES == 1, 3.0, 1.0) / np.where(CODES == 1, 3.0, 1.0).sum()
SOFT = Plan(method="soft").make_method()


def prepared(estimator, reward="out-of-fold", cv=4, table=X, codes=CODES, n_jobs=None) -> Learner:
    learner = Learner(estimator, "lab", Honesty(reward, cv, n_jobs))
    learner.prepare(table, codes, seed=5)
    return learner


@pytest.mark.parametrize("soft", [False, True])
@pytest.mark.parametrize(
    "estimator",
    [
        DecisionTreeClassifier(max_depth=2, random_state=0),
        GaussianNB(),
        make_pipeline(StandardScaler(), SelectKBest(k=3), LogisticRegression()),
    ],
    ids=lambda estimator: type(estimator).__name__,
)
def test_out_of_fold_answers_are_those_of_naive_cross_validation(estimator, soft: bool):
    learner = prepared(estimator)
    _, said = learner.fit(EQUAL, 3, "round 1", 3 if soft else None)
    by_hand = clone(estimator)
    if "random_state" in by_hand.get_params():
        by_hand.set_params(random_state=3)
    method = "predict_proba" if soft else "predict"
    # Weights of all equal size: those of the learner's fold average about one, and so do none at all.
    scale = weight_scale(N * 3 // 4) / (N * 3 / 4)
    if hasattr(by_hand, "steps"):
        by_hand.set_params(logisticregression__C=scale)
    folds = PredefinedSplit(deal(CODES, 4, seed=5))
    expected = cross_val_predict(by_hand, X, CODES, cv=folds, method=method)
    np.testing.assert_allclose(said, expected, atol=0.02 if hasattr(by_hand, "steps") else 1e-9)


@pytest.mark.parametrize(
    ("forest", "weights"),
    [
        (RandomForestClassifier(40), EQUAL),
        (ExtraTreesClassifier(40, bootstrap=True), EQUAL),
        (RandomForestClassifier(40), HEAVY),
        (RandomForestClassifier(40, class_weight="balanced"), EQUAL),
    ],
    ids=["forest", "extra trees", "weights of samples", "weights of classes"],
)
def test_folds_answer_for_a_forest_also_where_some_trees_have_not_drawn_a_sample(forest, weights):
    _, said = prepared(forest).fit(EQUAL, 3, "round 1", 3, weights)
    folds = deal(CODES, 4, seed=5)
    for fold in range(4):
        own = weights[folds != fold]
        drawn = own / own.sum() * weight_scale(len(own))
        by_hand = clone(forest).set_params(random_state=3).fit(X[folds != fold], CODES[folds != fold], drawn)
        np.testing.assert_array_equal(said[folds == fold], by_hand.predict_proba(X[folds == fold]))


@pytest.mark.parametrize("forest", [RandomForestClassifier(40), RandomForestClassifier(40, class_weight="balanced")])
def test_an_honest_forest_does_not_look_at_the_ignorance_of_others(forest):
    first, said = prepared(forest).fit(EQUAL, 3, "round 1", 3, EQUAL)
    later, again = prepared(forest).fit(HEAVY, 3, "round 1", 3, EQUAL)
    np.testing.assert_array_equal(said, again)
    np.testing.assert_array_equal(first.predict(X), later.predict(X))


def test_a_forest_without_bags_is_cut_into_folds():
    forest = RandomForestClassifier(5, bootstrap=False)
    _, said = prepared(forest).fit(EQUAL, 3, "round 1")
    expected = cross_val_predict(
        forest.set_params(random_state=3), X.astype(np.float32), CODES, cv=PredefinedSplit(deal(CODES, 4, seed=5))
    )
    assert (said == expected).mean() > 0.97
    assert (said != CODES).any()


class Counting(TransformerMixin, BaseEstimator):
    """Remembers the rows it was fitted to."""

    fitted: ClassVar[list] = []

    def fit(self, table, y=None):
        Counting.fitted.append({tuple(row) for row in np.asarray(table)})
        self.fitted_ = True
        return self

    def transform(self, table):
        return table


def test_a_pipelines_transformers_do_not_see_the_fold_that_is_answered():
    Counting.fitted.clear()
    learner = prepared(make_pipeline(Counting(), GaussianNB()))
    for turn in (1, 2, 3):
        learner.fit(EQUAL, turn, f"round {turn}")
    whole, *parts = Counting.fitted
    assert len(parts) == 4  # once each, for all turns
    assert all(part < whole for part in parts)
    assert set.intersection(*parts) == set()


def test_the_kept_model_is_fitted_to_all_samples():
    model, _ = prepared(GaussianNB()).fit(EQUAL, 3, "round 1")
    np.testing.assert_allclose(model.estimator.theta_, GaussianNB().fit(X, CODES).theta_)


def test_auto_stays_in_sample_while_that_tells_something():
    stump = DecisionTreeClassifier(max_depth=1)
    _, auto = prepared(stump, "auto").fit(EQUAL, 3, "round 1")
    _, in_sample = prepared(stump, "in-sample").fit(EQUAL, 3, "round 1")
    assert np.array_equal(auto, in_sample)


def test_auto_turns_honest_for_a_learner_that_knows_its_samples_by_heart():
    tree = DecisionTreeClassifier()
    learner = prepared(tree, "auto")
    _, auto = learner.fit(EQUAL, 3, "round 1")
    _, honest = prepared(tree, "out-of-fold").fit(EQUAL, 3, "round 1")
    assert np.array_equal(auto, honest)
    assert (auto != CODES).any()


def test_it_stays_honest_once_it_has_turned():
    learner = prepared(DecisionTreeClassifier(max_depth=3), "auto")
    learner.fit(EQUAL, 3, "round 1")  # 97 % right in-sample
    hard = np.where(CODES == 1, 1.0, 1e-6)
    _, again = learner.fit(hard / hard.sum(), 4, "round 2")
    folds = prepared(DecisionTreeClassifier(max_depth=3), "out-of-fold")
    _, honest = folds.fit(hard / hard.sum(), 4, "round 2")
    assert np.array_equal(again, honest)


def test_auto_believes_in_the_share_of_the_advantage_that_an_unseen_fold_keeps():
    learner = prepared(GaussianNB(), "auto", table=X[:, :3])
    assert learner.trust == 1.0
    _, said = learner.fit(EQUAL, 6, "round 1", 3)  # 6: the fold is the seed's remainder by four
    aside = deal(CODES, 4, seed=5) == 2
    unseen = GaussianNB().fit(X[~aside, :3], CODES[~aside]).predict_proba(X[aside, :3])
    kept = score_of_truth(unseen, CODES[aside], 3).sum() / score_of_truth(said[aside], CODES[aside], 3).sum()
    assert 0.5 < kept < 1.0
    assert learner.trust == pytest.approx(kept)


def test_what_is_not_believed_in_is_cut_from_the_model_weight():
    agents = [Agent("a", GaussianNB(), Honesty(reward, cv=4)) for reward in ("auto", "in-sample")]
    verdicts = []
    for agent in agents:
        agent.begin(TrainingSamples(X[:, :3], CODES), seed=5)
        verdicts.append(agent.take_turn(Turn(1, 1, 6), SOFT.start(N, 3), SOFT).verdict)
    learner = prepared(GaussianNB(), "auto", table=X[:, :3])
    learner.fit(EQUAL, 6, "round 1", 3)
    assert verdicts[0].model_weight == learner.trust * verdicts[1].model_weight
    assert agents[0].models[0].model_weight == verdicts[0].model_weight


NOISY = np.where(np.random.RandomState(0).rand(N) < 0.3, (CODES + 1) % 3, CODES)


def test_forests_that_know_their_samples_by_heart_vote_by_their_accuracy_alone():
    model = assisted("auto", RandomForestClassifier(40), method="ascii").fit(X, NOISY)
    assert len(model.contributions_) == 6
    for contribution in model.contributions_:
        right = contribution.accuracy
        assert 0.4 < right < 0.9  # of samples that were not seen
        assert contribution.model_weight == pytest.approx(np.log(right / (1 - right)) + np.log(2))


@pytest.mark.parametrize("method", [Ascii(), SOFT], ids=["hard", "soft"])
def test_a_state_remembers_how_it_began(method):
    weights = np.random.RandomState(0).rand(N)
    for given in (None, weights):
        state = method.start(N, 3, given)
        began = state.ignorance()
        reward = method.reward(np.ones(N, dtype=int), CODES, None, 3)
        state.apply(reward, 0.7)
        assert np.abs(state.ignorance() - began).max() > 1e-4
        fresh = state.beginning()
        np.testing.assert_array_equal(fresh.ignorance(), began)
        fresh.apply(reward, 0.7)
        np.testing.assert_array_equal(fresh.ignorance(), state.ignorance())
        np.testing.assert_array_equal(fresh.beginning().ignorance(), began)


def test_folds_side_by_side_give_the_same_answers():
    tree = DecisionTreeClassifier()
    _, one = prepared(tree).fit(EQUAL, 3, "round 1", 3)
    _, two = prepared(tree, n_jobs=2).fit(EQUAL, 3, "round 1", 3)
    assert np.array_equal(one, two)


@pytest.mark.parametrize("codes", [[0, 0, 0, 1], [0, 1], [0, 1, 2, 2, 2, 2, 2]])
def test_classes_with_a_single_sample_are_no_obstacle(codes):
    codes = np.array(codes)
    table = np.random.RandomState(0).rand(len(codes), 2)
    for estimator in (LogisticRegression(), KNeighborsClassifier(1), DecisionTreeClassifier()):
        _, said = prepared(estimator, table=table, codes=codes, cv=5).fit(np.full(len(codes), 1 / len(codes)), 3, "r")
        assert said.shape == codes.shape


def test_every_class_is_spread_over_the_folds():
    folds = deal(CODES, 5, seed=1)
    assert np.ptp(np.bincount(folds)) <= 1
    for code in range(3):
        assert np.ptp(np.bincount(folds[code == CODES], minlength=5)) <= 1


def assisted(reward, learner=None, **settings) -> AssistedClassifier:
    learner = DecisionTreeClassifier() if learner is None else learner
    agents = [("a", learner, slice(0, 6)), ("b", learner, slice(6, 13))]
    return AssistedClassifier(agents, **(PAPERS | {"reward": reward, "n_rounds": 3, "random_state": 0} | settings))


@pytest.mark.parametrize("method", ["ascii", "simple", "ensemble", "soft"])
def test_every_method_takes_honest_rewards(method: str):
    model = assisted("out-of-fold", method=method).fit(X, CODES)
    assert not any(contribution.perfect for contribution in model.contributions_)
    assert model.score(X, CODES) > 0.95


def test_perfect_in_sample_rewards_are_said_with_their_remedy(caplog):
    assisted("in-sample").fit(X, CODES)
    assert "reward='out-of-fold'" in caplog.text
    caplog.clear()
    assisted("auto").fit(X, CODES)
    assert caplog.text == ""
