"""The recommended way: whole scores, several models a turn, and a combination that the initiator learns in private."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.datasets import load_digits, load_wine, make_classification
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import train_test_split
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.tree import DecisionTreeClassifier

from assistlearn import AssistedClassifier
from assistlearn.errors import SettingsError
from assistlearn.events import StopReason

COMBINED = {"method": "soft", "reward": "auto", "combine": "auto", "models_per_turn": 5, "random_state": 0}
LINEAR = make_pipeline(StandardScaler(), LogisticRegression(max_iter=500))
SMALL = DecisionTreeClassifier(max_depth=2)
X, Y = load_wine(return_X_y=True)
TWO = [("a", SMALL, slice(0, 6)), ("b", LINEAR, slice(6, 13))]


@pytest.fixture(scope="module")
def digits():
    table, labels = load_digits(return_X_y=True)
    return train_test_split(table, labels, train_size=500, random_state=0, stratify=labels)


def in_eight(learner=LINEAR, **settings) -> AssistedClassifier:
    agents = [(f"column {m}", learner, list(range(m, 64, 8))) for m in range(8)]
    return AssistedClassifier(agents, **(COMBINED | {"n_rounds": 2} | settings))


def test_eight_agents_with_a_column_each_are_better_combined_than_added_up(digits):
    X_train, X_test, y_train, y_test = digits
    combined = in_eight(SMALL, n_rounds=1).fit(X_train, y_train)
    added = in_eight(SMALL, n_rounds=1, combine="sum").fit(X_train, y_train)
    assert combined.combination_.kind == "linear"
    assert combined.score(X_test, y_test) > added.score(X_test, y_test) + 0.01


def test_the_shares_of_the_agents_add_up_and_the_last_stage_is_the_prediction():
    model = AssistedClassifier(TWO, n_rounds=3, **COMBINED).fit(X, Y)
    np.testing.assert_allclose(sum(model.agent_scores(X).values()), model.decision_function(X), atol=1e-9)
    np.testing.assert_array_equal(list(model.staged_predict_proba(X))[-1], model.predict_proba(X))
    assert len(list(model.staged_predict(X))) == model.n_rounds_


def test_training_stops_where_the_loss_hardly_falls_and_goes_back_to_the_round_before():
    model = AssistedClassifier(TWO, n_rounds=10, **COMBINED).fit(X, Y)
    assert model.stop_reason_ is StopReason.ROUNDS_NO_LONGER_PAY
    assert len(model.round_losses_) == model.n_rounds_ + 1
    kept, last = model.round_losses_[-2:]
    assert last > kept - max(0.01 * kept, 0.002)
    assert max(c.round for c in model.contributions_) == model.n_rounds_


def test_helpers_of_pure_noise_do_no_harm():
    rng = np.random.RandomState(0)
    table, labels = make_classification(900, 6, n_informative=4, n_classes=3, random_state=1)
    noisy = np.hstack([table, rng.normal(size=(900, 10))])
    agents = [("own", LINEAR, slice(0, 6)), ("noise", SMALL, slice(6, 16))]
    train, test = np.arange(500), np.arange(500, 900)
    model = AssistedClassifier(agents, n_rounds=3, **COMBINED).fit(noisy[train], labels[train])
    alone = model.alone("own").fit(noisy[train], labels[train])
    assert model.score(noisy[test], labels[test]) >= alone.score(noisy[test], labels[test]) - 0.02


def test_an_absent_helper_costs_no_more_than_its_own_knowledge(digits):
    X_train, X_test, y_train, y_test = digits
    agents = [("left", LINEAR, list(range(0, 64, 2))), ("right", LINEAR, list(range(1, 64, 2)))]
    model = AssistedClassifier(agents, n_rounds=1, missing_agent="abstain", **COMBINED).fit(X_train, y_train)
    alone = model.alone("left").fit(X_train, y_train).score(X_test, y_test)
    assert model.subset(["left"]).score(X_test, y_test) >= alone - 0.02
    holes = X_test.copy()
    holes[np.random.RandomState(0).rand(len(holes)) < 0.3, 1::2] = np.nan
    assert alone - 0.02 <= model.score(holes, y_test) <= model.score(X_test, y_test)
    np.testing.assert_array_equal(model.taking_part(holes)["right"], ~np.isnan(holes[:, 1]))


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({"method": "ascii", "reward": "auto", "combine": "auto"}, "needs what agents say about every class"),
        ({"reward": "in-sample", "combine": "learned"}, 'reward="in-sample" gives none. Use reward="auto"'),
        ({"method": "soft", "combine": "best"}, "combine='best'"),
        ({"method": "soft", "models_per_turn": 0}, "models_per_turn=0 must be"),
    ],
)
def test_settings_that_do_not_go_together_are_refused(settings, words):
    with pytest.raises(SettingsError, match=words):
        AssistedClassifier(TWO, **settings).fit(X, Y)


def test_weights_of_samples_reach_the_combination():
    weights = np.where(Y == 2, 0.01, 1.0)
    even, uneven = (
        AssistedClassifier(TWO, n_rounds=1, **COMBINED).fit(X, Y, sample_weight=given) for given in (None, weights)
    )
    assert uneven.predict_proba(X)[:, 2].mean() < even.predict_proba(X)[:, 2].mean()
