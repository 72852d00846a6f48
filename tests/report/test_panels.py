"""Laws of what the panels show."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from matplotlib.colors import to_rgb
from matplotlib.figure import Figure

from assistlearn.report import pictures as palette
from assistlearn.report.displays import concentration, draw_accuracies

ignorances = st.lists(st.floats(1e-6, 1.0), min_size=1, max_size=50).map(np.array)


@given(ignorances)
def test_the_hardest_samples_hold_at_least_their_share(ignorance):
    samples, held = concentration(ignorance)
    assert held[0] == samples[0] == 0.0
    assert held[-1] == samples[-1] == 1.0
    assert np.all(held >= samples - 1e-9)


@given(ignorances)
def test_each_further_sample_adds_no_more_than_the_one_before(ignorance):
    _, held = concentration(ignorance)
    assert np.all(np.diff(held, n=2) <= 1e-9)


@given(ignorances, st.integers(0, 20))
def test_samples_without_ignorance_change_nothing(ignorance, n_zeros):
    with_zeros = np.concatenate([np.zeros(n_zeros), ignorance])
    np.testing.assert_array_equal(concentration(with_zeros), concentration(ignorance))


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
