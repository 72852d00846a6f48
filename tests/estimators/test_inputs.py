"""Every kind of table gives the same result; missing values and labels of any kind are welcome where they can be."""

import numpy as np
import pandas as pd
import polars as pl
import pytest
from scipy import sparse
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.naive_bayes import BernoulliNB, GaussianNB
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler
from sklearn.tree import DecisionTreeClassifier

from assistlearn import AssistedClassifier
from assistlearn.errors import LearnerError, SettingsError
from tests.estimators.data import birds, left, pair, right
from tests.papers_settings import PAPERS

TREE = DecisionTreeClassifier(max_depth=2)
NAMES = [f"column {i}" for i in range(6)]
LEARNERS = {
    "tree": TREE,
    "naive Bayes": GaussianNB(),
    "nearest neighbours": KNeighborsClassifier(),
    "pipeline": make_pipeline(StandardScaler(), LogisticRegression()),
}


def two(learner=TREE, **options) -> AssistedClassifier:
    options = {**PAPERS, "n_rounds": 3, "random_state": 0, **options}
    return AssistedClassifier([("a", learner, left), ("b", learner, [3, 4, 5])], **options)


FORMS = {
    "pandas": lambda X: pd.DataFrame(X, columns=NAMES, index=range(1000, 1000 + len(X))),
    "polars": lambda X: pl.DataFrame(X, schema=NAMES),
    "lists": lambda X: X.tolist(),
    "fortran": np.asfortranarray,
}


@pytest.mark.parametrize(
    ("form", "learner", "holdout"),
    [
        *(
            (form, learner, holdout)
            for form in ("pandas", "polars")
            for learner, holdout in (("tree", 0.3), ("pipeline", None))
        ),
        *(
            ("lists", "naive Bayes", None),
            ("fortran", "nearest neighbours", 0.3),
            ("polars", "nearest neighbours", 0.3),
        ),
    ],
)
def test_every_kind_of_table_gives_the_same_model(form, learner, holdout):
    (X, y), make = birds(), FORMS[form]
    plain, other = (two(LEARNERS[learner], holdout=holdout).fit(table, y) for table in (X, make(X)))
    assert plain.contributions_ == other.contributions_
    assert np.array_equal(plain.ignorance_, other.ignorance_)
    np.testing.assert_allclose(plain.decision_function(X), other.decision_function(make(X)), rtol=1e-12)


@pytest.mark.parametrize(
    ("kind", "learner", "holdout"),
    [
        *((kind, TREE, 0.3) for kind in ("csr_array", "csc_array", "csr_matrix", "csc_matrix", "coo_array")),
        *(("csr_array", BernoulliNB(), None), ("csc_matrix", KNeighborsClassifier(algorithm="brute"), 0.3)),
    ],
)
def test_sparse_tables_give_the_same_model(kind: str, learner, holdout):
    X, y = birds()
    X = np.where(abs(X) > 0.2, X, 0.0)  # some zeros, but no two rows alike
    thin = getattr(sparse, kind)(X)
    plain, other = two(learner, holdout=holdout).fit(X, y), two(learner, holdout=holdout).fit(thin, y)
    weights = [[c.model_weight for c in clf.contributions_] for clf in (plain, other)]
    np.testing.assert_allclose(weights[0], weights[1], rtol=1e-10)
    np.testing.assert_allclose(plain.decision_function(X), other.decision_function(thin), rtol=1e-9, atol=1e-12)


def test_names_of_columns_are_learned_and_checked():
    X, y = birds()
    frame = pd.DataFrame(X, columns=NAMES)
    clf = AssistedClassifier(
        [("a", TREE, NAMES[:3]), ("b", TREE, NAMES[3:])], n_rounds=2, random_state=0, method="ascii"
    )
    clf.fit(frame, y)
    assert clf.n_features_in_ == 6
    assert list(clf.feature_names_in_) == NAMES
    with pytest.raises(ValueError, match="feature names should match"):
        clf.predict(frame[NAMES[::-1]])
    with pytest.raises(ValueError, match=r"5 features.*expecting 6"):
        two().fit(X, y).predict(X[:, :5])


def test_an_agents_learner_is_given_its_columns_as_a_frame_with_their_names():
    class Named(GaussianNB):
        def fit(self, X, y, sample_weight=None):
            assert list(X.columns) == NAMES[:3]
            return super().fit(X, y, sample_weight)

    X, y = birds()
    clf = AssistedClassifier([("a", Named(), left)], n_rounds=1, method="ascii").fit(pd.DataFrame(X, columns=NAMES), y)
    assert list(clf.agents_["a"].models[0].model.estimator.feature_names_in_) == NAMES[:3]


def test_text_in_one_agents_columns_is_its_own_learners_business():
    X, y = birds()
    frame = pd.DataFrame(X, columns=NAMES).assign(colour=np.where(y == "owl", "grey", "black"))
    encoded = make_pipeline(OneHotEncoder(), LogisticRegression())
    clf = AssistedClassifier(
        [("a", TREE, NAMES), ("b", encoded, ["colour"])], n_rounds=4, random_state=0, method="ascii"
    )
    owls = y == "owl"
    assert (clf.fit(frame, y).predict(frame)[owls] == "owl").mean() > 0.9
    assert np.array_equal(clf.predict(frame), clf.fit(pl.from_pandas(frame), y).predict(pl.from_pandas(frame)))


