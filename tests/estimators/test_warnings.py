"""What an estimator warns of: labels that are no classes, dates or decimal commas in text, votes unlike training."""

from __future__ import annotations

import numpy as np
import pandas as pd
import polars as pl
import pytest
from sklearn.linear_model import LogisticRegression
from sklearn.tree import DecisionTreeClassifier

import assistlearn
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
    model(0, 1).fit(X, np.where(X[:, 0] > 0, "yes", "no"))  # a warning would be an error


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


# -- an estimator warns where an agent votes for new people otherwise than it did in training


def table(n, seed):
    rng = np.random.default_rng(seed)
    y = rng.integers(2, size=n)
    return rng.normal(size=(n, 6)) + 0.9 * (2 * y[:, None] - 1), y


def fitted(**settings):
    agents = [(name, DecisionTreeClassifier(max_depth=3), [2 * i, 2 * i + 1]) for i, name in enumerate("abc")]
    settings = {"models_per_turn": 2, "n_rounds": 2, "random_state": 0} | settings
    return AssistedClassifier(agents, **settings).fit(*table(400, 0))


def turned(X, columns=(2, 3)):
    """A table in which an agent's columns have changed their sign, so that its votes turn around."""
    X = X.copy()
    X[:, columns] *= -1
    return X


@pytest.mark.parametrize(
    "settings", [{}, {"combine": "sum", "reward": "out-of-fold"}, {"method": "ascii", "holdout": 0.3, "n_rounds": 3}]
)
def test_who_turns_around_is_named_with_the_way_to_predict_without_it(settings):
    clf = fitted(**settings)
    X, _ = table(300, 1)
    for ask in (clf.predict, clf.predict_proba, clf.decision_function):
        with pytest.warns(
            AssistLearnWarning, match=r"^b votes otherwise for 300 new people.*subset\(\['a', 'c'\]\)"
        ) as said:
            ask(turned(X))
        assert said[0].filename == __file__
    clf.subset(["a", "c"]).predict(turned(X))  # a warning would be an error


def test_nothing_is_said_of_honest_agents_nor_of_the_training_samples(tmp_path):
    clf = fitted()
    clf.predict(table(300, 1)[0])
    clf.predict(table(400, 0)[0])


def test_a_saved_model_remembers(tmp_path):
    assistlearn.save(fitted(), tmp_path / "model.skops")
    clf = assistlearn.load(tmp_path / "model.skops")
    with pytest.warns(AssistLearnWarning, match="^b votes otherwise"):
        clf.predict(turned(table(300, 1)[0]))


def test_where_nothing_honest_was_heard_in_training_nothing_is_said():
    fitted(method="ascii").predict(turned(table(300, 1)[0]))
