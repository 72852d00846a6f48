"""One agent alone is AdaBoost-SAMME: scikit-learn's AdaBoostClassifier is the outside check."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.ensemble import AdaBoostClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.naive_bayes import BernoulliNB, GaussianNB
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC
from sklearn.tree import DecisionTreeClassifier, ExtraTreeClassifier
from sklearn.utils.class_weight import compute_sample_weight

from assistlearn import AssistedClassifier, StopReason
from assistlearn.errors import AssistLearnWarning
from assistlearn.learners.model import weight_scale
from tests.core import paper
from tests.estimators.data import birds, cancer, digits, every, iris, pair, wine
from tests.learners.classifiers import Memory, Opposite
from tests.papers_settings import PAPERS

DATA = {f.__name__: f for f in (iris, wine, cancer, digits, birds, pair)}
N_ROUNDS = 15


def alone(learner, n_rounds: int = N_ROUNDS, **options) -> AssistedClassifier:
    return AssistedClassifier([("alone", learner, every)], n_rounds=n_rounds, random_state=0, **(PAPERS | options))


def assert_same(ours: AssistedClassifier, theirs: AdaBoostClassifier, X: np.ndarray) -> None:
    """Same model weights, same answers after every round, same scores up to the scale each library has chosen."""
    weights = np.array([c.model_weight for c in ours.contributions_])
    np.testing.assert_allclose(weights, theirs.estimator_weights_[: len(theirs.estimators_)], rtol=1e-10, atol=1e-10)
    assert [c.round for c in ours.contributions_] == list(range(1, len(theirs.estimators_) + 1))
    errors = [1 - c.mean_reward for c in ours.contributions_]
    np.testing.assert_allclose(errors, theirs.estimator_errors_[: len(errors)], rtol=1e-10, atol=1e-10)
    for mine, expected in zip(ours.staged_predict(X), theirs.staged_predict(X), strict=True):
        assert np.array_equal(mine, expected)
    assert np.array_equal(ours.predict(X), theirs.predict(X))
    scale = weights.sum() / (2 if len(ours.classes_) == 2 else 1)
    np.testing.assert_allclose(ours.decision_function(X) / scale, theirs.decision_function(X), rtol=1e-9, atol=1e-9)


CASES = [
    ("iris", DecisionTreeClassifier(max_depth=1)),
    ("iris", GaussianNB()),
    ("wine", DecisionTreeClassifier(max_depth=1)),
    ("wine", DecisionTreeClassifier(max_depth=2, max_features=2)),
    ("cancer", DecisionTreeClassifier(max_depth=1)),
    ("cancer", DecisionTreeClassifier(max_depth=2)),
    ("cancer", GaussianNB()),
    ("digits", DecisionTreeClassifier(max_depth=4)),
    ("digits", DecisionTreeClassifier(max_depth=2)),
    ("birds", DecisionTreeClassifier(max_depth=2)),
    ("birds", DecisionTreeClassifier(max_leaf_nodes=9, criterion="entropy")),
    ("birds", GaussianNB()),
    ("birds", ExtraTreeClassifier(max_depth=2)),
    ("pair", DecisionTreeClassifier(max_depth=1)),
    ("pair", ExtraTreeClassifier(max_depth=2)),
]


@pytest.mark.parametrize(("name", "learner"), CASES, ids=lambda value: str(value))
def test_one_agent_is_adaboost(name: str, learner):
    X, y = DATA[name]()
    theirs = AdaBoostClassifier(clone(learner), n_estimators=N_ROUNDS, random_state=0).fit(X[::2], y[::2])
    ours = alone(learner).fit(X[::2], y[::2])
    assert len(theirs.estimators_) > 3  # the case is worth something
    # In measured data several splits part the training rows alike: rounding chooses among them, and shows on new rows.
    assert_same(ours, theirs, X if name in ("birds", "pair") else X[::2])


@pytest.mark.parametrize("method", ["simple", "ensemble"])
def test_with_one_agent_every_method_is_the_same(method: str):
    X, y = birds()
    tree = DecisionTreeClassifier(max_depth=2)
    ours, other = alone(tree).fit(X, y), alone(tree, method=method).fit(X, y)
    assert ours.contributions_ == other.contributions_
    assert np.array_equal(ours.predict(X), other.predict(X))
    assert ours.ignorance_.tobytes() == other.ignorance_.tobytes()


def test_a_penalty_is_adaboosts_with_weights_of_another_sum():
    """AdaBoost hands its learners weights that sum to 1, which makes a penalty n times stronger than its user said."""
    X, y = birds()
    scale = weight_scale(len(y))
    for C in (0.01, 1.0):
        learner = LogisticRegression(C=C, tol=1e-10, max_iter=1000)
        theirs = AdaBoostClassifier(clone(learner).set_params(C=C * scale), n_estimators=N_ROUNDS).fit(X, y)
        assert_same(alone(learner).fit(X, y), theirs, X)


def test_a_smoothed_naive_bayes_is_adaboosts_too():
    X, y = digits()
    scale = weight_scale(len(y))
    theirs = AdaBoostClassifier(BernoulliNB(alpha=1 / scale, binarize=7.0), n_estimators=N_ROUNDS).fit(X, y)
    assert len(theirs.estimators_) == N_ROUNDS
    assert_same(alone(BernoulliNB(binarize=7.0)).fit(X, y), theirs, X)


def test_a_support_vector_machine_is_adaboosts_too():
    X, y = birds()
    learner = SVC(C=0.1, tol=1e-8)
    theirs = AdaBoostClassifier(SVC(C=0.1 * weight_scale(len(y)), tol=1e-8), n_estimators=4).fit(X, y)
    assert_same(alone(learner, n_rounds=4).fit(X, y), theirs, X)


def test_a_pipeline_is_adaboost_on_the_transformed_table():
    X, y = wine()
    learner = make_pipeline(StandardScaler(), DecisionTreeClassifier(max_depth=2))
    transformed = StandardScaler().fit_transform(X)
    theirs = AdaBoostClassifier(DecisionTreeClassifier(max_depth=2), n_estimators=8, random_state=0)
    theirs.fit(transformed, y)
    ours = alone(learner, n_rounds=8).fit(X, y)
    np.testing.assert_allclose(
        [c.model_weight for c in ours.contributions_], theirs.estimator_weights_[: len(theirs.estimators_)], rtol=1e-10
    )
    assert np.array_equal(ours.predict(X), theirs.predict(transformed))


def test_initial_weights_are_adaboosts():
    X, y = birds()
    weight = np.random.RandomState(1).rand(len(y)) * (np.arange(len(y)) % 5 > 0)  # a fifth counts nothing
    tree = DecisionTreeClassifier(max_depth=2)
    with np.errstate(divide="ignore"):  # AdaBoost takes the logarithm of a weight of zero
        theirs = AdaBoostClassifier(tree, n_estimators=N_ROUNDS, random_state=0).fit(X, y, sample_weight=weight)
    assert_same(alone(tree).fit(X, y, sample_weight=weight), theirs, X)


@pytest.mark.parametrize(
    ("data", "class_weight"), [(cancer, "balanced"), (wine, "balanced"), (cancer, {1: 0.1}), (wine, {0: 5.0, 2: 0.1})]
)
def test_weighted_classes_are_adaboosts_under_weighted_samples(data, class_weight):
    X, y = data()
    weight = compute_sample_weight(class_weight, y)
    tree = DecisionTreeClassifier(max_depth=2)
    theirs = AdaBoostClassifier(tree, n_estimators=N_ROUNDS, random_state=0).fit(X, y, sample_weight=weight)
    ours = alone(tree, class_weight=class_weight).fit(X, y)
    assert_same(ours, theirs, X)
    assert alone(tree).fit(X, y).contributions_[0].model_weight != ours.contributions_[0].model_weight


def test_a_hundred_rounds_are_adaboosts():
    X, y = birds()
    tree = DecisionTreeClassifier(max_depth=2)
    theirs = AdaBoostClassifier(tree, n_estimators=100, random_state=0).fit(X, y)
    assert_same(alone(tree, n_rounds=100).fit(X, y), theirs, X)


def test_the_papers_method_without_settings_is_adaboosts_default():
    X, y = cancer()
    theirs = AdaBoostClassifier(n_estimators=20, random_state=0).fit(X, y)
    assert_same(AssistedClassifier(random_state=0, method="ascii").fit(X, y), theirs, X)


def test_a_perfect_model_ends_both_and_decides_both():
    X, y = wine()
    table = np.c_[X, y]
    theirs = AdaBoostClassifier(Memory(), n_estimators=5).fit(table, y)
    ours = alone(Memory()).fit(table, y)
    assert len(theirs.estimators_) == ours.n_rounds_ == len(ours.contributions_) == 1
    assert ours.stop_reason_ is StopReason.ALL_AGENTS_PERFECT
    assert np.array_equal(ours.predict(table), theirs.predict(table))
    assert (ours.predict_proba(table).max(axis=1) > 0.99).all()


def test_a_perfect_model_late_in_the_run_ends_both():
    X, y = cancer()
    tree = DecisionTreeClassifier(max_depth=3)
    theirs = AdaBoostClassifier(tree, n_estimators=50, random_state=0).fit(X[::2], y[::2])
    assert theirs.estimator_errors_[len(theirs.estimators_) - 1] == 0  # else the case is worth nothing
    ours = alone(tree, n_rounds=50).fit(X[::2], y[::2])
    assert ours.n_rounds_ == len(theirs.estimators_) > 1
    assert ours.stop_reason_ is StopReason.ALL_AGENTS_PERFECT
    expected = theirs.estimator_weights_[: ours.n_rounds_ - 1]
    np.testing.assert_allclose([c.model_weight for c in ours.contributions_[:-1]], expected, rtol=1e-10)


def test_where_adaboost_refuses_a_useless_learner_we_warn_and_answer_the_most_frequent_class():
    X, y = wine()
    table = np.c_[X, y]
    with pytest.raises(ValueError, match="worse than random"):
        AdaBoostClassifier(Opposite()).fit(table, y)
    with pytest.warns(AssistLearnWarning, match=r"No model was kept.*1/3.*other columns or learners"):
        ours = alone(Opposite()).fit(table, y)
    assert ours.contributions_ == ()
    assert ours.n_rounds_ == 0
    assert ours.stop_reason_ is StopReason.NO_AGENT_CONTRIBUTED
    assert set(ours.predict(table)) == {np.bincount(y).argmax()}
    np.testing.assert_allclose(ours.predict_proba(table[:1])[0], np.bincount(y) / len(y), rtol=1e-10)
    assert list(ours.staged_predict(table)) == []


def test_a_model_that_becomes_useless_ends_both_in_the_same_round():
    """One binary column, wrong on a fifth of either side: after the first round there is nothing more to say."""
    X = np.repeat([[0.0], [1.0]], 50, axis=0)
    y = np.tile([0, 0, 0, 0, 1], 10)
    y = np.r_[y, 1 - y]
    tree = DecisionTreeClassifier(max_depth=1)
    theirs = AdaBoostClassifier(tree, n_estimators=10, random_state=0).fit(X, y)
    ours = alone(tree).fit(X, y)
    assert ours.n_rounds_ == 1
    assert ours.stop_reason_ is StopReason.NO_AGENT_CONTRIBUTED
    np.testing.assert_allclose(ours.contributions_[0].model_weight, np.log(4), rtol=1e-10)
    np.testing.assert_allclose(theirs.estimator_weights_[0], np.log(4), rtol=1e-10)
    assert (abs(theirs.estimator_weights_[1:]) < 1e-10).all()  # rounding, which AdaBoost may take for skill
    assert np.array_equal(ours.predict(X), theirs.predict(X))


# -- the estimator against the whole training loop of the paper, written out in linear space with label codes


TREE, STUMP, BAYES = DecisionTreeClassifier(max_depth=2), DecisionTreeClassifier(max_depth=1), GaussianNB()

AGENTS = {
    "two trees": [("a", TREE, slice(0, 3)), ("b", TREE, slice(3, 6))],
    "tree and naive Bayes": [("a", STUMP, [0, 4]), ("b", BAYES, [1, 2, 3, 5])],
    "three, overlapping": [("a", BAYES, [0, 1]), ("b", TREE, [1, 2, 3]), ("c", STUMP, [3, 4, 5])],
    "four": [("a", STUMP, [0]), ("b", BAYES, [1, 2]), ("c", TREE, [3]), ("d", BAYES, [4, 5])],
}


def by_the_paper(agents, X, codes, rounds, *, simple: bool, start=None):
    """Train as the paper does; return its run and the scores of every row."""
    tables = {name: X[:, columns] for name, _, columns in agents}
    learners = {name: learner for name, learner, _ in agents}

    def fit(agent: str, number: int, w: np.ndarray):
        model = clone(learners[agent]).fit(tables[agent], codes, sample_weight=w)
        return model, model.predict(tables[agent])

    run = paper.train(codes, codes.max() + 1, rounds, fit, simple=simple, start=start)
    return run, run.scores(lambda agent, model: model.predict(tables[agent]), len(X))


def assert_papers(clf: AssistedClassifier, run: paper.Run, scores: np.ndarray, X: np.ndarray) -> None:
    assert [(c.round, c.agent) for c in clf.contributions_] == [kept[:2] for kept in run.kept]
    np.testing.assert_allclose(
        [c.model_weight for c in clf.contributions_], [kept[2] for kept in run.kept], rtol=1e-10, atol=1e-10
    )
    np.testing.assert_allclose(clf.ignorance_, run.ignorance, rtol=1e-9, atol=1e-10)
    rounded = 2.0**-15 * sum(c.model_weight for c in clf.contributions_)  # helpers tell their votes in 16 bits
    np.testing.assert_allclose(sum(clf.agent_scores(X).values()), scores, rtol=0.0, atol=rounded)
    assert np.array_equal(clf.predict(X), clf.classes_[scores.argmax(axis=1)])


@pytest.mark.parametrize("method", ["ascii", "simple"])
@pytest.mark.parametrize(
    ("agents", "data"), list(zip(AGENTS.values(), [birds, pair, pair, birds], strict=True)), ids=AGENTS
)
def test_it_is_the_papers_loop(agents, data, method: str):
    X, y = data()
    clf = AssistedClassifier(agents, method=method, n_rounds=6, random_state=0).fit(X, y)
    names = [name for name, _, _ in agents]
    run, scores = by_the_paper(agents, X, np.unique(y, return_inverse=True)[1], [names] * 6, simple=method == "simple")
    assert len(run.kept) > 2 * len(names)  # the case is worth something
    assert_papers(clf, run, scores, X)


def test_it_is_the_papers_loop_with_initial_weights():
    X, y = birds()
    weight = np.random.RandomState(0).rand(len(y))
    agents = AGENTS["three, overlapping"]
    clf = AssistedClassifier(agents, n_rounds=5, random_state=0, method="ascii").fit(X, y, sample_weight=weight)
    run, scores = by_the_paper(
        agents, X, np.unique(y, return_inverse=True)[1], [["a", "b", "c"]] * 5, simple=False, start=weight
    )
    assert_papers(clf, run, scores, X)


@pytest.mark.parametrize("method", ["ascii", "simple"])
def test_a_random_order_is_the_papers_loop_in_that_order(method: str):
    X, y = birds()
    agents = AGENTS["four"]
    clf = AssistedClassifier(agents, method=method, order="random", n_rounds=5, random_state=1).fit(X, y)
    rounds = [[c.agent for c in clf.contributions_ if c.round == number] for number in range(1, 6)]
    assert len({tuple(names) for names in rounds}) > 1  # some order differs
    run, scores = by_the_paper(agents, X, np.unique(y, return_inverse=True)[1], rounds, simple=method == "simple")
    assert_papers(clf, run, scores, X)


def test_an_agent_that_sits_out_changes_nothing_for_the_others():
    X, y = birds()
    codes = np.unique(y, return_inverse=True)[1]
    table = np.c_[X, codes]
    first, second = AGENTS["two trees"]
    clf = AssistedClassifier(
        [first, ("idle", Opposite(), [6]), second], n_rounds=4, random_state=0, method="ascii"
    ).fit(table, y)
    run, scores = by_the_paper([first, second], X, codes, [["a", "b"]] * 4, simple=False)
    assert_papers(clf, run, scores, table)
    assert not clf.agent_scores(table)["idle"].any()
