"""The smallest, emptiest and largest problems: each has a defined outcome."""

import numpy as np
import pytest
from sklearn.datasets import make_blobs
from sklearn.ensemble import AdaBoostClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier
from sklearn.tree import DecisionTreeClassifier

from assistlearn import AssistedClassifier, StopReason
from assistlearn.errors import AssistLearnWarning, SettingsError
from tests.estimators.data import birds, every, left, right
from tests.learners.classifiers import Constant, Memory, Opposite, Sparing
from tests.papers_settings import PAPERS

METHODS = ["ascii", "simple", "ensemble"]
TREE = DecisionTreeClassifier()


def two(learner=TREE, **options) -> AssistedClassifier:
    options = {**PAPERS, "n_rounds": 5, "random_state": 0, **options}
    return AssistedClassifier([("a", learner, left), ("b", learner, right)], **options)


def assert_sound(clf: AssistedClassifier, X: np.ndarray) -> None:
    """Whatever happened, ignorance is a distribution, and answers, scores and probabilities agree."""
    assert np.isfinite(clf.ignorance_).all()
    assert (clf.ignorance_ >= 0).all()
    assert clf.ignorance_.sum() == pytest.approx(1.0)
    p = clf.predict_proba(X)
    assert p.shape == (len(X), len(clf.classes_))
    np.testing.assert_allclose(p.sum(axis=1), 1.0)
    assert np.array_equal(clf.predict(X), clf.classes_[p.argmax(axis=1)])
    assert np.isfinite(clf.decision_function(X)).all()
    assert set(clf.predict(X)) <= set(clf.classes_)


@pytest.mark.parametrize("method", METHODS)
def test_perfect_agents_are_kept_with_a_finite_weight_and_end_the_run(method: str, caplog: pytest.LogCaptureFixture):
    X = np.random.RandomState(0).rand(30, 4)
    y = np.arange(30) % 3
    clf = two(method=method).fit(X, y)
    (said,) = [record.getMessage() for record in caplog.records if record.levelname == "WARNING"]
    assert "right about every training sample" in said
    assert "reward='out-of-fold'" in said
    assert clf.stop_reason_ is StopReason.ALL_AGENTS_PERFECT
    assert "nothing to tell each other" in clf.stop_reason_
    assert [(c.agent, c.perfect) for c in clf.contributions_] == [("a", True), ("b", True)]
    for contribution in clf.contributions_:
        assert contribution.model_weight == pytest.approx(np.log(2 * 30 - 1) + np.log(2))
    np.testing.assert_allclose(clf.ignorance_, 1 / 30)
    assert clf.score(X, y) == 1.0
    assert_sound(clf, X)


@pytest.mark.parametrize("method", METHODS)
def test_useless_agents_leave_the_most_frequent_class_and_a_warning(method: str):
    y = np.array(["no"] * 7 + ["yes"] * 8)
    X = np.c_[np.zeros((15, 3)), y == "yes"].astype(float)
    clf = AssistedClassifier([("a", Opposite(), [3]), ("b", Opposite(), every)], method=method)
    with pytest.warns(AssistLearnWarning, match="No model was kept"):
        clf.fit(X, y)
    assert clf.stop_reason_ is StopReason.NO_AGENT_CONTRIBUTED
    assert (clf.n_rounds_, clf.contributions_) == (0, ())
    assert set(clf.predict(X)) == {"yes"}
    np.testing.assert_allclose(clf.predict_proba(X), np.tile([7 / 15, 8 / 15], (15, 1)))
    np.testing.assert_allclose(sum(clf.agent_scores(X).values())[:, 1], clf.decision_function(X))
    np.testing.assert_allclose(clf.ignorance_, 1 / 15)
    assert_sound(clf, X)


def test_the_most_frequent_class_is_by_weight():
    y = np.array([0] * 7 + [1] * 8)
    X = y[:, np.newaxis].astype(float)
    weight = np.where(y == 0, 2.0, 1.0)
    with pytest.warns(AssistLearnWarning, match="No model was kept") as said:
        clf = AssistedClassifier([("a", Opposite(), every)], method="ascii").fit(X, y, sample_weight=weight)
    assert said[0].filename == __file__  # the warning points at the caller's line
    assert set(clf.predict(X)) == {0}
    np.testing.assert_allclose(clf.class_prior_, [14 / 22, 8 / 22])


