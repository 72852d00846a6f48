"""Any classifier, a different one for each agent, and what happens when one of them cannot."""

import pickle

import numpy as np
import pytest
from sklearn import config_context
from sklearn.calibration import CalibratedClassifierCV
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.ensemble import (
    BaggingClassifier,
    HistGradientBoostingClassifier,
    RandomForestClassifier,
    VotingClassifier,
)
from sklearn.linear_model import LogisticRegression, SGDClassifier
from sklearn.model_selection import GridSearchCV
from sklearn.multiclass import OneVsRestClassifier
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier, NearestCentroid
from sklearn.neural_network import MLPClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC
from sklearn.tree import DecisionTreeClassifier

from assistlearn import AssistedClassifier
from assistlearn.errors import LearnerError
from tests.estimators.data import birds, every, left, right
from tests.learners.classifiers import Failing, OnceForAll, Witness, WitnessWithoutWeights
from tests.papers_settings import PAPERS

TREE = DecisionTreeClassifier(max_depth=2)


def two(learner, **options) -> AssistedClassifier:
    options = {**PAPERS, "n_rounds": 3, "random_state": 0, **options}
    return AssistedClassifier([("a", TREE, left), ("b", learner, right)], **options)


LEARNERS = {
    "logistic regression in a pipeline": make_pipeline(StandardScaler(), LogisticRegression()),
    "nearest neighbours": KNeighborsClassifier(),
    "nearest centroid": NearestCentroid(),
    "linear discriminant": LinearDiscriminantAnalysis(),
    "support vectors": SVC(),
    "gradient descent": SGDClassifier(),
    "forest": RandomForestClassifier(10, max_depth=4),
    "histogram boosting": HistGradientBoostingClassifier(max_iter=5, max_depth=2),
    "network": MLPClassifier((8,), max_iter=30),
    "network in a pipeline": make_pipeline(StandardScaler(), MLPClassifier((8,), max_iter=30)),
    "a search": GridSearchCV(TREE, {"max_depth": [1, 2]}, cv=3),
    "a search of neighbours": GridSearchCV(KNeighborsClassifier(), {"n_neighbors": [3, 9]}, cv=3),
    "calibrated": CalibratedClassifierCV(GaussianNB(), cv=3),
    "one against the rest": OneVsRestClassifier(GaussianNB()),
    "a vote": VotingClassifier([("bayes", GaussianNB()), ("tree", TREE)]),
    "a bag of neighbours": BaggingClassifier(KNeighborsClassifier(), 3),
    "another assisted classifier": AssistedClassifier([("inner", TREE, every)], n_rounds=2, method="ascii"),
    "prepares its table": OnceForAll(max_depth=3),
}


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("learner", LEARNERS.values(), ids=LEARNERS)
def test_any_classifier_can_help(learner):
    X, y = birds()
    clf = two(learner).fit(X, y)
    assert any(c.agent == "b" for c in clf.contributions_)
    assert clf.score(X, y) > clf.alone("a").fit(X, y).score(X, y)
    assert np.array_equal(pickle.loads(pickle.dumps(clf)).predict(X), clf.predict(X))


def test_a_learner_without_weights_sees_every_class_in_every_round_and_more_of_what_is_hard():
    X, y = birds()
    codes = np.unique(y, return_inverse=True)[1]
    WitnessWithoutWeights.seen.clear()
    clf = two(WitnessWithoutWeights(), n_rounds=4).fit(X, y)
    assert len(WitnessWithoutWeights.seen) == 4
    for _, seen in WitnessWithoutWeights.seen:
        assert set(seen) == set(codes)
        assert len(y) <= len(seen) <= len(y) + 4
    first_turn = clf.agents_["a"].models[0].model.predict(X[:, :3])
    wrong = first_turn != codes
    rows, _ = WitnessWithoutWeights.seen[0]
    drawn_wrong = np.isin(rows[:, 0], X[wrong, 3]).mean()
    assert drawn_wrong > wrong.mean() + 0.1  # what the first agent got wrong is drawn more often
    assert drawn_wrong == pytest.approx(3 / 4, abs=0.1)  # SAMME raises the share of errors to 1 - 1/K


