"""Data frames as people have them work; numbers go to learners as they are; who can take more gets more."""

from __future__ import annotations

import pickle

import numpy as np
import pandas as pd
import polars as pl
import pytest
from sklearn.base import clone
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV
from sklearn.naive_bayes import CategoricalNB
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder
from sklearn.tree import DecisionTreeClassifier
from skrub import TableVectorizer
from xgboost import XGBClassifier

import assistlearn
from assistlearn import AssistedClassifier, TablePreprocessor, assistance_gain
from assistlearn.errors import ColumnsError, LearnerError, SettingsError, TableError
from tests.estimators.data import birds
from tests.papers_settings import PAPERS

N = 90
CLINIC, LAB = ["age", "town", "smoker"], ["pulse", "since"]
TREE, LINEAR = DecisionTreeClassifier(max_depth=2), LogisticRegression()


def people() -> tuple[pd.DataFrame, np.ndarray]:
    """Numbers with gaps, text, categories, truth values and dates, and labels that depend on them."""
    rng = np.random.default_rng(0)
    ill = rng.integers(0, 2, N)
    frame = pd.DataFrame(
        {
            "age": np.where(np.arange(N) % 9 == 0, np.nan, 50 + 10 * ill + 5 * rng.normal(size=N)),
            "town": [None if n % 10 == 0 else ["Ulm", "Bern", "Graz"][(n + code) % 3] for n, code in enumerate(ill)],
            "smoker": pd.array([None if n % 7 == 0 else bool(n % 2) for n in range(N)], dtype="boolean"),
            "pulse": 70 + 9 * ill + 6 * rng.normal(size=N),
            "since": pd.Timestamp("2020-01-01") + pd.to_timedelta(100 * ill + rng.integers(0, 200, N), "D"),
        }
    )
    return frame, np.where(ill, "ill", "well")


def two(first=LINEAR, second=TREE, **options) -> AssistedClassifier:
    options = {**PAPERS, "n_rounds": 2, "random_state": 0, **options}
    return AssistedClassifier([("clinic", first, CLINIC), ("lab", second, LAB)], **options)


X, y = people()
POLARS = pl.DataFrame(X.to_dict("list"), strict=False)


def test_pandas_and_polars_give_the_same_model():
    clf, other = two().fit(X, y), two().fit(POLARS, y)
    assert clf.contributions_ == other.contributions_
    assert clf.predict_proba(X).tobytes() == other.predict_proba(POLARS).tobytes()
    assert clf.score(X, y) > 0.8
    assert clf.kinds_ == {
        "clinic": {"age": "number", "town": "category", "smoker": "boolean"},
        "lab": {"pulse": "number", "since": "date"},
    }
    assert clf.n_features_in_ == 5
    assert list(clf.feature_names_in_) == [*CLINIC, *LAB]


def test_an_array_of_objects_is_prepared_as_well():
    frame = X[CLINIC].astype(object).where(X[CLINIC].notna(), None)
    options = {**PAPERS, "n_rounds": 1, "random_state": 0}
    clf = AssistedClassifier([("clinic", LINEAR, [0, 1, 2])], **options).fit(frame.to_numpy(), y)
    assert list(clf.kinds_["clinic"].values()) == ["number", "category", "boolean"]
    named = AssistedClassifier([("clinic", LINEAR, CLINIC)], **options).fit(X, y)
    assert clf.contributions_ == named.contributions_


def test_the_same_is_had_with_a_pipeline_of_ones_own():
    own = two(make_pipeline(TablePreprocessor(), LINEAR), make_pipeline(TablePreprocessor.for_learner(TREE), TREE))
    own.fit(X, y)
    assert own.kinds_ == {}
    assert own.contributions_ == two().fit(X, y).contributions_
    assert own.predict_proba(X).tobytes() == two().fit(X, y).predict_proba(X).tobytes()


@pytest.mark.parametrize("frame", [X, POLARS], ids=["pandas", "polars"])
def test_the_vectorizer_of_skrub_is_a_pipeline_of_ones_own(frame):
    clf = two(make_pipeline(TableVectorizer(), HistGradientBoostingClassifier(max_iter=3))).fit(frame, y)
    assert set(clf.kinds_) == {"lab"}
    assert clf.score(frame, y) > 0.8