@pytest.mark.filterwarnings("ignore:y. :assistlearn.errors.AssistLearnWarning")
@pytest.mark.parametrize("method", METHODS)
def test_one_class_is_the_only_answer_and_nobody_is_asked(method: str):
    X = np.random.RandomState(0).rand(6, 4)
    clf = two(Constant("never asked"), method=method).fit(X, ["only"] * 6)
    assert clf.stop_reason_ is StopReason.ONE_CLASS
    assert clf.contributions_ == ()
    assert clf.n_rounds_ == 0
    assert list(clf.predict(X)) == ["only"] * 6
    assert np.array_equal(clf.predict_proba(X), np.ones((6, 1)))
    assert clf.decision_function(X).shape == (6,)
    assert_sound(clf, X)


@pytest.mark.filterwarnings("ignore:y. :assistlearn.errors.AssistLearnWarning")
def test_one_class_with_weights_keeps_the_weights_as_ignorance():
    clf = two().fit(np.zeros((3, 4)), [1, 1, 1], sample_weight=[1, 2, 5])
    np.testing.assert_allclose(clf.ignorance_, [1 / 8, 2 / 8, 5 / 8])


@pytest.mark.parametrize(
    ("learner", "method"),
    [
        *((TREE, method) for method in METHODS),
        *((KNeighborsClassifier(1), "simple"), (GaussianNB(), "ascii"), (LogisticRegression(), "ensemble")),
    ],
    ids=str,
)
def test_one_sample_in_a_class_is_kept_in_view(learner, method: str):
    rng = np.random.RandomState(0)
    X, y = rng.rand(41, 4), np.array([0] * 20 + [1] * 20 + [2])
    X[20:40] += 1
    X[40] = 5
    clf = two(learner, method=method).fit(X, y)
    assert list(clf.classes_) == [0, 1, 2]
    assert clf.predict(X[40:]) == [2]
    assert_sound(clf, X)


@pytest.mark.parametrize("method", METHODS)
def test_two_samples(method: str):
    X, y = np.array([[0.0, 0.0], [1.0, 1.0]]), np.array(["a", "b"])
    clf = two(method=method).fit(X, y)
    assert clf.stop_reason_ is StopReason.ALL_AGENTS_PERFECT
    assert clf.contributions_[0].model_weight == pytest.approx(np.log(3))
    assert list(clf.predict(X)) == ["a", "b"]
    assert_sound(clf, X)


@pytest.mark.parametrize("method", METHODS)
def test_two_samples_that_look_the_same(method: str):
    X, y = np.zeros((2, 2)), np.array([0, 1])
    with pytest.warns(AssistLearnWarning, match="No model was kept"):
        clf = two(method=method).fit(X, y)
    assert clf.stop_reason_ is StopReason.NO_AGENT_CONTRIBUTED
    assert_sound(clf, X)


@pytest.mark.parametrize(("method", "n_classes"), [("ascii", 2), ("ascii", 5), ("simple", 3), ("ensemble", 5)])
def test_constant_features_give_the_most_frequent_class_in_one_round(n_classes: int, method: str):
    """After the majority has spoken once, all classes weigh the same and nothing is left to say."""
    y = np.r_[np.arange(n_classes), np.arange(n_classes), np.zeros(3, dtype=int)]
    X = np.ones((len(y), 4))
    clf = two(method=method, n_rounds=50).fit(X, y)
    assert clf.stop_reason_ is StopReason.NO_AGENT_CONTRIBUTED
    assert clf.n_rounds_ <= 2
    assert set(clf.predict(X)) == {0}
    assert_sound(clf, X)


@pytest.mark.parametrize("n", [5, 99])
def test_weights_stay_bounded_when_two_agents_can_only_contradict_each_other(n: int):
    """ASCII counts the round's errors twice; agents that know nothing must not shout each other up without end."""
    y = (np.arange(n) < 0.6 * n).astype(int)
    clf = AssistedClassifier(
        [("a", Constant(1), [0]), ("b", Constant(0), [0])], n_rounds=1100, random_state=0, method="ascii"
    ).fit(np.zeros((n, 1)), y)
    assert max(c.model_weight for c in clf.contributions_) <= 1e6
    assert_sound(clf, np.zeros((1, 1)))


@pytest.mark.filterwarnings("ignore:y. :assistlearn.errors.AssistLearnWarning")
def test_two_hundred_classes():
    X, y = make_blobs(600, centers=200, n_features=4, cluster_std=0.3, random_state=0)
    clf = two(GaussianNB(), n_rounds=2).fit(X, y)
    assert len(clf.classes_) == 200
    assert clf.decision_function(X).shape == (600, 200)
    assert all(c.model_weight > np.log(199) for c in clf.contributions_)  # far better than one in 200
    assert clf.score(X, y) > max(clf.alone(name).fit(X, y).score(X, y) for name in "ab")
    assert_sound(clf, X)