def test_what_the_first_agent_got_wrong_weighs_more_for_the_second():
    X, y = birds()
    Witness.seen.clear()
    clf = two(Witness(max_depth=2), n_rounds=1).fit(X, y)
    ((weights, _, _),) = Witness.seen
    codes = np.unique(y, return_inverse=True)[1]
    wrong = clf.agents_["a"].models[0].model.predict(X[:, :3]) != codes
    np.testing.assert_allclose(np.log(weights[wrong].min() / weights[~wrong].max()), clf.contributions_[0].model_weight)


def test_a_fitted_model_does_not_keep_the_table():
    rng = np.random.RandomState(0)
    X = rng.rand(1000, 100)
    y = (X[:, 0] + X[:, 99] > 1).astype(int)
    for learner in (
        TREE,
        make_pipeline(StandardScaler(), DecisionTreeClassifier(max_depth=2)),
        OnceForAll(max_depth=2),
    ):
        OnceForAll.prepared.clear()
        clf = two(learner, holdout=0.2).fit(X, y)
        assert len(pickle.dumps(clf)) < X.nbytes / 10


def test_a_learner_that_fails_in_a_later_round_is_named_with_the_round_and_its_own_words():
    X, y = birds()
    learner = Failing(RuntimeError("out of coffee"), "refit")
    clf = AssistedClassifier(
        [("a", TREE, left), ("b", learner, right)], order=second_first, random_state=0, method="ascii"
    )
    expected = r"Agent 'b': its learner Failing could not fit in round 2: RuntimeError: out of coffee"
    with pytest.raises(LearnerError, match=expected) as caught:
        clf.fit(X, y)
    assert isinstance(caught.value.__cause__, RuntimeError)


def second_first(round, agents, rng):
    return agents[::-1]


def test_a_learner_that_has_seen_only_some_of_the_classes_votes_for_those():
    """Weights of zero hide two classes from the second agent's forest of neighbours."""
    X, y = birds()
    weight = np.isin(y, ["owl", "wren"]).astype(float)
    clf = two(KNeighborsClassifier()).fit(X, y, sample_weight=weight)
    assert set(clf.predict(X)) <= {"owl", "wren"}
    assert len(clf.classes_) == 4
    for kept in clf.agents_["b"].models:
        assert set(kept.model.columns()) == {2, 3}
    np.testing.assert_allclose(clf.predict_proba(X).sum(axis=1), 1.0)


def test_in_a_failed_fit_nothing_of_an_earlier_one_can_be_mistaken_for_it():
    X, y = birds()
    clf = two(TREE).fit(X, y)
    clf.set_params(b=Failing(ValueError("no")))
    with pytest.raises(LearnerError):
        clf.fit(X, y)
    assert clf.contributions_ == ()


def test_with_metadata_routing_learners_hear_the_ignorance_all_the_same():
    X, y = birds()
    plain = two(make_pipeline(StandardScaler(), LogisticRegression())).fit(X, y)
    with config_context(enable_metadata_routing=True):
        routed = two(make_pipeline(StandardScaler(), LogisticRegression())).fit(X, y)
        asking = DecisionTreeClassifier().set_fit_request(sample_weight=True).set_score_request(sample_weight=False)
        searched = two(GridSearchCV(asking, {"max_depth": [1, 2]}, cv=3)).fit(X, y)
        unasked = two(GridSearchCV(DecisionTreeClassifier(), {"max_depth": [1, 2]}, cv=3)).fit(X, y)
    assert plain.contributions_ == routed.contributions_
    assert len(searched.contributions_) == 6
    assert unasked.contributions_ != searched.contributions_  # resampled instead
