"""TablePreprocessor is a transformer as scikit-learn's own, and does what the command line does."""

from __future__ import annotations

import pickle

import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn import config_context
from sklearn.base import clone
from sklearn.ensemble import GradientBoostingClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.naive_bayes import MultinomialNB
from sklearn.pipeline import make_pipeline
from sklearn.tree import DecisionTreeClassifier
from sklearn.utils.estimator_checks import parametrize_with_checks

from assistlearn import TablePreprocessor, load, save
from assistlearn.errors import ColumnsError, SettingsError, TableError
from assistlearn.tables.preparation import default_pipeline, learner_rows

FRAME = pd.DataFrame(
    {
        "age": [41.0, np.nan, 67.0, 53.0],
        "town": ["Ulm", "Bern", None, "Ulm"],
        "on": [True, False, True, True],
        "since": pd.to_datetime(["2020-01-01", None, "2021-01-01", "2020-01-02"]),
        "empty": [None] * 4,
    },
    index=[7, 8, 9, 10],
)


@parametrize_with_checks([TablePreprocessor(), TablePreprocessor(categories="ordinal", missing="keep", scale="none")])
def test_it_passes_scikit_learns_checks(estimator, check):
    check(estimator)


def test_columns_without_a_value_are_left_out():
    prepare = TablePreprocessor().fit(FRAME)
    assert prepare.left_out_ == ("empty",)
    assert prepare.n_features_in_ == 5
    assert list(prepare.feature_names_in_) == list(FRAME)
    assert prepare.kinds_ == {"age": "number", "town": "category", "on": "boolean", "since": "date"}
    with pytest.raises(TableError, match="X: the features 'empty' have no value in any row"):
        TablePreprocessor().fit(FRAME[["empty"]])


@pytest.mark.parametrize("container", ["pandas", "polars"])
def test_what_comes_out_can_be_a_frame_with_names(container):
    prepare = TablePreprocessor().set_output(transform=container).fit(FRAME)
    out = prepare.transform(FRAME)
    names = [
        "age",
        "on",
        "since",
        "missingindicator_age",
        "missingindicator_since",
        "town_Bern",
        "town_Ulm",
        "town_None",
    ]
    assert list(out.columns) == names == list(prepare.get_feature_names_out())
    np.testing.assert_array_equal(out.to_numpy(), TablePreprocessor().fit(FRAME).transform(FRAME))
    if container == "pandas":
        assert list(out.index) == [7, 8, 9, 10]
    with config_context(transform_output=container):
        assert list(TablePreprocessor().fit_transform(FRAME).columns) == names


def test_names_that_would_be_the_same_are_told_apart():
    frame = pd.DataFrame({"town": ["Ulm", "Bern"], "town_Ulm": [1.0, 2.0]})
    names = TablePreprocessor().fit(frame).get_feature_names_out()
    assert list(names) == ["numbers__town_Ulm", "categories__town_Bern", "categories__town_Ulm"]


def test_names_of_an_array_are_those_given_later():
    array = FRAME.to_numpy(dtype=object)[:, :2]
    prepare = TablePreprocessor(missing="keep").fit(array)
    assert list(prepare.get_feature_names_out()) == ["x0", "x1_Bern", "x1_Ulm", "x1_None"]
    assert list(prepare.get_feature_names_out(["a", "b"])) == ["a", "b_Bern", "b_Ulm", "b_None"]


def test_columns_in_another_order_are_refused_as_scikit_learn_does():
    with pytest.raises(ValueError, match="must be in the same order"):
        TablePreprocessor().fit(FRAME).transform(FRAME[list(FRAME)[::-1]])


@pytest.mark.parametrize("parameters", [{}, {"categories": "ordinal", "missing": "keep"}], ids=["default", "ordinal"])
def test_copies_do_the_same(parameters, tmp_path):
    prepare = TablePreprocessor(**parameters)
    assert clone(prepare).get_params() == prepare.get_params()
    out = prepare.fit(FRAME).transform(FRAME)
    save(prepare, tmp_path / "prepare.skops")
    for again in (pickle.loads(pickle.dumps(prepare)), clone(prepare).fit(FRAME), load(tmp_path / "prepare.skops")):
        np.testing.assert_array_equal(again.transform(FRAME), out)
        assert again.kinds_ == prepare.kinds_


