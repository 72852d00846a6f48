"""The picture of a pilot."""

from __future__ import annotations

import numpy as np
from matplotlib.figure import Figure

from assistlearn import WorthDisplay
from assistlearn.evaluation.pilots import Weighing
from assistlearn.evaluation.terms import Terms


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


def test_without_axes_it_makes_a_figure_of_its_own():
    import matplotlib.pyplot as plt

    display = WorthDisplay(found("lab")).plot()
    assert display.ax_.figure is display.figure_
    plt.close(display.figure_)