def numbers() -> tuple[pd.DataFrame, np.ndarray]:
    table, labels = birds()
    return pd.DataFrame(table, columns=[*CLINIC, *LAB, "more"]).drop(columns="more"), labels


@pytest.mark.parametrize("dtype", ["float64", "float32", "Float64", "float64[pyarrow]"])
def test_numbers_go_to_a_learner_as_they_are(dtype):
    frame, labels = numbers()
    clf = two().fit(frame.astype(dtype), labels)
    assert clf.kinds_ == {}
    assert clf.contributions_ == two(preprocess="never").fit(frame.astype(dtype), labels).contributions_


def test_numbers_are_prepared_too_where_one_always_wants_that():
    frame, labels = numbers()
    always = two(preprocess="always").fit(frame, labels)
    own = two(make_pipeline(TablePreprocessor(), LINEAR)).fit(frame, labels)
    assert set(always.kinds_) == {"clinic", "lab"}
    assert always.contributions_ == own.contributions_
    frame.loc[0, CLINIC] = np.nan
    assert len(always.predict(frame)) == len(frame)


TOWNS = X[["town"]].astype("category")
LEFT_ALONE = {
    "trees take gaps": (TREE, X[["age", "smoker"]]),
    "histogram boosting takes categories": (HistGradientBoostingClassifier(max_iter=2), TOWNS),
    "histogram boosting takes those of polars": (HistGradientBoostingClassifier(max_iter=2), pl.from_pandas(TOWNS)),
    "so does a search for it": (
        GridSearchCV(HistGradientBoostingClassifier(max_iter=2), {}, cv=2),
        TOWNS.fillna({"town": "Ulm"}),
    ),
    "histogram trees take categories": (assistlearn.learners.HistTreeClassifier(max_depth=2), TOWNS),
    "XGBoost does if it is told to": (XGBClassifier(n_estimators=2, enable_categorical=True), TOWNS),
    "a pipeline does it itself": (make_pipeline(OneHotEncoder(handle_unknown="ignore"), LINEAR), X[["town"]]),
    "booleans are numbers": (LINEAR, X[["pulse"]].assign(high=X["pulse"] > 80)),
}
PREPARED = {
    "a linear model takes no gaps": (LINEAR, X[["age"]]),
    "nor a gap in booleans": (LINEAR, X[["smoker"]]),
    "trees take no categories": (TREE, TOWNS),
    "codes in a categorical column are no amounts": (TREE, pd.DataFrame({"code": pd.Categorical([1, 2, 3] * 30)})),
    "histogram boosting may be told not to look at types": (
        HistGradientBoostingClassifier(max_iter=2, categorical_features=None),
        TOWNS,
    ),
    "nor does it take more categories than it has bins": (
        HistGradientBoostingClassifier(max_iter=2, max_bins=3),
        TOWNS.assign(town=TOWNS["town"].cat.add_categories(["Oslo"])),
    ),
    "nor text": (HistGradientBoostingClassifier(max_iter=2), X[["town"]]),
    "XGBoost is not told to": (XGBClassifier(n_estimators=2), TOWNS),
    "dates are no numbers": (TREE, POLARS.select("since")),
    "truth values as objects": (TREE, X[["smoker"]].astype(object)),
}


@pytest.mark.parametrize("why", [*LEFT_ALONE, *PREPARED])
def test_columns_are_prepared_only_where_a_learner_cannot_take_them(why):
    learner, frame = (LEFT_ALONE | PREPARED)[why]
    clf = AssistedClassifier([("a", learner, slice(None))], **{**PAPERS, "n_rounds": 1, "random_state": 0})
    clf.fit(frame, y)
    assert ("a" in clf.kinds_) == (why in PREPARED)
    assert set(clf.predict(frame)) <= {"ill", "well"}


def test_rows_of_which_an_agent_knows_nothing_are_no_gaps_where_it_abstains():
    frame, labels = numbers()
    frame.loc[:9, CLINIC] = np.nan
    assert two(missing_agent="abstain").fit(frame, labels).kinds_ == {}
    assert set(two().fit(frame, labels).kinds_) == {"clinic"}
    frame = X.copy()
    frame.loc[:9, CLINIC] = None
    clf = two(missing_agent="abstain").fit(frame, y)
    assert set(clf.kinds_) == {"clinic", "lab"}
    assert clf.taking_part(frame)["clinic"].tolist() == [False] * 10 + [True] * (N - 10)