@pytest.mark.parametrize(
    "learner",
    [LogisticRegression(), DecisionTreeClassifier(), GradientBoostingClassifier(), MultinomialNB()],
    ids=lambda learner: type(learner).__name__,
)
def test_it_does_for_a_learner_what_the_command_line_does(learner):
    prepare = TablePreprocessor.for_learner(learner).fit(FRAME)
    read = prepare._reader.read(FRAME, "X")
    pipeline = default_pipeline(prepare._reader.schema, learner)
    expected = pipeline[:-1].fit_transform(learner_rows(pipeline, read))
    np.testing.assert_array_equal(prepare.transform(FRAME), expected)


def test_in_a_pipeline_of_scikit_learns_it_takes_what_training_has_not_seen():
    model = make_pipeline(TablePreprocessor(), LogisticRegression()).fit(FRAME, [0, 1, 0, 1])
    strange = pd.DataFrame({"age": [None], "town": ["Oslo"], "on": [None], "since": ["2030-01-01"], "empty": ["x"]})
    assert model.predict(strange)[0] in (0, 1)


def test_text_stays_text_where_one_says_so():
    frame = pl.DataFrame({"code": ["1", "2", "NA"]})
    assert TablePreprocessor().fit(frame).kinds_ == {"code": "number"}
    kept = TablePreprocessor(text="category").fit(frame)
    assert list(kept.get_feature_names_out()) == ["code_1", "code_2", "code_NA"]
    assert TablePreprocessor(as_category=["co*"]).fit(frame).kinds_ == {"code": "category"}


@pytest.mark.parametrize(
    ("parameters", "error", "said"),
    [
        ({"scale": "big"}, SettingsError, "scale='big' must be one of 'standard', 'minmax', 'none'"),
        ({"categories": None}, SettingsError, "categories=None must be one of"),
        ({"max_categories": 1}, SettingsError, "max_categories=1 must be 2 or more"),
        ({"max_categories": 2.5}, SettingsError, "max_categories=2.5 must be a whole number"),
        ({"as_category": "town"}, SettingsError, "as_category='town' must be a list of text"),
        ({"missing_values": [3]}, SettingsError, r"missing_values=\[3\] must be a list of text"),
        ({"as_category": ["towm"]}, ColumnsError, r"no column 'towm' \(as_category\). Did you mean 'town'"),
        ({"dates": "refuse"}, ColumnsError, "column 'since' holds dates, and dates='refuse'"),
    ],
)
def test_parameters_that_cannot_be_are_refused(parameters, error, said):
    with pytest.raises(error, match=said):
        TablePreprocessor(**parameters).fit(FRAME)


COLUMNS = st.sampled_from(
    [
        st.none() | st.integers(-9, 9),
        st.none() | st.floats(-9, 9),
        st.none() | st.booleans(),
        st.none() | st.dates(),
        st.none() | st.datetimes(),
        st.none() | st.sampled_from(["a", "b", " b", "", "NA", "c"]),
    ]
)


@settings(max_examples=20, deadline=None)
@given(st.data())
def test_pandas_and_polars_give_the_same_row_by_row(data):
    n_rows = data.draw(st.integers(1, 12))
    kinds = data.draw(st.lists(COLUMNS, min_size=1, max_size=4))
    columns = {f"c{n}": data.draw(st.lists(kind, min_size=n_rows, max_size=n_rows)) for n, kind in enumerate(kinds)}
    columns["one"] = [1] * n_rows  # at least one column has a value
    by_polars, by_pandas = pl.DataFrame(columns, strict=False), pd.DataFrame(columns, dtype=object)
    prepare = TablePreprocessor(scale="none").fit(by_polars)
    assert TablePreprocessor().fit(by_pandas).kinds_ == prepare.kinds_
    whole = prepare.transform(by_pandas)
    np.testing.assert_array_equal(whole, prepare.transform(by_polars))
    np.testing.assert_array_equal(prepare.transform(by_pandas.iloc[[n_rows // 2]]), whole[[n_rows // 2]])
