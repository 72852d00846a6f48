"""What is probably meant otherwise is said: labels that are no classes, and dates or decimal commas in text."""

from __future__ import annotations

import warnings

import numpy as np
import pandas as pd
import polars as pl
import pytest
from sklearn.linear_model import LogisticRegression
from sklearn.tree import DecisionTreeClassifier

from assistlearn import AssistedClassifier, TablePreprocessor
from assistlearn.errors import AssistLearnWarning, SettingsError, TableError

RNG = np.random.default_rng(0)
X = RNG.normal(size=(400, 2))
DAYS = pd.date_range("1950-01-01", periods=400, freq="50D")


def model(*columns, learner=None, **settings):
    tree = learner or DecisionTreeClassifier(max_depth=1)
    agents = [(f"agent{n}", tree, [column]) for n, column in enumerate(columns)]
    return AssistedClassifier(agents, n_rounds=1, combine="sum", reward="in-sample", random_state=0, **settings)


def frame(form):
    return pd.DataFrame({"x": X[:, 0], "born": DAYS.strftime(form)})


@pytest.mark.parametrize(
    ("y", "said"),
    [
        (np.zeros(400, dtype=int), "All labels are 0: there is nothing to learn"),
        (["ill"] * 400, "All labels are 'ill'"),
        (np.arange(400) % 190, "190 different numbers, from 0 to 189, and each is a class"),
        ((np.arange(400) % 190).astype(float), "190 different numbers, from 0 to 189, and each is a class"),
        (["yes", "Yes", "no", "no"] * 100, "differ only by case: 'Yes', 'yes'"),
    ],
)
def test_labels_that_are_probably_no_classes_are_said(y, said):
    with pytest.warns(AssistLearnWarning, match=said):
        model(0, 1, calibrate="none").fit(X, y)


def test_classes_are_not_warned_of():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model(0, 1).fit(X, np.where(X[:, 0] > 0, "yes", "no"))


@pytest.mark.parametrize("frames", ["pandas", "polars", "objects"])
def test_dates_in_text_are_said_with_what_makes_dates_of_them(frames):
    made = frame("%d.%m.%Y")
    given = {"pandas": made, "polars": pl.from_pandas(made), "objects": made.to_numpy(dtype=object)}[frames]
    column = "x0" if frames == "objects" else "born"
    with pytest.warns(
        AssistLearnWarning, match=rf"Agent 'agent1': column '{column}' holds dates.*'01\.01\.1950'"
    ) as said:
        model(0, 1).fit(given, X[:, 0] > 0)
    assert "dd.mm.yyyy" in str(said[0].message)
    assert "may come first" not in str(said[0].message)


def test_where_the_day_or_the_month_may_come_first_both_are_named_and_neither_is_taken():
    made = pd.DataFrame({"x": X[:, 0], "seen": np.where(X[:, 1] > 0, "03/04/2020", "01/12/2020")})
    with pytest.warns(AssistLearnWarning, match=r"day or the month may come first.*dd/mm/yyyy.* or .*mm/dd/yyyy"):
        fitted = model("x", "seen").fit(made, X[:, 0] > 0)
    assert fitted.kinds_["agent1"] == {"seen": "category"}


def test_dates_and_categories_of_a_type_of_their_own_are_not_warned_of():
    made = pd.DataFrame({"born": DAYS, "code": pd.Categorical(DAYS.strftime("%d.%m.%Y"))})
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model("born", "code", learner=LogisticRegression()).fit(made, X[:, 0] > 0)


def test_decimal_commas_in_text_are_refused_with_the_parameter_that_reads_them():
    made = pd.DataFrame({"x": X[:, 0], "height": [f"{each:.2f}".replace(".", ",") for each in X[:, 1]]})
    with pytest.raises(TableError, match=r'decimal = ",".* In Python these are parameters of TablePreprocessor'):
        model("x", "height").fit(made, X[:, 0] > 0)


@pytest.mark.parametrize("form", ["dd.mm.yyyy", {"born": "dd.mm.yyyy"}])
def test_a_preprocessor_reads_dates_and_numbers_as_it_is_told(form):
    made = pd.DataFrame({"born": DAYS.strftime("%d.%m.%Y"), "height": [f"{x:.3f}".replace(".", ",") for x in X[:, 1]]})
    plain = pd.DataFrame({"born": DAYS, "height": X[:, 1].round(3)})
    prepare = TablePreprocessor(dates=form, decimal=",").fit(made)
    assert prepare.kinds_ == {"born": "date", "height": "number"}
    np.testing.assert_array_equal(prepare.transform(made), TablePreprocessor().fit_transform(plain))
    with pytest.raises(TableError, match=r"column 'born', row 1: '1950-01-01' is no date of the form dd.mm.yyyy"):
        prepare.transform(made.assign(born="1950-01-01"))


@pytest.mark.parametrize("wrong", [{"dates": "dd.mm.yy"}, {"dates": 3}, {"dates": {"born": "?"}}, {"decimal": ";"}])
def test_a_preprocessor_refuses_a_notation_that_is_none(wrong):
    with pytest.raises(SettingsError, match=next(iter(wrong))):
        TablePreprocessor(**wrong).fit(frame("%Y-%m-%d"))
