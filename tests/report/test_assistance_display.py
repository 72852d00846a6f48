"""What AssistanceDisplay shows of a fitted model."""

import io
import subprocess
import sys

import numpy as np
import pytest
from matplotlib.figure import Figure
from sklearn.datasets import load_wine
from sklearn.dummy import DummyClassifier
from sklearn.ensemble import RandomForestClassifier
from sklearn.exceptions import NotFittedError
from sklearn.model_selection import train_test_split
from sklearn.tree import DecisionTreeClassifier

from assistlearn import AssistanceDisplay, AssistedClassifier
from assistlearn.errors import AssistLearnWarning, SettingsError
from tests.papers_settings import PAPERS

STUMP = DecisionTreeClassifier(max_depth=1)


@pytest.fixture(scope="module")
def wine():
    X, y = load_wine(return_X_y=True)
    return train_test_split(X, y, test_size=0.5, stratify=y, random_state=0)


def assisted(*agents, **settings):
    agents = agents or (("a", STUMP, [0, 1, 2]), ("b", STUMP, slice(3, 13)))
    return AssistedClassifier(list(agents), **(PAPERS | {"n_rounds": 6, "random_state": 0} | settings))


def draw(clf, wine, **settings):
    """Draw a model fitted to the wine data on a figure that has no window."""
    X_train, X_test, y_train, y_test = wine
    fitted = clf.fit(X_train, y_train)
    ax = Figure(figsize=(12, 4)).subplots(1, 3)
    return AssistanceDisplay.from_estimator(fitted, X_test, y_test, **({"ax": ax} | settings))


def curves(ax):
    """Return the labelled curves of an axes by their name, without the number after the comma."""
    return {line.get_label().split(",")[0]: line for line in ax.lines if not line.get_label().startswith("_")}


def test_every_panel_counts_rounds_from_one(wine):
    display = draw(assisted(), wine)
    for ax in display.axes_[:2]:
        for line in curves(ax).values():
            assert line.get_xdata().tolist() == [1, 2, 3, 4, 5, 6]
        assert ax.get_xticks()[0] == 1
        assert ax.get_xlabel() == "round"


def test_the_accuracy_curve_ends_at_the_score_of_the_model(wine):
    _, X_test, _, y_test = wine
    clf = assisted()
    display = draw(clf, wine)
    line = curves(display.axes_[0])["assisted"]
    assert line.get_ydata()[-1] == clf.score(X_test, y_test)
    assert line.get_label() == f"assisted, {clf.score(X_test, y_test):.3f}"


def test_from_fit_draws_the_models_that_one_would_fit_by_hand(wine):
    X_train, X_test, y_train, y_test = wine
    clf = assisted()
    display = AssistanceDisplay.from_fit(clf, X_train, y_train, X_test, y_test, ax=Figure().subplots(1, 3))
    by_hand = {"assisted": assisted(), "single": assisted().alone("a"), "oracle": assisted().pooled()}
    for name, model in by_hand.items():
        assert display.accuracies[name][-1] == model.fit(X_train, y_train).score(X_test, y_test)
    assert not hasattr(clf, "classes_"), "the estimator that was passed in must stay unfitted"


def test_an_agent_that_sits_out_has_no_model_weight_and_a_cross(wine):
    clf = assisted(("a", STUMP, slice(0, 13)), ("useless", DummyClassifier(strategy="constant", constant=0), [0]))
    display = draw(clf, wine)
    turns = {(made.agent, made.round) for made in clf.contributions_}
    kept = {(agent, t + 1) for agent, w in display.model_weights.items() for t in np.flatnonzero(~np.isnan(w))}
    assert kept == turns
    missing = [t for t in range(1, clf.n_rounds_ + 1) if ("useless", t) not in turns]
    assert missing, "this test needs an agent that sits out"
    assert curves(display.axes_[1])["sat out"].get_xdata().tolist() == missing


