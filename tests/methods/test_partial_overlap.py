"""Agents that do not hold every sample abstain, in training and in prediction."""

import numpy as np
import pandas as pd
import polars as pl
import pytest
from sklearn.datasets import load_wine
from sklearn.linear_model import LogisticRegression
from sklearn.naive_bayes import GaussianNB
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from assistlearn import AssistedClassifier
from assistlearn.errors import SettingsError
from assistlearn.estimators.checks import rows_held
from tests.papers_settings import PAPERS

X, Y = load_wine(return_X_y=True)
METHODS = ["ascii", "simple", "ensemble", "soft"]
SCALED = make_pipeline(StandardScaler(), LogisticRegression())
COLUMNS = {"a": slice(0, 4), "b": slice(4, 8), "c": slice(8, 13)}


def model(method="soft", learner=None, names="abc", **settings) -> AssistedClassifier:
    agents = [(name, learner or GaussianNB(), COLUMNS[name]) for name in names]
    return AssistedClassifier(
        agents,
        **(PAPERS | {"method": method, "n_rounds": 3, "missing_agent": "abstain", "random_state": 0} | settings),
    )


def without(name: str, share: float, seed: int = 0) -> np.ndarray:
    table = X.copy()
    table[np.random.RandomState(seed).rand(len(X)) < share, COLUMNS[name]] = np.nan
    return table


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.filterwarnings("ignore:No agent knows")
def test_an_agent_that_holds_nothing_is_an_agent_that_is_not_there(method: str):
    table = without("b", share=1.1)
    abstaining, absent = model(method).fit(table, Y), model(method, names="ac").fit(table, Y)
    assert [c.model_weight for c in abstaining.contributions_] == [c.model_weight for c in absent.contributions_]
    np.testing.assert_array_equal(abstaining.predict_proba(table), absent.predict_proba(table))
    assert not abstaining.taking_part(table)["b"].any()


@pytest.mark.parametrize("method", METHODS)
def test_nothing_changes_where_nothing_is_missing(method: str):
    abstaining, using = model(method).fit(X, Y), model(method, missing_agent="use").fit(X, Y)
    np.testing.assert_array_equal(abstaining.predict_proba(X), using.predict_proba(X))


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("reward", ["in-sample", "out-of-fold"])
def test_samples_that_helpers_lack_still_teach_the_others(method: str, reward: str):
    table = without("b", 0.5)
    fitted = model(method, SCALED, reward=reward).fit(table, Y)
    assert {c.agent for c in fitted.contributions_} == {"a", "b", "c"}
    assert fitted.score(table, Y) > 0.9


@pytest.mark.parametrize("method", METHODS)
def test_an_abstaining_agent_does_not_vote(method: str):
    fitted = model(method).fit(without("b", 0.3), Y)
    gone = without("b", 1.1)
    present = fitted.subset(["a", "c"])
    assert np.array_equal(fitted.predict(gone), present.predict(X))
    if method != "ensemble":  # there the whispers that break ties are scaled by everybody's weights
        np.testing.assert_allclose(fitted.decision_function(gone), present.decision_function(X), atol=1e-12)
    stages = list(fitted.staged_predict_proba(without("b", 0.5, seed=1)))
    np.testing.assert_allclose(stages[-1], fitted.predict_proba(without("b", 0.5, seed=1)), atol=1e-12)


@pytest.mark.parametrize("method", METHODS)
def test_a_helper_may_hold_none_of_the_hold_out_samples(method: str):
    table = without("b", 1.1)
    table[:4] = X[:4]
    for seed in range(10):
        fitted = model(method, holdout=0.2, n_rounds=1, random_state=seed).fit(table, Y)
        aside = np.flatnonzero(fitted.ignorance_ == 0.0)
        if (aside >= 4).all():
            break
    assert (aside >= 4).all()
    assert not fitted.taking_part(table[aside])["b"].any()
    assert fitted.report_.n_samples == len(aside)
    assert fitted.holdout_indices_.tolist() == aside.tolist()


def test_where_nobody_answers_the_most_frequent_class_is_predicted():
    fitted = model().fit(X, Y)
    assert (fitted.predict(np.full((2, 13), np.nan)) == np.bincount(Y).argmax()).all()
    np.testing.assert_allclose(fitted.predict_proba(np.full((1, 13), np.nan))[0], np.bincount(Y) / len(Y))


def test_a_sample_that_an_agent_lacks_is_not_updated_by_it():
    table = without("a", 0.4)
    lacking = np.isnan(table[:, 0])
    fitted = AssistedClassifier(
        [("a", GaussianNB(), slice(0, 4))], method="soft", n_rounds=1, missing_agent="abstain", reward="in-sample"
    ).fit(table, Y)
    assert np.ptp(fitted.ignorance_[lacking]) < 1e-15
    assert np.ptp(fitted.ignorance_[~lacking]) > 1e-6


@pytest.mark.parametrize("method", METHODS)
def test_hold_out_samples_may_be_lacking_too(method: str):
    table = without("b", 0.4)
    fitted = model(method, holdout=0.3).fit(table, Y)
    aside = fitted.ignorance_ == 0
    assert fitted.holdout_scores_[fitted.n_rounds_ - 1] == pytest.approx(fitted.score(table[aside], Y[aside]), abs=0.03)


def test_an_agent_that_holds_one_class_only_sits_out():
    table = X.copy()
    table[Y != 1, COLUMNS["b"]] = np.nan
    fitted = model(learner=SCALED).fit(table, Y)
    assert {c.agent for c in fitted.contributions_} == {"a", "c"}


def test_a_subset_of_the_agents_predicts_with_their_votes_and_says_who_they_are():
    fitted = model(missing_agent="use").fit(X, Y)
    scores = fitted.agent_scores(X)
    part = fitted.subset(["c", "a"])
    assert list(part.agents_) == ["a", "c"]
    np.testing.assert_allclose(part.decision_function(X), scores["a"] + scores["c"])
    one = fitted.subset("b")
    np.testing.assert_allclose(one.decision_function(X), scores["b"])
    assert list(fitted.agents_) == ["a", "b", "c"]  # unchanged
    for names in ([], ["d"], ["a", "d"]):
        with pytest.raises(SettingsError, match=r"\['a', 'b', 'c'\]"):
            fitted.subset(names)


def test_taking_part_says_who_answers_for_whom():
    fitted = model().fit(X, Y)
    part = fitted.taking_part(without("c", 0.5))
    assert part["a"].all()
    assert np.array_equal(part["c"], ~np.isnan(without("c", 0.5)[:, 8]))


@pytest.mark.parametrize(
    "table",
    [
        pd.DataFrame({"x": [1.0, None, None], "name": ["p", None, "q"]}),
        pl.DataFrame({"x": [1.0, float("nan"), None], "name": ["p", None, "q"]}),
        np.array([[1.0, "p"], [None, float("nan")], [None, "q"]], dtype=object),
    ],
    ids=["pandas", "polars", "objects"],
)
def test_a_row_is_held_if_anything_in_it_is_there(table):
    assert rows_held(table).tolist() == [True, False, True]


def test_a_table_without_gaps_is_held_whole():
    assert rows_held(np.zeros((2, 2), dtype=int)) is None