@pytest.mark.filterwarnings("ignore:y. :assistlearn.errors.AssistLearnWarning")
def test_two_hundred_classes_alone_are_adaboosts():
    X, y = make_blobs(1000, centers=200, n_features=4, cluster_std=1.0, random_state=0)
    tree = DecisionTreeClassifier(max_depth=8)
    clf = AssistedClassifier([("a", tree, every)], n_rounds=4, random_state=0, method="ascii").fit(X, y)
    theirs = AdaBoostClassifier(tree, n_estimators=4, random_state=0).fit(X, y)
    np.testing.assert_allclose([c.model_weight for c in clf.contributions_], theirs.estimator_weights_, rtol=1e-10)


def test_ten_thousand_turns_of_a_whole_estimator():
    """Learners that err on another sample in every turn, on a table that is cheap to look at."""
    y = np.arange(12) % 3
    X = np.c_[y, np.arange(12)].astype(float)
    agents = [(name, Sparing(), every) for name in "ab"]
    clf = AssistedClassifier(agents, method="ascii", n_rounds=5_000, random_state=0).fit(X, y)
    assert clf.stop_reason_ is StopReason.ALL_ROUNDS_DONE
    assert clf.contributions_[-1].turn == 10_000
    assert len(clf.contributions_) > 9000
    assert_sound(clf, X[:4])


def test_a_class_that_no_model_ever_answers_is_never_predicted():
    _, y = birds()
    codes = np.unique(y, return_inverse=True)[1]
    table = np.c_[codes, np.where(codes == 3, 0, codes)]
    clf = AssistedClassifier(
        [("a", Memory(), every), ("b", Memory(), [1])], n_rounds=3, random_state=0, method="ascii"
    ).fit(table, y)
    assert clf.classes_[3] not in clf.predict(table)
    assert (clf.decision_function(table)[:, 3] < 0).all()
    assert_sound(clf, table)


@pytest.mark.parametrize(
    ("X", "y", "message"),
    [
        (np.zeros((3, 2)), [0, 1], "3 rows.*2 labels"),
        (np.zeros((0, 2)), [], "0 sample"),
        (np.zeros((3, 2)), [0.1, 0.2, 0.3], "Unknown label type"),
        (np.zeros((3, 2)), [[0, 1]] * 3, "1d array"),
    ],
    ids=["lengths", "empty", "continuous", "two outputs"],
)
def test_data_that_cannot_be_learned_is_refused(X, y, message: str):
    with pytest.raises(ValueError, match=message):
        two().fit(X, y)


def test_weights_of_zero_for_every_sample_are_refused():
    with pytest.raises(ValueError, match=r"Every sample_weight is zero|at least one non-zero"):  # whoever looks first
        two().fit(np.random.RandomState(0).rand(4, 2), [0, 1, 0, 1], sample_weight=np.zeros(4))


@pytest.mark.parametrize("weight", [[1, -1, 1, 1], [1, np.nan, 1, 1], [1, 1], [[1, 1, 1, 1]]])
def test_weights_that_are_none_are_refused(weight):
    with pytest.raises(ValueError, match=r"(?i)negative|nan|shape|1D"):
        two().fit(np.random.RandomState(0).rand(4, 2), [0, 1, 0, 1], sample_weight=weight)


@pytest.mark.parametrize("weight", [{0: -1.0}, {0: np.inf}, {0: 0.0, 1: 0.0}, {0: "much"}, {7: 1.0}, {0: None}])
def test_class_weights_that_cannot_be_are_refused(weight):
    X, y = np.random.RandomState(0).rand(4, 2), [0, 1, 0, 1]
    with pytest.raises(SettingsError, match="class_weight="):
        two(class_weight=weight).fit(X, y)


def test_weights_on_the_hold_out_alone_are_refused():
    X, y = np.random.RandomState(0).rand(40, 2), np.tile([0, 1], 20)
    clf = two(DecisionTreeClassifier(max_depth=2), holdout=0.5).fit(X, y)
    aside = clf.ignorance_ == 0
    with pytest.raises(SettingsError, match=r"holdout=0.5.*weight zero"):
        two(holdout=0.5).fit(X, y, sample_weight=aside.astype(float))
