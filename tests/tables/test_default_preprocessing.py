"""The default preprocessing: every learner takes every table, by scikit-learn's own means, fitted on training rows."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest
from sklearn.base import clone
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.ensemble import (
    AdaBoostClassifier,
    BaggingClassifier,
    ExtraTreesClassifier,
    GradientBoostingClassifier,
    HistGradientBoostingClassifier,
    RandomForestClassifier,
    VotingClassifier,
)
from sklearn.linear_model import LogisticRegression, RidgeClassifier, SGDClassifier
from sklearn.model_selection import GridSearchCV
from sklearn.naive_bayes import BernoulliNB, CategoricalNB, GaussianNB, MultinomialNB
from sklearn.neighbors import KNeighborsClassifier
from sklearn.neural_network import MLPClassifier
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler
from sklearn.svm import SVC
from sklearn.tree import DecisionTreeClassifier, ExtraTreeClassifier
from skops import io
from xgboost import XGBClassifier

from assistlearn.errors import ColumnsError
from assistlearn.learners import Learner
from assistlearn.tables.preparation import check_features, default_pipeline, learner_rows
from assistlearn.tables.schema import Column, Kind, Schema
from assistlearn.tables.settings import PreprocessingSettings

N = 240
SCHEMA = Schema(
    (
        Column("age", Kind.NUMBER),
        Column("dose", Kind.NUMBER),
        Column("smoker", Kind.BOOLEAN, narrow=True),
        Column("town", Kind.CATEGORY),
        Column("street", Kind.CATEGORY),
    )
)
NUMBERS = Schema((Column("age", Kind.NUMBER), Column("dose", Kind.NUMBER)))


def messy() -> tuple[pl.DataFrame, np.ndarray]:
    """A table with everything that tables have, and class codes that depend on it."""
    rng = np.random.default_rng(0)
    codes = rng.integers(0, 2, N)
    age = 40.0 + 20.0 * codes + rng.normal(size=N)
    dose = rng.normal(size=N)
    frame = pl.DataFrame(
        {
            "age": [None if n % 9 == 0 else float(value) for n, value in enumerate(age)],
            "dose": dose,
            "smoker": pl.Series([None if n % 11 == 0 else float(n % 2) for n in range(N)], dtype=pl.Float32),
            "town": [None if n % 13 == 0 else ["Ulm", "Bern", "Graz"][(n + code) % 3] for n, code in enumerate(codes)],
            "street": [f"street {n % 60}" for n in range(N)],
        }
    )
    return frame, codes


STRANGE = pl.DataFrame(
    {
        "age": [None, 41.0],
        "dose": [None, 1.0],
        "smoker": [None, 1.0],
        "town": ["Oslo", None],
        "street": [None, "x"],
    },
    schema={name: column.dtype for name, column in zip(SCHEMA.names, SCHEMA.columns, strict=True)},
)

LEARNERS = [
    DecisionTreeClassifier(max_depth=3),
    ExtraTreeClassifier(),
    RandomForestClassifier(5, max_depth=3),
    ExtraTreesClassifier(5, max_depth=3),
    HistGradientBoostingClassifier(max_iter=5),
    GradientBoostingClassifier(n_estimators=5),
    AdaBoostClassifier(n_estimators=5),
    BaggingClassifier(n_estimators=3),
    XGBClassifier(n_estimators=5, n_jobs=1),
    LogisticRegression(),
    RidgeClassifier(),
    SGDClassifier(),
    SVC(),
    LinearDiscriminantAnalysis(solver="lsqr", shrinkage=0.1),
    GaussianNB(),
    BernoulliNB(),
    MultinomialNB(),
    KNeighborsClassifier(),
    MLPClassifier((8,), solver="lbfgs", max_iter=2000),
    GridSearchCV(LogisticRegression(), {"C": [0.1, 1.0]}, cv=2),
    VotingClassifier([("tree", DecisionTreeClassifier(max_depth=3)), ("linear", LogisticRegression())]),
]


def names(learner: object) -> str:
    return type(learner).__name__


@pytest.mark.parametrize("learner", LEARNERS, ids=names)
def test_every_learner_takes_a_table_with_text_gaps_and_surprises(learner):
    features, codes = messy()
    estimator = default_pipeline(SCHEMA, learner)
    prepared = Learner(estimator, "lab")
    prepared.prepare(learner_rows(estimator, features), codes, seed=0)
    model, answers = prepared.fit(np.full(N, 1 / N), seed=0, when="round 1")
    assert np.mean(answers == codes) > 0.8  # chance is a half, and one in nine has no age
    assert np.array_equal(model.predict(learner_rows(estimator, features)), answers)
    assert set(model.predict(learner_rows(estimator, STRANGE))) <= {0, 1}


ONE_FOR_EACH_FRONT = [DecisionTreeClassifier(), GradientBoostingClassifier(), LogisticRegression(), MultinomialNB()]


@pytest.mark.parametrize("learner", ONE_FOR_EACH_FRONT, ids=names)
def test_fitted_preprocessing_is_saved_without_types_of_our_own(learner):
    features, codes = messy()
    front = default_pipeline(SCHEMA, learner)[:-1].fit(features, codes)
    data = io.dumps(front)
    assert set(io.get_untrusted_types(data=data)) <= {"numpy.dtype"}
    again = io.loads(data, trusted=["numpy.dtype"])
    np.testing.assert_array_equal(again.transform(STRANGE), front.transform(STRANGE))


@pytest.mark.parametrize("learner", LEARNERS[:9], ids=names)
def test_a_learner_that_takes_gaps_itself_gets_numbers_as_they_are(learner):
    takes_gaps = not isinstance(learner, GradientBoostingClassifier | AdaBoostClassifier)
    assert (default_pipeline(NUMBERS, learner) is learner) == takes_gaps


def test_trees_on_numbers_are_the_same_in_thirty_two_bits():
    features = messy()[0].select("age", "dose", "smoker")
    codes = messy()[1]
    wide = features.to_numpy()
    for learner in LEARNERS[:4]:
        narrow = learner_rows(learner, features)
        assert narrow.dtype == np.float32
        here, there = (clone(learner).set_params(random_state=0).fit(X, codes) for X in (narrow, wide))
        np.testing.assert_array_equal(here.predict_proba(narrow), there.predict_proba(wide))


def test_an_array_for_trees_is_not_converted_again_in_fit():
    features = messy()[0].select("dose").cast(pl.Float32)
    rows = learner_rows(DecisionTreeClassifier(), features)
    assert np.shares_memory(rows, features["dose"].to_numpy())


def test_other_learners_get_all_sixty_four_bits():
    features = pl.DataFrame({"age": [1.0 + 2.0**-40]})
    assert learner_rows(HistGradientBoostingClassifier(), features)[0, 0] == 1.0 + 2.0**-40


def test_a_missing_number_becomes_the_median_of_the_training_rows_and_is_marked():
    features = pl.DataFrame({"age": [1.0, 2.0, 9.0, None], "dose": [0.0, 0.0, 0.0, 1.0]})
    settings = PreprocessingSettings(scale="none")
    front = default_pipeline(NUMBERS, LogisticRegression(), settings)[:-1].fit(features)
    new = front.transform(
        pl.DataFrame(
            {"age": [None, 5.0], "dose": [None, 7.0]}, schema_overrides={"age": pl.Float64, "dose": pl.Float64}
        )
    )
    np.testing.assert_array_equal(new, [[2.0, 0.0, 1.0], [5.0, 7.0, 0.0]])


def test_rows_outside_training_do_not_move_what_is_fitted():
    features, codes = messy()
    front = default_pipeline(SCHEMA, LogisticRegression())[:-1].fit(features.head(100), codes[:100])
    numbers = front.named_steps["prepare"].named_transformers_["numbers"]
    assert numbers["impute"].statistics_[0] == np.median(features["age"].head(100).drop_nulls().to_numpy())


def test_numbers_are_scaled_for_learners_that_measure_distance():
    features, codes = messy()
    for learner in (LogisticRegression(), KNeighborsClassifier(), MLPClassifier(), SVC()):
        out = default_pipeline(SCHEMA, learner)[:-1].fit_transform(features, codes)
        np.testing.assert_allclose(out[:, :2].mean(axis=0), 0.0, atol=1e-12)
        np.testing.assert_allclose(out[:, :2].std(axis=0), 1.0)
    unscaled = default_pipeline(SCHEMA, KNeighborsClassifier(), PreprocessingSettings(scale="none"))
    assert unscaled[:-1].fit_transform(features, codes)[:, 0].mean() > 30


def test_rare_categories_share_a_column_and_strangers_are_rare():
    features, codes = messy()
    settings = PreprocessingSettings(max_categories=5)
    schema = Schema((Column("town", Kind.CATEGORY), Column("street", Kind.CATEGORY)))
    front = default_pipeline(schema, LogisticRegression(), settings)[:-1].fit(features.select("town", "street"), codes)
    out = front.transform(pl.DataFrame({"town": ["Ulm", "Oslo", None], "street": ["street 1", "new", "new"]}))
    assert out.shape == (3, 9)  # Bern, Graz, Ulm, missing; four streets and the rest
    np.testing.assert_array_equal(out.sum(axis=1), [2, 1, 2])  # Oslo is nothing: no town is rare
    np.testing.assert_array_equal(out[1, 4:], out[2, 4:])
    assert out[1, 8] == 1.0


def test_trees_get_one_column_for_each_category_column():
    features, codes = messy()
    out = default_pipeline(SCHEMA, DecisionTreeClassifier())[:-1].fit_transform(features, codes)
    assert out.shape == (N, len(SCHEMA.columns))
    strange = default_pipeline(SCHEMA, DecisionTreeClassifier())[:-1].fit(features, codes).transform(STRANGE)
    assert np.isnan(strange[0, 3])
    without_gaps = default_pipeline(SCHEMA, GradientBoostingClassifier())[:-1].fit(features, codes).transform(STRANGE)
    assert np.isfinite(without_gaps).all()


def test_settings_overrule_what_the_learner_would_get():
    settings = PreprocessingSettings(categories="one-hot", missing="impute", scale="standard")
    pipeline = default_pipeline(SCHEMA, DecisionTreeClassifier(), settings)
    branches = {name: step for name, step, _ in pipeline["prepare"].transformers}
    assert isinstance(branches["categories"], OneHotEncoder)
    assert list(branches["numbers"].named_steps) == ["impute", "scale"]
    kept = default_pipeline(NUMBERS, LogisticRegression(), PreprocessingSettings(missing="keep", scale="none"))
    assert isinstance(kept, LogisticRegression)


def test_a_pipeline_agrees_with_scikit_learns_own_fit():
    features, codes = messy()
    for learner in (DecisionTreeClassifier(max_depth=4, random_state=0), LogisticRegression()):
        estimator = default_pipeline(SCHEMA, learner)
        own = Learner(estimator, "lab")
        own.prepare(features, codes, seed=0)
        model, _ = own.fit(np.full(N, 1 / N), seed=0, when="round 1")
        outside = clone(estimator).fit(features, codes)
        assert np.array_equal(model.predict(features), outside.predict(features))


def test_a_learner_with_its_own_pipeline_is_left_alone_and_gets_named_columns():
    own = make_pipeline(StandardScaler(), LogisticRegression())
    searched = GridSearchCV(own, {"logisticregression__C": [1.0]})
    features = messy()[0]
    for learner in (own, searched):
        assert default_pipeline(SCHEMA, learner) is learner
        assert learner_rows(learner, features) is features


@pytest.mark.parametrize(
    ("columns", "learner", "said"),
    [
        (["town"], DecisionTreeClassifier(), "The features 'town' hold text, preprocessing is switched off"),
        (["age"], LogisticRegression(), "The features 'age' have missing values, preprocessing is switched off"),
    ],
)
def test_features_that_a_bare_learner_cannot_take_are_refused(columns, learner, said):
    features = messy()[0].select(columns)
    schema = Schema(tuple(column for column in SCHEMA.columns if column.name in columns))
    with pytest.raises(ColumnsError, match=said):
        check_features(features, schema, learner, PreprocessingSettings(enabled=False))
    check_features(features, schema, Pipeline([("own", learner)]), PreprocessingSettings(enabled=False))
    check_features(features, schema, learner, PreprocessingSettings())


def test_a_bare_tree_may_have_gaps():
    numbers = messy()[0].select("age", "dose")
    check_features(numbers, NUMBERS, DecisionTreeClassifier(), PreprocessingSettings(enabled=False))


def test_a_learner_of_codes_alone_is_told_to_bring_its_own_encoder():
    with pytest.raises(ColumnsError, match="CategoricalNB takes category codes only"):
        check_features(messy()[0], SCHEMA, CategoricalNB(), PreprocessingSettings())