NEW = pd.DataFrame(
    {
        "age": ["61", "?"],
        "town": pd.Categorical(["Oslo", None]),
        "smoker": [1, 0],
        "pulse": [71, 88],
        "since": ["2020-05-05", "2021-01-01T10:00"],
    }
)


def test_what_training_has_not_seen_can_be_predicted():
    clf = two().fit(X, y)
    same = NEW.assign(
        age=[61.0, None], smoker=[True, False], since=pd.to_datetime(["2020-05-05T00:00", "2021-01-01T10:00"])
    )
    assert clf.predict_proba(NEW).tobytes() == clf.predict_proba(same).tobytes()
    assert clf.predict_proba(pl.from_pandas(same)).tobytes() == clf.predict_proba(same).tobytes()


def test_columns_of_another_order_or_meaning_are_refused():
    clf = two().fit(X, y)
    with pytest.raises(ValueError, match="must be in the same order"):
        clf.predict(X[[*LAB, *CLINIC]])
    with pytest.raises(TableError, match="Agent 'lab': column 'since' held dates when the models were trained"):
        clf.predict(NEW.assign(since=[1, 2]))


@pytest.mark.parametrize(
    ("column", "values", "error", "said"),
    [
        (
            "town",
            ["3"] * (N - 1) + ["oops"],
            TableError,
            "column 'town': 1 of 90 values is not a number .'oops', row 90",
        ),
        (
            "town",
            [[1]] * N,
            ColumnsError,
            "column 'town' holds a value of type list .row 1., which cannot be a feature",
        ),
        ("age", ["1"] * (N - 1) + ["inf"], TableError, "column 'age' has 1 infinite values"),
    ],
)
def test_a_column_that_cannot_be_used_is_named_with_its_agent(column, values, error, said):
    with pytest.raises(error, match=f"Agent 'clinic': {said}"):
        two().fit(X.assign(**{column: values}), y)


def test_a_learner_of_codes_alone_is_told_to_bring_an_encoder():
    with pytest.raises(ColumnsError, match=r"Agent 'clinic': CategoricalNB takes category codes only.*make_pipeline"):
        two(CategoricalNB()).fit(X, y)


def test_without_preprocessing_the_learner_says_what_it_thinks_of_text():
    with pytest.raises(LearnerError, match=r"Agent 'clinic'.*LogisticRegression could not fit.*string to float"):
        two(preprocess="never").fit(X, y)
    with pytest.raises(SettingsError, match="preprocess='maybe' must be one of 'auto', 'always', 'never'"):
        two(preprocess="maybe").fit(X, y)


def test_what_is_kept_prepares_as_before(tmp_path):
    clf = two(holdout=0.3).fit(X, y)
    assistlearn.save(clf, tmp_path / "model.skops")
    for again in (assistlearn.load(tmp_path / "model.skops"), pickle.loads(pickle.dumps(clf))):
        assert again.predict_proba(X).tobytes() == clf.predict_proba(X).tobytes()
        assert again.predict_proba(NEW).tobytes() == clf.predict_proba(NEW).tobytes()
        assert again.kinds_ == clf.kinds_
    assert clone(clf).fit(X, y).contributions_ == clf.contributions_


def test_all_that_a_model_offers_takes_frames():
    clf = two(method="soft", combine="auto", reward="auto", holdout=0.3, worse_agent="keep").fit(X, y)
    assert clf.report_ is not None
    assert clf.alone("clinic").fit(X, y).score(X, y) > 0.5
    assert set(clf.pooled().fit(X, y).kinds_["pooled"]) == {*CLINIC, *LAB}
    assert len(clf.subset(["clinic"]).predict(NEW)) == 2
    assert len(list(clf.staged_predict(NEW))) == clf.n_rounds_
    assert [share.helper for share in clf.shares(X, y).helpers] == ["lab"]
    assert assistance_gain(two(), X, y, random_state=0).n_opened > 0


def test_a_drawing_shows_what_is_done_with_the_columns():
    assert "OneHotEncoder" not in two()._repr_html_()
    drawn = two().fit(X, y)._repr_html_()
    assert "3 columns: age (number), town (category), smoker (boolean)" in drawn
    assert "OneHotEncoder" in drawn
    assert "2 columns: pulse (number), since (date)" in drawn
