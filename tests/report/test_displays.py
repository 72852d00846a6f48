"""What the displays show: of a fitted model, of who helped, of a pilot; and that their curves can be told apart."""

import io

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from matplotlib.colors import to_rgb
from matplotlib.figure import Figure
from sklearn.datasets import load_wine
from sklearn.dummy import DummyClassifier
from sklearn.ensemble import RandomForestClassifier
from sklearn.exceptions import NotFittedError
from sklearn.model_selection import train_test_split
from sklearn.tree import DecisionTreeClassifier

from assistlearn import AssistanceDisplay, AssistedClassifier, SharesDisplay, WorthDisplay
from assistlearn.errors import AssistLearnWarning, SettingsError
from assistlearn.evaluation.pilots import Weighing
from assistlearn.evaluation.shares import shares_of_sum
from assistlearn.evaluation.words import Terms
from assistlearn.report import pictures as palette
from assistlearn.report.displays import concentration, draw_accuracies, panels_on
from tests.cli.program import modules_after
from tests.papers_settings import PAPERS

STUMP = DecisionTreeClassifier(max_depth=1)
DATA = ("accuracies", "model_weights", "ignorance")


@pytest.fixture(scope="module")
def wine():
    X, y = load_wine(return_X_y=True)
    return train_test_split(X, y, test_size=0.5, stratify=y, random_state=0)


def assisted(*agents, **settings):
    agents = agents or (("a", STUMP, [0, 1, 2]), ("b", STUMP, slice(3, 13)))
    return AssistedClassifier(list(agents), **(PAPERS | {"n_rounds": 6, "random_state": 0} | settings))


def draw(clf, wine):
    """Draw a model fitted to the wine data on a figure that has no window."""
    X_train, X_test, y_train, y_test = wine
    return AssistanceDisplay.from_estimator(clf.fit(X_train, y_train), X_test, y_test, ax=Figure().subplots(1, 3))


def curves(ax):
    """Return the labelled curves of an axes by their name, without the number after the comma."""
    return {line.get_label().split(",")[0]: line for line in ax.lines if not line.get_label().startswith("_")}


@pytest.fixture(scope="module")
def plain(wine):
    """The display of a fitted model, on axes of its own, and the model."""
    clf = assisted()
    return draw(clf, wine), clf


def test_every_panel_counts_rounds_from_one(plain):
    display, _ = plain
    for ax in display.axes_[:2]:
        for line in curves(ax).values():
            assert line.get_xdata().tolist() == [1, 2, 3, 4, 5, 6]
        assert ax.get_xticks()[0] == 1
        assert ax.get_xlabel() == "round"


def test_the_accuracy_curve_ends_at_the_score_of_the_model(plain, wine):
    _, X_test, _, y_test = wine
    display, clf = plain
    line = curves(display.axes_[0])["assisted"]
    assert line.get_ydata()[-1] == clf.score(X_test, y_test)
    assert line.get_label() == f"assisted, {clf.score(X_test, y_test):.3f}"


def test_from_fit_draws_the_models_that_one_would_fit_by_hand(plain, wine):
    X_train, X_test, y_train, y_test = wine
    clf = assisted()
    display = AssistanceDisplay.from_fit(clf, X_train, y_train, X_test, y_test, ax=Figure().subplots())
    single, oracle = (model.fit(X_train, y_train) for model in (assisted().alone("a"), assisted().pooled()))
    for name, model in {"assisted": plain[1], "single": single, "oracle": oracle}.items():
        assert display.accuracies[name][-1] == model.score(X_test, y_test)
    assert not hasattr(clf, "classes_"), "the estimator that was passed in must stay unfitted"
    buffer = io.BytesIO()
    display.figure_.savefig(buffer, format="png")  # without a warning
    assert buffer.getvalue().startswith(b"\x89PNG")


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