def test_several_turns_of_an_agent_in_a_round_add_up(wine):
    clf = assisted(order=lambda round, agents, rng: ["a", "b", "a"], n_rounds=2)
    display = draw(clf, wine)
    first = [made.model_weight for made in clf.contributions_ if made.agent == "a" and made.round == 1]
    assert len(first) == 2
    assert display.model_weights["a"][0] == sum(first)


def test_a_baseline_without_rounds_is_a_level_line_up_to_the_last_round(wine):
    X_train, X_test, y_train, y_test = wine
    forest = RandomForestClassifier(10, random_state=0).fit(X_train, y_train)
    display = draw(assisted(), wine, oracle=forest)
    level = display.axes_[0].lines[-1]
    assert level.get_xdata()[-1] == 6
    assert set(level.get_ydata()) == {forest.score(X_test, y_test)}


def test_samples_that_are_held_out_do_not_count_as_easy(wine):
    display = draw(assisted(holdout=0.5, patience=6, n_rounds=1), wine)
    drawn = curves(display.axes_[2])["after the last round"]
    assert len(drawn.get_xdata()) == 1 + np.count_nonzero(display.ignorance)
    assert np.count_nonzero(display.ignorance) < len(display.ignorance)


def test_many_agents_become_a_map_with_a_row_each(wine):
    clf = assisted(*((f"column {i}", STUMP, [i]) for i in range(13)))
    display = draw(clf, wine)
    ax = display.axes_[1]
    [mesh] = ax.collections
    shown = mesh.get_array().reshape(13, clf.n_rounds_)
    weights = np.stack(list(display.model_weights.values()))
    np.testing.assert_array_equal(shown.mask, np.isnan(weights))
    np.testing.assert_array_equal(shown.compressed(), weights[~np.isnan(weights)])
    assert [label.get_text() for label in ax.get_yticklabels()] == list(clf.agents_)


def test_a_model_that_learned_nothing_is_drawn_and_says_so(wine):
    clf = assisted(("useless", DummyClassifier(strategy="constant", constant=0), [0]))
    with pytest.warns(AssistLearnWarning, match="No model was kept"):
        display = draw(clf, wine)
    assert [text.get_text() for text in display.axes_[1].texts] == ["no model was kept"]
    assert len(display.accuracies["assisted"]) == 1


def test_a_picture_is_written_without_a_warning(wine):
    X_train, X_test, y_train, y_test = wine
    display = AssistanceDisplay.from_fit(assisted(), X_train, y_train, X_test, y_test, ax=Figure().subplots())
    buffer = io.BytesIO()
    display.figure_.savefig(buffer, format="png")
    assert buffer.getvalue().startswith(b"\x89PNG")


def test_one_axes_is_divided_in_three_within_its_own_place(wine):
    left, right = Figure(figsize=(20, 4)).subplots(1, 2)
    display = draw(assisted(), wine, ax=left)
    assert display.axes_.shape == (3,)
    assert all(ax.get_position().x1 <= left.get_position().x1 + 1e-9 for ax in display.axes_)
    assert not right.lines


def test_a_wrong_number_of_axes_is_refused_with_both_numbers(wine):
    with pytest.raises(SettingsError, match="ax holds 4 axes, but there are 3 panels"):
        draw(assisted(), wine, ax=Figure().subplots(2, 2))


def test_without_axes_a_new_figure_is_made(wine):
    import matplotlib.pyplot as plt

    before = set(plt.get_fignums())
    display = draw(assisted(), wine, ax=None)
    assert display.figure_.number not in before
    plt.close(display.figure_)


def test_a_model_that_is_not_fitted_is_refused(wine):
    _, X_test, _, y_test = wine
    with pytest.raises(NotFittedError):
        AssistanceDisplay.from_estimator(assisted(), X_test, y_test)


def test_importing_assistlearn_does_not_import_matplotlib():
    code = "import sys, assistlearn; assistlearn.AssistanceDisplay; sys.exit('matplotlib' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
