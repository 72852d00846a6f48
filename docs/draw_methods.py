"""Draw the pictures of two pages: what happens in a turn, and which method to choose.

    python docs/draw_methods.py

writes ``docs/_static/turn.svg`` and ``docs/_static/choose_a_method.svg``. Texts stay texts, and a picture has a ground
of its own, so that it can be read on a light page and on a dark one.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any, NamedTuple

import matplotlib as mpl
import numpy as np
from matplotlib.figure import Figure

sys.path.insert(0, str(Path(__file__).parent))  # where the tests load this file from
from draw_architecture import FAINT, GROUND, HELPER, INITIATOR, INK, PALE, RELAY, _box, _canvas

OUT = Path(__file__).parent / "_static"

RIGHT = {
    "initiator": np.array([1, 1, 0, 1, 1, 0, 1, 1], dtype=bool),
    "helper": np.array([1, 1, 1, 1, 0, 1, 1, 1], dtype=bool),
}
"""On which of eight samples the model of each agent is right, in the picture of a turn."""


class Choice(NamedTuple):
    """A step of the second picture: a question, the answer that leaves the path, and what to choose then."""

    question: str
    leaves: str
    settings: str
    why: str


CHOICES = (
    Choice(
        "May the helpers\nlearn the true labels?",
        "no",
        'method="label-private", epsilon=1,\nmodels_per_turn=20',
        "Helpers get labels that chance has changed.\nEach helper answers once.",
    ),
    Choice(
        "May the agents exchange\nanything during training?",
        "no",
        'method="ensemble"',
        "Each agent trains alone, then they vote. Weak\nwhere no agent can tell the classes apart alone.",
    ),
    Choice(
        'May a helper say more than\n"right" or "wrong" of a sample?',
        "no",
        'method="ascii"\n(or "simple": two classes, strong learners)',
        "The method of the paper. One bit\nfor each sample and turn.",
    ),
    Choice(
        "Must the decision be the\nplain sum of all votes?",
        "yes",
        'combine="sum"',
        "As recommended, but nothing is learned\nfrom the votes.",
    ),
)
RECOMMENDED = Choice(
    "All others:\nthe recommended way",
    "",
    "no settings at all:\nAssistedClassifier(agents)",
    "The most accurate in our measurements,\nand it needs few rounds.",
)


def main() -> None:
    """Write both pictures."""
    with mpl.rc_context({"svg.fonttype": "none", "svg.hashsalt": "assistlearn"}):
        for figure, name in ((draw_turn(), "turn.svg"), (draw_choices(), "choose_a_method.svg")):
            figure.savefig(OUT / name, metadata={"Date": None, "Creator": None}, facecolor=GROUND)


def draw_choices() -> Figure:
    """Return the questions on the left, from top to bottom, and on the right what to choose."""
    axes = _canvas(8.6, 7.0, -5.2, 0.2)
    for row, choice in enumerate((*CHOICES, RECOMMENDED)):
        y, last = -row - 0.5, choice is RECOMMENDED
        colour = HELPER if last else INITIATOR
        _box(axes, 0.2, y - 0.36, 2.9, 0.72, PALE[colour], colour)
        weight = "bold" if last else "normal"
        axes.text(1.65, y, choice.question, ha="center", va="center", size=11.5, color=INK, weight=weight)
        _box(axes, 4.0, y - 0.4, 4.4, 0.8, GROUND, colour)
        lines = choice.settings.count("\n")
        axes.text(
            4.15,
            y + (0.13 if lines else 0.2),
            choice.settings,
            va="center",
            size=10.5,
            weight="bold",
            color=colour,
            family="monospace",
        )
        axes.text(4.15, y - (0.21 if lines else 0.14), choice.why, va="center", size=10.0, color=INK)
        _arrow(axes, (3.1, y), (4.0, y), colour)
        if last:
            continue
        axes.text(3.5, y + 0.06, choice.leaves, ha="center", va="bottom", size=11.5, weight="bold", color=colour)
        _arrow(axes, (1.65, y - 0.36), (1.65, y - 0.64), colour)
        stays = "yes" if choice.leaves == "no" else "no"
        axes.text(1.78, y - 0.5, stays, va="center", size=11.5, weight="bold", color=colour)
    return axes.figure


def draw_turn() -> Figure:
    """Return one round of two agents: whose turn it is at the sides, the ignorance in the middle."""
    axes = _canvas(9.6, 8.2, -8.2, 0.0)
    _lane(axes, 0.15, 2.85, "the initiator", INITIATOR)
    _lane(axes, 6.6, 2.85, "a helper", HELPER)
    axes.text(4.8, -0.4, "the ignorance,\nwhich all agents know", ha="center", va="center", size=11.5, weight="bold")
    ignorance = np.full(8, 1 / 8)
    _bars(axes, -1.75, ignorance, "At first every sample counts the same.")
    for agent, left, colour, y in (("initiator", 0.15, INITIATOR, -3.0), ("helper", 6.6, HELPER, -5.75)):
        _steps(axes, left, y, colour)
        _reward(axes, y, RIGHT[agent], colour, from_left=left < 1)
        ignorance, model_weight = _after(ignorance, RIGHT[agent])
        words = f"Where that model is wrong, a sample\ncounts more. Model weight: {model_weight:.2f}."
        _bars(axes, y - 1.5, ignorance, words)
    axes.text(4.8, -7.95, "Every agent has had one turn: a round is over.", ha="center", size=11, color=INK)
    return axes.figure


def _after(ignorance: np.ndarray, right: np.ndarray) -> tuple[np.ndarray, float]:
    """Return the ignorance after a turn, and the model weight, both as the paper's simple method has them."""
    model_weight = float(np.log(ignorance[right].sum() / ignorance[~right].sum()))
    raised = np.where(right, ignorance, ignorance * np.exp(model_weight))
    return raised / raised.sum(), model_weight


