"""Draw the pictures of the architecture page: the layers with the trust boundaries, and the way of one reward.

    python docs/draw_architecture.py

writes ``docs/_static/architecture.svg`` and ``docs/_static/way_of_a_reward.svg``. Texts stay texts, and a picture has
a ground of its own, so that it can be read on a light page and on a dark one.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any, NamedTuple

import matplotlib as mpl
from matplotlib.figure import Figure
from matplotlib.patches import FancyBboxPatch

OUT = Path(__file__).parent / "_static"

GROUND, INK, FAINT = "#fbfaf7", "#1d2733", "#55606c"
INITIATOR, RELAY, HELPER = "#2f6fa8", "#7a7a7a", "#b3622b"
PALE = {INITIATOR: "#dfeaf4", RELAY: "#e9e9e7", HELPER: "#f6e6d9"}


class Layer(NamedTuple):
    """A row of the first picture: layers beside each other, what they are for, and what they do at whom."""

    names: str
    meaning: str
    initiator: str
    helper: str


LAYERS = (
    Layer("cli", "what people start", "train, predict, show", "site start, check, audit"),
    Layer("web", "live pages, predictions", "watch, serve", "watch"),
    Layer("pages", "a run as one page", "report", "report"),
    Layer("display", "plots", "", ""),
    Layer("estimators", "agents in one process", "", ""),
    Layer("reach", "how agents are reached", "asks: a transport", "listens: a site, a process"),
    Layer("runs", "the initiator's side of a run", "folder, secret class order", ""),
    Layer("service", "what answers at an agent", "its own agent, in memory", "every request ends here"),
    Layer("session", "the only loop", "whose turn, stop or go on", ""),
    Layer("agents", "table, learner, kept models", "its own models", "its own models"),
    Layer("tables", "reading, kinds, schema", "table and labels", "table"),
    Layer("agent_files", "an organisation's file", "agent.toml, secret", "agent.toml, secret, [allow]"),
    Layer(
        "combination, disclosure, evaluation",
        "scores; what releases tell; figures",
        "fitted, judged, in private",
        "attacks its own transcript",
    ),
    Layer(
        "learners, alignment, protocol",
        "fitting; shared samples; messages",
        "learner, ids, ledger",
        "learner, ids, ledger",
    ),
    Layer("plan", "every setting of a run, once", "all of it", "what it is told of it"),
    Layer("methods, orders, setting", "rewards, weights, votes; turns", "the same code", "the same code"),
    Layer("events", "every fact, as it happens", "events.jsonl", ""),
    Layer("core", "arithmetic on arrays", "its state of the run", "its replica of the state"),
    Layer("storage", "files: whole or not there", "the same code", "the same code"),
    Layer("errors", "every error, in one tree", "the same code", "the same code"),
)


MOST_LETTERS = 30
"""Of the names of a row in letters of the usual size."""


class Stop(NamedTuple):
    """A stop on the way of a reward: where, in which modules, and what happens there."""

    place: str
    modules: str
    words: str


GIVES, ON_THE_WAY, ASKS, HEARS = "the helper\nwhose turn\nit is", "", "the\ninitiator", "the other\nhelper"
STOPS = (
    Stop(GIVES, "learners.learner", "the learner has answered: a class for every sample"),
    Stop(GIVES, "methods.hard", "the reward: where these answers are right"),
    Stop(GIVES, "agents.agent · core.state", "judged: the model's weight; the model stays here"),
    Stop(GIVES, "service.part · protocol.rewards", "packed, once for all who will hear of it"),
    Stop(GIVES, "protocol.codec", "TurnTaken is encoded, once"),
    Stop(GIVES, "service.store · storage.whole_files", "model, request and answer are on disk: done"),
    Stop(GIVES, "service.service · protocol.ledger", "written to the ledger, then sent"),
    Stop(ON_THE_WAY, "reach", "the relay, or a socket: bytes, between organisations sealed"),
    Stop(ASKS, "runs.correspondent · protocol.ledger", "decoded; written to ledger and log, by its bytes"),
    Stop(ASKS, "runs.remote_participant · runs.turn_check", "unpacked; weight and mean worked out again"),
    Stop(ASKS, "runs.recorded_participant · runs.folder", "into the run's folder, as it came"),
    Stop(ASKS, "session.round · core.state", "the initiator's state takes it in"),
    Stop(ASKS, "runs.training · events.log", "TurnFinished is appended, and shown"),
    Stop(ASKS, "runs.remote_participant", "news for the other helper's turn, as its owner packed it"),
    Stop(ON_THE_WAY, "reach", "the relay, or a socket: the same"),
    Stop(HEARS, "service.service · service.exchanges.train", "decoded, written to the ledger, allowed"),
    Stop(HEARS, "service.replica", "unpacked and checked"),
    Stop(HEARS, "core.state", "its replica takes it in: the same state, to the bit"),
)


def main() -> None:
    """Write both pictures."""
    with mpl.rc_context({"svg.fonttype": "none", "svg.hashsalt": "assistlearn"}):
        _write(draw_layers(), "architecture.svg")
        _write(draw_way(), "way_of_a_reward.svg")


def draw_layers() -> Figure:
    """Return the layers, from top to bottom, and which of them are at work at whom."""
    bottom = -len(LAYERS) - 0.3
    axes = _canvas(9.3, 10.0, bottom - 1.5, 1.4)
    columns = ((3.15, 2.35, INITIATOR), (5.7, 1.0, RELAY), (6.9, 2.3, HELPER))
    titles = ("the initiator's\norganisation", "the relay", "a helper's\norganisation")
    for (left, width, colour), title in zip(columns, titles, strict=True):
        _box(axes, left, bottom, width, -bottom + 0.2, PALE[colour], colour, dashed=True)
        axes.text(left + width / 2, 0.4, title, ha="center", va="bottom", size=12, weight="bold", color=colour)
    axes.text(0.1, 0.4, "a layer imports only\nlayers below it", va="bottom", size=11, color=FAINT)
    for row, layer in enumerate(LAYERS):
        y = -row - 0.65
        size = 11.5 if len(layer.names) <= MOST_LETTERS else 10.0
        axes.text(0.1, y + 0.2, layer.names, size=size, weight="bold", color=INK, va="center")
        axes.text(0.1, y - 0.18, layer.meaning, size=10.5, color=FAINT, va="center")
        axes.plot([0.1, 3.0], [y - 0.5, y - 0.5], color="#d8d5cc", lw=0.8)
        for (left, width, colour), words in zip(columns, (layer.initiator, "", layer.helper), strict=True):
            if words:
                _cell(axes, left + 0.1, y - 0.37, width - 0.2, 0.74, words, colour)
    _cell(axes, 3.25, -3 - 1.02, 2.15, 2.74, "where all agents are\nin one process:\nno boundary at all", INITIATOR)
    _draw_crossing(axes, -4 - 0.65)
    axes.text(
        0.1,
        bottom - 0.3,
        "A dashed frame is a trust boundary. Tables, learners, models and the names of the classes\n"
        "stay inside; only messages cross it. They are sealed from site to site, so that the relay\n"
        "passes on what it cannot read.",
        va="top",
        size=11,
        color=INK,
    )
    return axes.figure


def _draw_crossing(axes: Any, y: float) -> None:
    """Draw how messages go from one organisation to the other."""
    arrow = {"arrowstyle": "<|-|>", "color": INK, "lw": 2, "shrinkA": 0, "shrinkB": 0}
    axes.annotate("", xy=(7.0, y), xytext=(5.4, y), arrowprops=arrow)
    axes.text(
        6.2, y - 0.4, "it sees\nfrom whom,\nto whom,\nwhen, and\nhow many\nbytes", ha="center", va="top", size=10.5
    )


def draw_way() -> Figure:
    """Return the way of one reward: a straight line with its stops."""
    n = len(STOPS)
    axes = _canvas(7.4, 10.4, -n - 0.1, 0.1)
    colours = {GIVES: HELPER, ON_THE_WAY: RELAY, ASKS: INITIATOR, HEARS: HELPER}
    for first, last, place in _stretches():
        height, colour = last - first + 1, colours[place]
        _box(axes, 0.1, -last - 0.95, 7.2, height - 0.1, PALE[colour], colour, dashed=place != ON_THE_WAY)
        middle = -first - height / 2
        axes.text(0.75, middle, place, ha="center", va="center", size=11.5, weight="bold", color=colour)
    axes.plot([1.65, 1.65], [-0.5, -n + 0.5], color=INK, lw=2.5, zorder=2)
    for row, stop in enumerate(STOPS):
        y = -row - 0.5
        axes.plot([1.65], [y], "o", ms=9, color=GROUND, mec=colours[stop.place], mew=2.5, zorder=3)
        axes.text(1.95, y + 0.17, stop.modules, size=11, weight="bold", color=INK, va="center")
        axes.text(1.95, y - 0.19, stop.words, size=11, color=INK, va="center")
    return axes.figure


def _stretches() -> list[tuple[int, int, str]]:
    """Return the first and the last stop of each stretch of the way at one place."""
    found: list[tuple[int, int, str]] = []
    for row, stop in enumerate(STOPS):
        if found and found[-1][2] == stop.place:
            found[-1] = (found[-1][0], row, stop.place)
        else:
            found.append((row, row, stop.place))
    return found


def _canvas(width: float, height: float, lowest: float, highest: float) -> Any:
    """Return axes that fill a picture; a step to the right is an inch, a step down is a row."""
    axes = Figure(figsize=(width, height), facecolor=GROUND).add_axes((0, 0, 1, 1))
    axes.set_xlim(0, width)
    axes.set_ylim(lowest, highest)
    axes.axis("off")
    return axes


def _cell(axes: Any, left: float, bottom: float, width: float, height: float, words: str, edge: str) -> None:
    _box(axes, left, bottom, width, height, GROUND, edge)
    axes.text(left + width / 2, bottom + height / 2, words, ha="center", va="center", size=10.5, color=INK)


def _box(
    axes: Any, left: float, bottom: float, width: float, height: float, fill: str, edge: str, dashed: bool = False
) -> None:
    shape = FancyBboxPatch(
        (left, bottom),
        width,
        height,
        boxstyle="round,pad=0,rounding_size=0.1",
        fc=fill,
        ec=edge,
        lw=1.8 if dashed else 1.0,
        ls="--" if dashed else "-",
        zorder=0.5 if dashed else 1,
    )
    axes.add_patch(shape)


def _write(figure: Figure, name: str) -> None:
    figure.savefig(OUT / name, metadata={"Date": None, "Creator": None}, facecolor=GROUND)


if __name__ == "__main__":
    main()
