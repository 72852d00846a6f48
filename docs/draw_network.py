"""Draw the pictures of a network: who runs what, and the trust boundaries.

    python docs/draw_network.py

writes ``docs/_static/who_runs_what.svg`` and ``docs/_static/trust_boundaries.svg``. Texts stay texts, and a picture
has a ground of its own, so that it can be read on a light page and on a dark one.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any, NamedTuple

import matplotlib as mpl
from matplotlib.figure import Figure

sys.path.insert(0, str(Path(__file__).parent))  # where the tests load this file from
from draw_architecture import FAINT, GROUND, HELPER, INITIATOR, INK, RELAY, _box
from draw_architecture import PALE as PALE_PARTIES

OUT = Path(__file__).parent / "_static"

AUTHORITY = "#4c7a4c"
PALE = {**PALE_PARTIES, AUTHORITY: "#e3efe0"}

LEFT, MIDDLE, RIGHT = (0.15, 3.0), (3.75, 2.1), (6.45, 3.0)
"""Where the three parties are: the left edge and the width of each."""


class Party(NamedTuple):
    """A party: its place, its colour, its name, and what it has, a cell each."""

    place: tuple[float, float]
    colour: str
    name: str
    cells: tuple[str, ...]


RUNS = (
    Party(
        LEFT,
        INITIATOR,
        "bank: the initiator",
        (
            "assistlearn train task.toml\n(predict, serve, forget)",
            "site: assistlearn site start kit",
            "agent.toml, table with labels,\nits own models",
        ),
    ),
    Party(MIDDLE, RELAY, "the relay", ("assistlearn\nsite start kit", "one open port, 8002", "no table,\nno models")),
    Party(
        RIGHT,
        HELPER,
        "shop: a helper",
        (
            "owner: check, audit,\nrequests, approve",
            "site: assistlearn site start kit",
            "agent.toml with [allow], table,\nits own models",
        ),
    ),
)
STAYS = (
    Party(
        LEFT,
        INITIATOR,
        "the initiator",
        (
            "table, learner, models",
            "names of the classes,\nlabels of hold-out samples",
            "what it learns from votes",
        ),
    ),
    Party(
        MIDDLE,
        RELAY,
        "the relay",
        ("sees who, to whom,\nwhen, how many bytes", "cannot read\na message", "can refuse\nand delay"),
    ),
    Party(
        RIGHT,
        HELPER,
        "a helper",
        ("table, learner, models", "names of its columns", "the reason of a failure\n(problems.log)"),
    ),
)


def main() -> None:
    """Write both pictures."""
    with mpl.rc_context({"svg.fonttype": "none", "svg.hashsalt": "assistlearn"}):
        _write(draw_runs(), "who_runs_what.svg")
        _write(draw_boundaries(), "trust_boundaries.svg")


def draw_runs() -> Figure:
    """Return who runs what in a network."""
    axes = _canvas(9.6, 5.6)
    for party in RUNS:
        _draw_party(axes, party, 0.75, 3.1)
    for start, end in ((3.15, 3.75), (6.45, 5.85)):
        _arrow(axes, (start, 2.25), (end, 2.25))
    axes.text(4.8, 0.48, "Every connection begins at a site and ends at the relay's one port.", **_small())
    axes.text(4.8, 0.2, "A site opens no port. Sites never connect to each other.", **_small())
    left, width = 1.7, 6.2
    _box(axes, left, 4.55, width, 0.85, PALE[AUTHORITY], AUTHORITY, dashed=True)
    axes.text(left + 0.2, 5.13, "the authority", size=12, weight="bold", color=AUTHORITY, va="center")
    axes.text(
        left + 0.2,
        4.79,
        "A folder that one organisation keeps offline. It signs everybody's certificate.",
        size=10.5,
        color=INK,
        va="center",
    )
    return axes.figure


def draw_boundaries() -> Figure:
    """Return the trust boundaries, what stays inside each, and what crosses them."""
    axes = _canvas(9.6, 6.6)
    for party in STAYS:
        _draw_party(axes, party, 3.05, 3.1)
    axes.text(LEFT[0] + LEFT[1] / 2, 6.4, "stays inside", **_small())
    axes.text(RIGHT[0] + RIGHT[1] / 2, 6.4, "stays inside", **_small())
    _box(axes, 0.15, 0.65, 9.3, 2.1, "#ffffff", INK)
    axes.text(4.8, 2.55, "crosses, sealed from the initiator's site to the helper's, and back", **_words(bold=True))
    _arrow(axes, (0.4, 2.15), (9.2, 2.15))
    sent = "ids hashed or encrypted · labels as numbers · purpose · where other models were right"
    axes.text(4.8, 1.95, sent, **_words())
    _arrow(axes, (9.2, 1.35), (0.4, 1.35))
    answered = "where its model is right, and its weight · answers for hold-out samples · votes · number of rows"
    axes.text(4.8, 1.15, answered, **_words())
    axes.text(4.8, 0.82, "on the line to the relay, all of this is in TLS once more", **_small())
    axes.text(4.8, 0.28, "A dashed frame is a trust boundary. Only messages cross it.", **_small())
    return axes.figure


def _draw_party(axes: Any, party: Party, bottom: float, height: float) -> None:
    """Draw a party as a dashed frame with its cells, from top to bottom."""
    left, width = party.place
    _box(axes, left, bottom, width, height, PALE[party.colour], party.colour, dashed=True)
    axes.text(
        left + width / 2, bottom + height - 0.3, party.name, ha="center", va="center", size=12, weight="bold",
        color=party.colour,
    )  # fmt: skip
    step = (height - 0.65) / len(party.cells)
    for row, words in enumerate(party.cells):
        low = bottom + height - 0.55 - (row + 1) * step + 0.08
        _box(axes, left + 0.12, low, width - 0.24, step - 0.14, GROUND, party.colour)
        axes.text(left + width / 2, low + (step - 0.14) / 2, words, ha="center", va="center", size=10.5, color=INK)


def _small() -> dict[str, Any]:
    return {"ha": "center", "va": "center", "size": 10.5, "color": FAINT}


def _words(bold: bool = False) -> dict[str, Any]:
    return {"ha": "center", "va": "center", "size": 10.5, "color": INK, "weight": "bold" if bold else "normal"}


def _arrow(axes: Any, start: tuple[float, float], end: tuple[float, float]) -> None:
    arrow = {"arrowstyle": "-|>", "color": INK, "lw": 2, "shrinkA": 0, "shrinkB": 0}
    axes.annotate("", xy=end, xytext=start, arrowprops=arrow)


def _canvas(width: float, height: float) -> Any:
    """Return axes that fill a picture; a step is an inch."""
    axes = Figure(figsize=(width, height), facecolor=GROUND).add_axes((0, 0, 1, 1))
    axes.set_xlim(0, width)
    axes.set_ylim(0, height)
    axes.axis("off")
    return axes


def _write(figure: Figure, name: str) -> None:
    figure.savefig(OUT / name, metadata={"Date": None, "Creator": None}, facecolor=GROUND)


if __name__ == "__main__":
    main()