def _lane(axes: Any, left: float, width: float, title: str, colour: str) -> None:
    _box(axes, left, -7.6, width, 7.4, PALE[colour], colour, dashed=True)
    middle = left + width / 2
    axes.text(middle, -0.45, title, ha="center", va="center", size=13, weight="bold", color=colour)
    axes.text(middle, -0.85, "its table, learner and models\nstay inside this frame", ha="center", va="center", size=10)


def _steps(axes: Any, left: float, y: float, colour: str) -> None:
    words = (
        "1  fits its learner to its own\ncolumns; the ignorance says\nwhat each sample counts",
        "2  tells where its model is\nright: the reward",
        "3  keeps the model",
    )
    tops, heights = (y + 0.95, y + 0.12, y - 0.46), (0.75, 0.5, 0.32)
    for text, top, height in zip(words, tops, heights, strict=True):
        _box(axes, left + 0.15, top - height, 2.55, height, GROUND, colour)
        axes.text(left + 0.28, top - height / 2, text, va="center", size=10, color=INK)


def _reward(axes: Any, y: float, right: np.ndarray, colour: str, from_left: bool) -> None:
    """Draw the reward: a full mark where the model is right, a hollow one where it is wrong."""
    y -= 0.13
    start, end = ((2.85, y), (3.55, y)) if from_left else ((6.75, y), (6.05, y))
    _arrow(axes, start, end, colour)
    for place, is_right in enumerate(right):
        fill = colour if is_right else GROUND
        axes.plot([3.75 + 0.3 * place], [y], "o", ms=9, color=fill, mec=colour, mew=1.8)
    axes.text(4.8, y + 0.3, "full: right   hollow: wrong", ha="center", size=9.5, color=FAINT)


def _bars(axes: Any, bottom: float, ignorance: np.ndarray, words: str) -> None:
    for place, share in enumerate(ignorance):
        axes.bar(3.75 + 0.3 * place, 2.2 * share, 0.2, bottom=bottom, color=RELAY)
    axes.plot([3.55, 6.05], [bottom, bottom], color=INK, lw=1)
    axes.text(4.8, bottom - 0.1, words, ha="center", va="top", size=10, color=INK)


def _arrow(axes: Any, start: tuple[float, float], end: tuple[float, float], colour: str) -> None:
    arrow = {"arrowstyle": "-|>", "color": colour, "lw": 1.8, "shrinkA": 0, "shrinkB": 0}
    axes.annotate("", xy=end, xytext=start, arrowprops=arrow)


if __name__ == "__main__":
    main()