def test_a_baseline_without_rounds_is_a_level_line_up_to_the_last_round(plain, wine):
    X_train, X_test, y_train, y_test = wine
    forest = RandomForestClassifier(10, random_state=0).fit(X_train, y_train)
    ax = Figure().subplots(1, 3)
    level = AssistanceDisplay.from_estimator(plain[1], X_test, y_test, oracle=forest, ax=ax).axes_[0].lines[-1]
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


@pytest.mark.parametrize(("n_panels", "axes"), [(3, (2, 2)), (2, (1, 3))])
def test_one_axes_is_divided_within_its_own_place_and_a_wrong_number_is_refused(n_panels, axes):
    left, right = Figure(figsize=(20, 4)).subplots(1, 2)
    panels = panels_on(left, n_panels, (1, 1))
    assert panels.shape == (n_panels,)
    assert all(ax.get_position().x1 <= left.get_position().x1 + 1e-9 for ax in panels)
    assert right.axison
    refused = f"ax holds {np.prod(axes)} axes, but there are {n_panels} panels"
    with pytest.raises(SettingsError, match=refused):
        panels_on(Figure().subplots(*axes), n_panels, (1, 1))


def test_without_axes_a_new_figure_is_made(plain):
    import matplotlib.pyplot as plt

    before = set(plt.get_fignums())
    display = AssistanceDisplay(**{name: getattr(plain[0], name) for name in DATA}).plot()
    assert display.figure_.number not in before
    worth = WorthDisplay(found("lab")).plot()
    assert worth.ax_.figure is worth.figure_
    plt.close(display.figure_)
    plt.close(worth.figure_)


def test_a_model_that_is_not_fitted_is_refused(wine):
    _, X_test, _, y_test = wine
    with pytest.raises(NotFittedError):
        AssistanceDisplay.from_estimator(assisted(), X_test, y_test)


def test_importing_assistlearn_does_not_import_matplotlib():
    assert "matplotlib" not in modules_after("import assistlearn; assistlearn.AssistanceDisplay")


# -- shares


@pytest.fixture
def shares():
    rng = np.random.default_rng(0)
    codes = rng.integers(0, 2, 80)
    truth = np.eye(2)[codes]
    scores = {name: rng.normal(size=(80, 2)) + gain * truth for name, gain in {"lab": 1.0, "$5 clinic": 0.2}.items()}
    return shares_of_sum(rng.normal(size=(80, 2)), scores, codes)


def test_marks_stand_at_the_shares_and_hollow_ones_at_what_is_lost_without(shares):
    display = SharesDisplay(shares=shares).plot(ax=Figure().subplots(1, 2))
    lab, clinic = shares.helpers
    for ax, fields in zip(
        display.axes_, (("loss", "loss_if_dropped"), ("accuracy", "accuracy_if_dropped")), strict=True
    ):
        filled, hollow = (line for line in ax.lines if line.get_marker() in ("o", "D"))
        for line, field in ((filled, fields[0]), (hollow, fields[1])):
            assert line.get_xdata().tolist() == [getattr(lab, field).value, getattr(clinic, field).value]
            assert list(line.get_ydata()) == [0, 1]
        assert hollow.get_markerfacecolor() == "white"


def test_the_first_helper_is_at_the_top_and_a_name_is_no_formula(shares):
    display = SharesDisplay(shares=shares).plot(ax=Figure().subplots(1, 2))
    low, high = display.axes_[0].get_ylim()
    assert low > high
    assert [label.get_text() for label in display.axes_[0].get_yticklabels()] == ["lab", r"\$5 clinic"]
    display.figure_.savefig(io.BytesIO())


# -- pilots


def found(*helpers, at_least=0.05):
    weighing = Weighing(Terms(at_least=at_least), helpers)
    rng = np.random.default_rng(0)
    for _ in range(5):
        weighing.hear((rng.random((1 + len(weighing.sets), 50)) < 0.2).astype(float))
    return weighing.worth(100, 400)


