"""A fitted AssistedClassifier has the same page, and a short answer in notebooks."""

from __future__ import annotations

import logging
import re

import numpy as np
import pandas as pd
import pytest
from sklearn.exceptions import NotFittedError
from sklearn.tree import DecisionTreeClassifier

from assistlearn import AssistedClassifier, load, save, save_report
from assistlearn.errors import AssistLearnWarning, SettingsError
from assistlearn.events import TurnFinished
from assistlearn.report.displays import view_of_estimator

TREE = DecisionTreeClassifier(max_depth=1)


def table() -> tuple[pd.DataFrame, np.ndarray]:
    rng = np.random.default_rng(2)
    X = pd.DataFrame(31337.25 + rng.normal(size=(300, 4)), columns=[f"numbat_{i}" for i in range(4)])
    return X, np.where((X - 31337.25).sum(axis=1) > 0, "dingo & co", "echidna")


def clf(**settings) -> AssistedClassifier:
    agents = [
        ("clinic", TREE, ["numbat_0"]),
        ("lab <i>", TREE, ["numbat_1", "numbat_2"]),
        ("scans", TREE, ["numbat_3"]),
    ]
    return AssistedClassifier(agents, **{"method": "ascii", "n_rounds": 4, "random_state": 0, **settings})


@pytest.fixture(scope="module")
def fitted() -> AssistedClassifier:
    return clf(holdout=0.4).fit(*table())


def test_the_turns_that_an_agent_sat_out_are_counted(caplog, tmp_path):
    X, y = table()
    X["numbat_3"] = 1.0  # so that scans has nothing to learn from
    with caplog.at_level(logging.DEBUG, "assistlearn"):
        model = clf().fit(X, y)
    events = [record.args[0] for record in caplog.records if record.args and isinstance(record.args[0], TurnFinished)]
    turns = [event for event in events if event.round <= model.n_rounds_]
    rows = {row.agent: row for row in view_of_estimator(model).agents}
    for name, row in rows.items():
        own = [turn.contribution is None for turn in turns if turn.agent == name]
        assert (row.turns, row.sat_out) == (len(own), sum(own))
    assert rows["scans"].sat_out > 0
    assert {row.agent: row for row in view_of_estimator(model.subset(["clinic", "scans"])).agents} == {
        name: rows[name] for name in ("clinic", "scans")
    }
    save(model, tmp_path / "model.skops")
    assert view_of_estimator(load(tmp_path / "model.skops")) == view_of_estimator(model)


@pytest.fixture(scope="module")
def page(fitted, tmp_path_factory) -> str:
    return save_report(fitted, tmp_path_factory.mktemp("estimator") / "page.html").read_text()


def test_the_page_says_that_nothing_was_sent_and_holds_no_column_and_no_value(page):
    assert "all agents were in one process" in page
    assert "What was exchanged" not in page
    assert "lab &lt;i&gt;" in page
    assert [word for word in ("numbat", "31337", "lab <i>") if word in page] == []
    assert "dingo &amp; co" in page


def test_class_names_can_be_left_out_and_an_older_page_is_replaced(fitted, tmp_path):
    (tmp_path / "page.html").write_text('<meta name="generator" content="assistlearn report 0.0.1">')
    assert "dingo" not in save_report(fitted, tmp_path / "page.html", class_names=False).read_text()


def test_a_page_takes_no_other_files_place(fitted, tmp_path):
    (tmp_path / "mine.txt").write_text("mine")
    with pytest.raises(SettingsError, match="no page of assistlearn"):
        save_report(fitted, tmp_path / "mine.txt")
    assert (tmp_path / "mine.txt").read_text() == "mine"


def test_one_that_is_not_fitted_has_no_page(tmp_path):
    with pytest.raises(NotFittedError):
        save_report(clf(), tmp_path / "page.html")


@pytest.mark.parametrize(
    "settings", [{}, {"order": lambda round, names, rng: names}, {"class_weight": {"echidna": 2.0}}]
)
def test_one_without_hold_out_samples_has_a_page_whatever_its_settings_are(tmp_path, settings):
    page = save_report(clf(**settings).fit(*table()), tmp_path / "page.html").read_text()
    assert "no samples were held out. So nothing that " in page
    assert "lambda" not in page
    assert ("of its own" in page) == bool(settings)


def test_a_learned_combination_and_one_class_only_have_pages(tmp_path):
    X, y = table()
    learned = clf(method="soft", holdout=0.3, n_rounds=2, models_per_turn=2).fit(X, y)
    assert "How the votes are combined in the end" in save_report(learned, tmp_path / "page.html").read_text()
    with pytest.warns(AssistLearnWarning, match="All labels are 'echidna'"):
        alike = clf().fit(X, np.full(len(y), "echidna"))
    assert "one class only" in save_report(alike, tmp_path / "page.html").read_text()


def test_a_notebook_shows_the_answer_beside_the_drawing(fitted):
    shown = fitted._repr_mimebundle_()["text/html"]
    assert "due to lab &lt;i&gt;" in re.sub(r"<[^>]+>", " ", shown[: shown.index("<style")])
    assert "DecisionTreeClassifier" in shown


def test_a_notebook_shows_only_the_drawing_where_there_is_no_answer():
    assert clf()._repr_html_().startswith("<style")
    one = AssistedClassifier(n_rounds=1).fit(*table())
    assert one._repr_html_().startswith("<style")  # nobody has helped
