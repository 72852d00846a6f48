"""What a user sees: a drawing of the agents, a progress bar on request, a log for who listens, and else nothing."""

import logging

import numpy as np
import pandas as pd
import pytest
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.tree import DecisionTreeClassifier

from assistlearn import AssistedClassifier
from tests.estimators.data import birds, left, right
from tests.learners.classifiers import Opposite
from tests.papers_settings import PAPERS

TREE = DecisionTreeClassifier(max_depth=2)


def two(**options) -> AssistedClassifier:
    agents = [
        ("clinic", TREE, left),
        ("lab", make_pipeline(StandardScaler(), LogisticRegression()), ["sugar", "sodium", "iron"]),
    ]
    return AssistedClassifier(agents, **{**PAPERS, "n_rounds": 3, "random_state": 0, **options})


def frame() -> tuple[pd.DataFrame, np.ndarray]:
    X, y = birds()
    return pd.DataFrame(X, columns=["age", "bmi", "pressure", "sugar", "sodium", "iron"]), y


def test_the_drawing_shows_the_agents_with_what_was_said_about_their_columns():
    html = two()._repr_html_()
    for expected in ("clinic", "lab", "sugar", "iron", "DecisionTreeClassifier", "LogisticRegression"):
        assert expected in html


def test_once_fitted_it_shows_the_columns_that_were_found():
    html = two().fit(*frame())._repr_html_()
    assert "3 columns: age, bmi, pressure" in html
    assert "3 columns: sugar, sodium, iron" in html


def test_columns_without_names_are_shown_by_position():
    X, y = birds()
    html = (
        AssistedClassifier([("clinic", TREE, left), ("lab", TREE, right)], n_rounds=1, method="ascii")
        .fit(X, y)
        ._repr_html_()
    )
    assert "3 columns: 3, 4, 5" in html


def test_the_default_is_drawn_too():
    html = AssistedClassifier()._repr_html_()
    assert "agent" in html
    assert "all columns" in html


def test_names_cannot_smuggle_html_into_the_drawing():
    X, y = birds()
    wicked = "<script>alert(1)</script>"
    named = pd.DataFrame(X, columns=[wicked, *"bcdef"])
    clf = AssistedClassifier([(wicked, TREE, [wicked, "b"]), ("lab", TREE, list("cdef"))], n_rounds=1, method="ascii")
    assert "<script>alert" not in clf._repr_html_()
    assert "<script>alert" not in clf.fit(named, y)._repr_html_()


def test_settings_that_cannot_be_can_still_be_looked_at():
    assert "nonsense" in AssistedClassifier(agents="nonsense")._repr_html_()


def test_it_is_silent_by_default(capfd: pytest.CaptureFixture[str]):
    two().fit(*frame())
    assert capfd.readouterr() == ("", "")


def test_a_progress_bar_is_shown_on_request(capfd: pytest.CaptureFixture[str]):
    two(verbose=True).fit(*frame())
    shown = "".join(capfd.readouterr())
    assert "6/6" in shown
    assert "all rounds done" in shown


def test_the_bar_tells_of_agents_that_sit_out_and_of_the_hold_out(capfd: pytest.CaptureFixture[str], monkeypatch):
    """A terminal is shown every step."""
    monkeypatch.setenv("FORCE_COLOR", "1")
    monkeypatch.setenv("COLUMNS", "200")
    X, y = birds()
    table = np.c_[X, np.unique(y, return_inverse=True)[1]]
    agents = [("clinic", TREE, slice(0, 6)), ("idle", Opposite(), [6])]
    AssistedClassifier(agents, n_rounds=2, holdout=0.3, verbose=True, random_state=0, method="ascii").fit(table, y)
    shown = "".join(capfd.readouterr())
    assert "4/4" in shown


def test_a_run_that_stops_early_leaves_the_bar_where_it_stopped(capfd: pytest.CaptureFixture[str]):
    X = np.random.RandomState(0).rand(20, 2)
    AssistedClassifier([("a", DecisionTreeClassifier(), left)], n_rounds=9, verbose=True, method="ascii").fit(
        X, np.arange(20) % 2
    )
    shown = "".join(capfd.readouterr())
    assert "1/9" in shown
    assert "every agent's model was right about all samples" in " ".join(shown.split())


def test_who_listens_hears_of_every_turn_and_of_the_end(caplog: pytest.LogCaptureFixture):
    with caplog.at_level(logging.DEBUG, logger="assistlearn"):
        clf = two().fit(*frame())
    turns = [r for r in caplog.records if r.levelno == logging.DEBUG and "TurnFinished" in r.getMessage()]
    assert len(turns) == 6
    ends = [r.getMessage() for r in caplog.records if r.levelno == logging.INFO]
    assert ends == [f"Training ended after round 3: {clf.stop_reason_}."]
    assert all(r.name == "assistlearn" for r in caplog.records)


def test_a_reason_reads_as_a_sentence_and_compares_as_a_name():
    clf = two().fit(*frame())
    assert str(clf.stop_reason_) == "all rounds done"
    assert clf.stop_reason_ == "all rounds done"
    assert clf.stop_reason_.name == "ALL_ROUNDS_DONE"


def test_a_notebook_says_that_nothing_was_checked_where_nothing_was_held_out():
    X, y = frame()
    assert "was checked: a helper that repeats the labels it was told" in two().fit(X, y)._repr_html_()
    assert "was checked" not in two()._repr_html_()
    assert "was checked" not in two().set_params(holdout=0.3).fit(X, y)._repr_html_()