def test_missing_values_are_welcome_where_the_learner_takes_them():
    X, y = birds()
    X = np.where(np.random.RandomState(0).rand(*X.shape) < 0.1, np.nan, X)
    learners = [("a", TREE, left), ("b", HistGradientBoostingClassifier(max_iter=3), right)]
    clf = AssistedClassifier(learners, n_rounds=2, random_state=0, method="ascii").fit(X, y)
    assert clf.score(X, y) > 0.6
    frame = pd.DataFrame(X, columns=NAMES)
    assert np.array_equal(
        clf.predict(X),
        AssistedClassifier(learners, n_rounds=2, random_state=0, method="ascii").fit(frame, y).predict(frame),
    )


def test_without_preprocessing_missing_values_are_refused_by_a_learner_that_does_not_take_them():
    X, y = birds()
    X = X.copy()
    X[3, 4] = np.nan
    agents = [("a", TREE, left), ("b", LogisticRegression(), right)]
    clf = AssistedClassifier(agents, n_rounds=2, random_state=0, method="ascii", preprocess="never")
    with pytest.raises(LearnerError, match=r"Agent 'b'.*LogisticRegression could not fit in round 1.*NaN"):
        clf.fit(X, y)
    fine, y = birds()
    clf.fit(fine, y)
    with pytest.raises(LearnerError, match=r"Agent 'b'.*LogisticRegression could not predict.*round 1.*NaN"):
        clf.predict(X)


@pytest.mark.parametrize(
    "make",
    [
        list,
        np.array,
        pd.Series,
        pl.Series,
        lambda y: pd.Series(y, dtype="category"),
        lambda y: np.array(y, dtype=object),
    ],
    ids=["list", "array", "pandas", "polars", "category", "object"],
)
def test_labels_can_come_in_every_kind(make):
    X, y = birds()
    clf, other = two().fit(X, y), two().fit(X, make(y.tolist()))
    assert clf.contributions_ == other.contributions_
    assert other.predict(X).tolist() == clf.predict(X).tolist()
    assert other.score(X, make(y.tolist())) == clf.score(X, y)


def test_a_column_of_labels_is_flattened_with_scikit_learns_warning():
    X, y = pair()
    with pytest.warns(UserWarning, match="column-vector y"):
        clf = two().fit(X, y[:, np.newaxis])
    assert clf.contributions_ == two().fit(X, y).contributions_


def test_initial_weights_can_come_in_every_kind():
    X, y = pair()
    weight = np.random.RandomState(0).rand(len(y))
    plain = two().fit(X, y, sample_weight=weight)
    for given in (weight.tolist(), pd.Series(weight), pl.Series(weight)):
        assert two().fit(X, y, sample_weight=given).contributions_ == plain.contributions_
    same_for_all = two().fit(X, y, sample_weight=1.0)
    assert same_for_all.contributions_ == two().fit(X, y).contributions_


def test_an_empty_frame_is_refused():
    with pytest.raises(ValueError, match="0 sample"):
        two().fit(pd.DataFrame(columns=NAMES), [])


def test_the_table_given_is_not_changed():
    X, y = birds()
    before, weight = X.copy(), np.ones(len(y))
    two().fit(X, y, sample_weight=weight).predict(X)
    assert np.array_equal(X, before)
    assert np.array_equal(weight, np.ones(len(y)))
    X.flags.writeable = False
    try:
        two(KNeighborsClassifier()).fit(X, y).predict(X)
    finally:
        X.flags.writeable = True


@pytest.mark.parametrize("estimator", ["tree", None, 3, DecisionTreeClassifier])
def test_what_is_no_estimator_is_named_with_its_agent(estimator):
    clf = AssistedClassifier([("a", estimator, [0]), ("b", DecisionTreeClassifier(), [1])])
    with pytest.raises(SettingsError, match=r"Agent 'a': .* is not a classifier. Pass an instance"):
        clf.fit(np.eye(2), [0, 1])


@pytest.mark.parametrize(
    "labels",
    [
        [0.0, np.nan, 1.0, np.nan],
        np.array(["a", None, "b", None], dtype=object),
        np.array(["a", np.nan, "b", np.nan], dtype=object),
        pd.Series(["a", None, "b", None], dtype="string"),
        pd.Series([1, None, 0, None], dtype="Int64"),
        pd.Series(["a", None, "b", None], dtype="category"),
    ],
)
def test_labels_that_are_missing_are_named_by_their_rows(labels):
    clf = AssistedClassifier([("a", DecisionTreeClassifier(), [0])])
    with pytest.raises(
        SettingsError, match=r"y contains NaN: 2 of 4 labels are missing \(rows 1, 3\)\. Leave them out"
    ):
        clf.fit(np.eye(4), labels)


def test_labels_that_mix_texts_and_numbers_are_counted():
    mixed = np.array([1, *map(str, pair()[1][1:])], dtype=object)
    with pytest.raises(SettingsError, match=r"mixes texts and 1 other values \(first: 1\)"):
        two().fit(pair()[0], mixed)