def test_the_curve_is_the_gain_after_every_block_and_the_line_is_what_was_asked_for():
    worth = found("lab")
    display = WorthDisplay(worth).plot(ax=Figure().subplots())
    lower, upper, mean, asked = display.ax_.lines[:4]
    path = np.array(worth.together.path)
    for line, column in ((mean, 1), (lower, 2), (upper, 3)):
        np.testing.assert_allclose(line.get_xydata(), path[:, [0, column]])
    assert set(asked.get_ydata()) == {0.05}
    assert worth.answer in display.ax_.get_title(loc="left").lower()


def test_every_helper_of_several_is_drawn_and_named_even_with_signs_of_formulas():
    ax = WorthDisplay(found("lab", "a $ and $")).plot(ax=Figure().subplots()).ax_
    names = [text.get_text() for text in ax.get_legend().get_texts()]
    assert any(name.startswith("lab by itself") for name in names)
    assert any(name.startswith(r"a \$ and \$ by itself") for name in names)


# -- panels and colours

ignorances = st.lists(st.floats(1e-6, 1.0), min_size=1, max_size=50).map(np.array)


@given(ignorances, st.integers(0, 20))
def test_the_hardest_samples_hold_at_least_their_share_and_each_further_one_adds_less(ignorance, n_zeros):
    samples, held = concentration(ignorance)
    assert held[0] == samples[0] == 0.0
    assert held[-1] == samples[-1] == 1.0
    assert np.all(held >= samples - 1e-9)
    assert np.all(np.diff(held, n=2) <= 1e-9)
    with_zeros = np.concatenate([np.zeros(n_zeros), ignorance])  # samples without any change nothing
    np.testing.assert_array_equal(concentration(with_zeros), (samples, held))


@given(st.integers(1, 100_000))
def test_ticks_are_few_whole_rounds_from_one(n_rounds):
    ax = Figure().subplots()
    draw_accuracies(ax, {"assisted": np.zeros(1), "single": np.zeros(n_rounds)})
    ticks = ax.get_xticks()
    assert ticks[0] == 1
    assert len(ticks) <= 9
    assert ticks[-1] <= n_rounds
    assert np.all(np.diff(ticks) >= 1)


def test_curves_differ_in_dash_or_marker_and_not_in_colour_alone():
    for strokes in (list(palette.MODELS.values()), list(palette.AGENTS)):
        assert len({(stroke.dash, stroke.marker) for stroke in strokes}) == len(strokes)


# A colour as seen without green, red or blue cones: Machado, Oliveira and Fernandes (2009), severity 1.
COLOUR_BLIND = {
    "deuteranopia": [[0.367322, 0.860646, -0.227968], [0.280085, 0.672501, 0.047413], [-0.011820, 0.042940, 0.968881]],
    "protanopia": [[0.152286, 1.052583, -0.204868], [0.114503, 0.786281, 0.099216], [-0.003882, -0.048116, 1.051998]],
    "tritanopia": [[1.255528, -0.076749, -0.178779], [-0.078411, 0.930809, 0.147602], [0.004733, 0.691367, 0.303900]],
}


def test_colours_stay_apart_for_colour_blind_readers():
    for strokes in (palette.MODELS.values(), palette.AGENTS):
        colours = np.array([to_rgb(stroke.colour) for stroke in strokes])
        linear = np.where(colours <= 0.04045, colours / 12.92, ((colours + 0.055) / 1.055) ** 2.4)
        for name, matrix in COLOUR_BLIND.items():
            seen = np.clip(linear @ np.array(matrix).T, 0.0, 1.0)
            seen = np.where(seen <= 0.0031308, seen * 12.92, 1.055 * seen ** (1 / 2.4) - 0.055)
            distances = np.linalg.norm(seen[:, None] - seen[None], axis=2)[np.triu_indices(len(seen), 1)]
            assert distances.min() > 0.15, (name, distances.min())
