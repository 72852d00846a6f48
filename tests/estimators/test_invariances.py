"""What must not matter does not matter: the order of rows, the names of classes, the order of an agent's columns."""

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.linear_model import LogisticRegression
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier
from sklearn.tree import DecisionTreeClassifier

from assistlearn import AssistedClassifier
from tests.estimators.data import birds, pair, wine
from tests.papers_settings import PAPERS

TREE = DecisionTreeClassifier(max_depth=2)
METHODS = ["ascii", "simple", "ensemble"]


def two(learner, **options) -> AssistedClassifier:
    return AssistedClassifier(
        [("a", learner, slice(0, 3)), ("b", learner, slice(3, 6))], n_rounds=6, random_state=0, **(PAPERS | options)
    )


def weights(clf: AssistedClassifier) -> list[float]:
    return [c.model_weight for c in clf.contributions_]


@pytest.mark.parametrize(
    ("data", "learner", "method"),
    [(birds, TREE, "ascii"), (birds, GaussianNB(), "simple"), (pair, TREE, "ensemble"), (pair, GaussianNB(), "ascii")],
)
def test_permuting_the_rows_permutes_the_ignorance(data, learner, method: str):
    X, y = data()
    order = np.random.RandomState(0).permutation(len(y))
    clf, permuted = two(learner, method=method).fit(X, y), two(learner, method=method).fit(X[order], y[order])
    np.testing.assert_allclose(permuted.ignorance_, clf.ignorance_[order], rtol=1e-9)
    np.testing.assert_allclose(weights(permuted), weights(clf), rtol=1e-9)
    assert np.array_equal(permuted.predict(X), clf.predict(X))


@pytest.mark.parametrize(
    ("learner", "method"),
    [
        *((TREE, "ascii"), (TREE, "ensemble"), (GaussianNB(), "simple"), (GaussianNB(), "ensemble")),
        (LogisticRegression(tol=1e-10, max_iter=1000), "ascii"),
    ],
)
def test_relabelling_the_classes_changes_nothing_else(learner, method: str):
    """The new names sort in another order, so that every class gets another code."""
    X, y = birds()
    renamed_to = {"crow": "z", "gull": "a", "owl": "m", "wren": "b"}
    renamed = np.array([renamed_to[label] for label in y])
    uneven = np.random.RandomState(0).rand(len(y))  # so that no leaf of a tree has two classes of the same weight
    clf = two(learner, method=method).fit(X, y, sample_weight=uneven)
    other = two(learner, method=method).fit(X, renamed, sample_weight=uneven)
    np.testing.assert_allclose(weights(other), weights(clf), rtol=1e-9)
    np.testing.assert_allclose(other.ignorance_, clf.ignorance_, rtol=1e-9)
    assert np.array_equal(other.predict(X), [renamed_to[label] for label in clf.predict(X)])
    columns = [list(other.classes_).index(renamed_to[label]) for label in clf.classes_]
    np.testing.assert_allclose(other.predict_proba(X)[:, columns], clf.predict_proba(X), rtol=1e-8, atol=1e-12)
    np.testing.assert_allclose(other.decision_function(X)[:, columns], clf.decision_function(X), atol=1e-9)


def test_exchanging_two_classes_turns_the_decision_round():
    X, y = pair()
    clf, turned = two(GaussianNB()).fit(X, y), two(GaussianNB()).fit(X, -y)
    np.testing.assert_allclose(turned.decision_function(X), -clf.decision_function(X), rtol=1e-9)


@pytest.mark.parametrize("labels", [[10, 20, 30, 40], ["a", "b", "c", "d"], [-1.0, 0.0, 1.0, 2.0], [False, True]])
def test_names_in_the_same_order_change_no_bit(labels: list):
    X, y = birds()
    codes = np.unique(y, return_inverse=True)[1] % len(labels)
    clf, other = two(TREE).fit(X, codes), two(TREE).fit(X, np.array(labels)[codes])
    assert clf.contributions_ == other.contributions_
    assert clf.ignorance_.tobytes() == other.ignorance_.tobytes()
    assert np.array_equal(np.array(labels)[clf.predict(X)], other.predict(X))
    assert other.classes_.dtype == np.array(labels).dtype


@pytest.mark.parametrize("learner", [TREE, GaussianNB(), KNeighborsClassifier()], ids=["tree", "naive Bayes", "knn"])
def test_the_order_of_an_agents_columns_is_irrelevant_where_its_learner_ignores_it(learner):
    X, y = birds()
    clf = two(learner).fit(X, y)
    other = AssistedClassifier(
        [("a", learner, [2, 0, 1]), ("b", learner, [5, 4, 3])], n_rounds=6, random_state=0, method="ascii"
    )
    other.fit(X, y)
    np.testing.assert_allclose(weights(other), weights(clf), rtol=1e-9)
    np.testing.assert_allclose(other.ignorance_, clf.ignorance_, rtol=1e-9)
    assert np.array_equal(other.predict(X), clf.predict(X))


def test_the_order_of_the_tables_columns_is_irrelevant_where_each_agent_is_told_its_own():
    X, y = wine()
    order = np.random.RandomState(1).permutation(13)
    place = np.argsort(order)
    first = [("a", TREE, [0, 6, 9]), ("b", GaussianNB(), [12, 3]), ("c", TREE, slice(0, 13))]
    second = [("a", TREE, place[[0, 6, 9]]), ("b", GaussianNB(), place[[12, 3]]), ("c", TREE, place)]
    clf = AssistedClassifier(first, n_rounds=3, random_state=0, method="ascii").fit(X, y)
    other = AssistedClassifier(second, n_rounds=3, random_state=0, method="ascii").fit(X[:, order], y)
    assert clf.contributions_ == other.contributions_
    assert np.array_equal(clf.decision_function(X), other.decision_function(X[:, order]))


@pytest.mark.parametrize("factor", [0.25, 1024.0, 7.3])
def test_the_scale_of_the_initial_weights_is_irrelevant(factor: float):
    X, y = birds()
    weight = np.random.RandomState(0).rand(len(y)) + 0.1
    clf = two(GaussianNB()).fit(X, y, sample_weight=weight)
    scaled = two(GaussianNB()).fit(X, y, sample_weight=factor * weight)
    np.testing.assert_allclose(weights(scaled), weights(clf), rtol=1e-9)
    np.testing.assert_allclose(scaled.ignorance_, clf.ignorance_, rtol=1e-9)
    if np.log2(factor).is_integer():  # no digit of a weight changes
        assert np.array_equal(scaled.decision_function(X), clf.decision_function(X))


@pytest.mark.parametrize("options", [{"method": "ascii"}, {"class_weight": "balanced", "holdout": 0.3}], ids=str)
def test_equal_initial_weights_are_none(options):
    X, y = birds()
    agents = [("a", LogisticRegression(), [0, 1, 2]), ("b", TREE, [3, 4, 5])]
    clf = AssistedClassifier(agents, n_rounds=2, random_state=0, **options)
    p = clf.fit(X, y).predict_proba(X)
    for constant in (2.0, 1.0 / 3.0, 7.3e9):
        weighted = clone(clf).fit(X, y, sample_weight=np.full(len(y), constant))
        assert clf.contributions_ == weighted.contributions_
        assert clf.ignorance_.tobytes() == weighted.ignorance_.tobytes()
        assert np.array_equal(weighted.predict_proba(X), p)


def test_samples_without_weight_do_not_count():
    X, y = birds()
    weight = (np.arange(len(y)) % 3 > 0).astype(float)
    counted = weight > 0
    y_spoilt = np.where(counted, y, "wren")
    clf = two(GaussianNB()).fit(X, y_spoilt, sample_weight=weight)
    without = two(GaussianNB()).fit(X[counted], y[counted])
    np.testing.assert_allclose(weights(clf), weights(without), rtol=1e-6)  # its smoothing looks at all rows
    assert (clf.ignorance_[~counted] == 0).all()
    np.testing.assert_allclose(clf.ignorance_[counted], without.ignorance_, rtol=1e-5)


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize(
    "learner",
    [GaussianNB(), LogisticRegression(tol=1e-10, max_iter=1000), DecisionTreeClassifier(max_depth=2)],
    ids=["bayes", "logistic", "tree"],
)
def test_a_weight_of_n_is_n_times_the_sample(learner, method: str):
    """What scikit-learn's check of sample weights asks, on data that no model knows by heart.

    400 samples and their 512 copies give a learner weights of the same sum, so that a penalty is as strong.
    """
    X, y = birds()
    weight = np.random.RandomState(0).randint(1, 4, size=len(y))
    weight[np.random.RandomState(1).permutation(len(y))[: max(weight.sum() - 512, 0)]] -= 1
    assert weight.sum() == 512
    repeated = two(learner, method=method).fit(np.repeat(X, weight, axis=0), np.repeat(y, weight))
    weighted = two(learner, method=method).fit(X, y, sample_weight=weight)
    np.testing.assert_allclose(weights(weighted), weights(repeated), rtol=1e-8)
    np.testing.assert_allclose(weighted.decision_function(X), repeated.decision_function(X), atol=1e-8)
    np.testing.assert_allclose(np.repeat(weighted.ignorance_ / weight.clip(1), weight), repeated.ignorance_, rtol=1e-7)


def test_the_order_of_the_agents_matters_to_ascii_only_through_the_turns():
    """Naming the agents differently changes nothing."""
    X, y = birds()
    clf = two(TREE).fit(X, y)
    renamed = AssistedClassifier(
        [("z", TREE, slice(0, 3)), ("y", TREE, slice(3, 6))], n_rounds=6, random_state=0, method="ascii"
    )
    renamed.fit(X, y)
    assert weights(clf) == weights(renamed)
    assert np.array_equal(clf.decision_function(X), renamed.decision_function(X))
