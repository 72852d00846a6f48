"""Every picture of a page. Each is drawn once for the same figures, however often a page is shown."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import Any

from assistlearn.evaluation.reliability import Reliability
from assistlearn.pages import colours
from assistlearn.pages.pictures.canvas import svg
from assistlearn.pages.view import Confusion, Matched, OpenedSoFar, RoundRow, ShareRow, Spent, WeightsOfRound

KEPT = 4
"""So many drawings of a kind are remembered."""

MARKERS = ("s", "o", "^", "D", "v", "P")
ERRORS = 2.0
"""Intervals reach so many standard errors to each side."""


@lru_cache(maxsize=KEPT)
def rounds(rows: tuple[RoundRow, ...], measure: str) -> str:
    """Draw what the hold-out samples and the loss say, round by round; rounds that are not kept are pale."""
    curves = [("accuracy", "accuracy", colours.ASSISTED)]
    if measure != "accuracy":
        curves.append(("metric", measure, colours.AGENTS[2]))
    curves.append(("loss", "loss of the combination", colours.AGENTS[1]))
    there = [(name, title, colour) for name, title, colour in curves if any(_of(row, name) for row in rows)]

    def draw(figure: Any) -> None:
        panels = figure.subplots(1, len(there), squeeze=False)[0]
        for axes, (name, title, colour) in zip(panels, there, strict=True):
            points = [(row, value) for row in rows if (value := _of(row, name)) is not None]
            axes.plot([row.round for row, _ in points], [value for _, value in points], color=colour.light)
            for kept, face in ((True, colour.light), (False, colours.GROUND.light)):
                dots = [(row.round, value) for row, value in points if (row.kept is not False) == kept]
                axes.plot(*_columns(dots), "o", color=colour.light, markerfacecolor=face, markersize=_dot(points))
            axes.set(title=title)
            _by_round(axes, [row.round for row in rows])
            _span(axes, [value for _, value in points], 1.003 if name == "accuracy" else None)
            if name == "accuracy":
                _percent(axes.yaxis)

    return svg("rounds", 2.3, draw)


@lru_cache(maxsize=KEPT)
def shares(rows: tuple[ShareRow, ...]) -> str:
    """Draw each helper's share of the gain in accuracy with its interval."""

    def draw(figure: Any) -> None:
        axes = figure.subplots()
        for place, row in enumerate(rows):
            colour = colours.of_agent(place + 1).light
            axes.errorbar(
                row.accuracy, place, xerr=ERRORS * row.accuracy_error, color=colour, marker="o", capsize=3, markersize=6
            )
        axes.axvline(0.0, color=colours.FAINT.light, linewidth=0.9)
        _names(axes, [row.helper for row in rows])
        axes.set_xlabel("accuracy that the result owes it, in percentage points")
        _points(axes.xaxis)

    return svg("shares", 0.9 + 0.32 * len(rows), draw)


@lru_cache(maxsize=KEPT)
def weights(agents: tuple[str, ...], rows: tuple[WeightsOfRound, ...], by: str = "round") -> str:
    """Draw the model weight of each agent, round by round, or turn by turn."""

    def draw(figure: Any) -> None:
        axes = figure.subplots()
        for place, agent in enumerate(agents):
            points = [(row.round, weight) for row in rows if (weight := row.weights[place]) is not None]
            look = {"color": colours.of_agent(place).light, "marker": MARKERS[place % len(MARKERS)]}
            axes.plot(*_columns(points), **look, markersize=_dot(points), linewidth=1.0, label=_short(agent))
        axes.set(ylabel="model weight", ylim=(0.0, None))
        _by_round(axes, [row.round for row in rows], by)
        figure.legend(loc="outside upper center", ncols=min(len(agents), 4))

    return svg("weights", 2.5 + 0.2 * (len(agents) // 4), draw)


@lru_cache(maxsize=KEPT)
def reliability(assisted: tuple[Reliability, ...], alone: tuple[Reliability, ...]) -> str:
    """Draw how often answers were right against how sure they were said to be, with intervals."""
    least = min([0.5, *(min(each.said, each.right) for each in (*assisted, *alone))])

    def draw(figure: Any) -> None:
        axes = figure.subplots()
        axes.plot([least, 1.0], [least, 1.0], "--", color=colours.FAINT.light, linewidth=0.9, label="as said")
        groups = (alone, "alone", colours.ALONE, "s"), (assisted, "with help", colours.ASSISTED, "o")
        for rows, label, colour, marker in groups:
            said, right = [each.said for each in rows], [each.right for each in rows]
            axes.plot(said, right, color=colour.light, marker=marker, label=label)
            low, high = ([each.interval[end] for each in rows] for end in (0, 1))
            axes.vlines(said, low, high, color=colour.light, linewidth=0.7)
        axes.set(xlabel="said to be right", ylabel="were right")
        _percent(axes.xaxis)
        _percent(axes.yaxis)
        figure.legend(loc="outside upper center", ncols=3)

    return svg("reliability", 3.0, draw)


@lru_cache(maxsize=KEPT)
def confusion(table: Confusion, classes: tuple[str, ...]) -> str:
    """Draw which class was answered for which, as shares of the true class."""
    from matplotlib.patches import Rectangle

    size = len(classes)

    def draw(figure: Any) -> None:
        axes = figure.subplots()
        for place, counts in enumerate(table.counts):
            whole = sum(counts) or 1.0
            for answer, count in enumerate(counts):
                if count:
                    corner, share = (answer - 0.5, place - 0.5), count / whole
                    axes.add_patch(Rectangle(corner, 1, 1, facecolor=colours.ASSISTED.light, alpha=0.08 + 0.5 * share))
                    if size <= 8:
                        axes.text(answer, place, f"{share:.0%}", ha="center", va="center")
        axes.set(xlim=(-0.5, size - 0.5), xlabel="answered", ylabel="true class")
        axes.grid(visible=False)
        axes.set_aspect("equal", anchor="W")
        names = [_short(name, 12) for name in classes]
        axes.set_xticks(range(size), names, rotation=90 if size > 4 or max(map(len, names)) > 8 else 0)
        _names(axes, classes, 12)

    return svg("confusion", min(1.4 + 0.42 * size, 4.4), draw)


@lru_cache(maxsize=KEPT)
def exchanged(helpers: tuple[str, ...], sent: tuple[int, ...], received: tuple[int, ...]) -> str:
    """Draw the bytes to and from each helper."""

    def draw(figure: Any) -> None:
        axes = figure.subplots()
        unit, name = _unit(max((*sent, *received), default=0))
        for place, (to, back) in enumerate(zip(sent, received, strict=True)):
            first = place == 0
            axes.barh(place - 0.19, to / unit, 0.34, color=colours.ALONE.light, label="to it" if first else None)
            axes.barh(place + 0.19, back / unit, 0.34, color=colours.ASSISTED.light, label="from it" if first else None)
        _names(axes, helpers)
        axes.set_xlabel(name)
        figure.legend(loc="outside upper center", ncols=2)

    return svg("exchanged", 1.1 + 0.42 * len(helpers), draw)


@lru_cache(maxsize=KEPT)
def matched(rows: tuple[Matched, ...]) -> str:
    """Draw how many of the samples asked for each helper holds."""

    def draw(figure: Any) -> None:
        axes = figure.subplots()
        for place, row in enumerate(rows):
            axes.barh(place, row.n_asked, 0.5, color="none", edgecolor=colours.FAINT.light, linewidth=0.9)
            axes.barh(place, row.n_held, 0.5, color=colours.of_agent(place + 1).light)
        _names(axes, [row.helper for row in rows])
        axes.set_xlabel("samples: held, of those asked for")
        axes.xaxis.set_major_formatter(lambda value, _: f"{value:,.0f}")

    return svg("matched", 0.85 + 0.32 * len(rows), draw)


@lru_cache(maxsize=KEPT)
def seconds(rows: tuple[Spent, ...], initiator: str) -> str:
    """Draw where the seconds went."""

    def draw(figure: Any) -> None:
        axes = figure.subplots()
        for place, row in enumerate(rows):
            colour = colours.ALONE if row.agent == initiator else colours.FAINT if not row.agent else colours.ASSISTED
            axes.barh(place, row.seconds, 0.6, color=colour.light)
        _names(axes, [f"{row.what}: {row.agent}" if row.agent else row.what for row in rows], 44)
        axes.set_xlabel("seconds")

    return svg("seconds", 0.8 + 0.24 * len(rows), draw)


@lru_cache(maxsize=KEPT)
def opened(rows: tuple[OpenedSoFar, ...]) -> str:
    """Draw how the gain of a pilot stood after each block of samples, with its limits."""

    def draw(figure: Any) -> None:
        axes = figure.subplots()
        numbers, colour = [row.n_opened for row in rows], colours.ASSISTED.light
        lower, upper = [row.lower for row in rows], [row.upper for row in rows]
        axes.fill_between(numbers, lower, upper, color=colour, alpha=0.2, linewidth=0, label="limits")
        axes.plot(numbers, [row.gain for row in rows], color=colour, label="gain so far")
        axes.axhline(0.0, color=colours.FAINT.light, linewidth=0.9)
        axes.set(xlabel="samples opened", ylabel="loss lower by")
        figure.legend(loc="outside upper center", ncols=2)

    return svg("opened", 2.5, draw)


def _of(row: RoundRow, name: str) -> float | None:
    value: float | None = getattr(row, name)
    return value


def _columns(points: Sequence[tuple[int, float]]) -> tuple[list[int], list[float]]:
    return [number for number, _ in points], [value for _, value in points]


def _dot(points: Sequence[object]) -> float:
    """Return how large a dot is: small where there are many."""
    return 4.0 if len(points) <= 20 else 2.5


def _unit(most: float) -> tuple[float, str]:
    return next(((size, name) for size, name in ((1e6, "MB"), (1e3, "kB")) if most >= 2 * size), (1.0, "bytes"))


def _short(name: str, longest: int = 18) -> str:
    return name if len(name) <= longest else name[: longest - 1] + "…"


def _names(axes: Any, names: Sequence[str], longest: int = 18) -> None:
    """Name the rows of a picture from top to bottom."""
    axes.set_yticks(range(len(names)), [_short(name, longest) for name in names])
    axes.set_ylim(len(names) - 0.5, -0.5)
    axes.grid(visible=False, axis="y")
    axes.tick_params(axis="y", length=0)


def _by_round(axes: Any, rounds: Sequence[int], name: str = "round") -> None:
    """Let an axis count rounds: whole numbers, also where there is one only."""
    from matplotlib.ticker import MaxNLocator

    first, last = min(rounds), max(rounds)
    more = max(0.04 * (last - first), 0.2)
    axes.set(xlabel=name, xlim=(first - more, last + more))
    axes.xaxis.set_major_locator(MaxNLocator(integer=True, nbins=6, min_n_ticks=1))


def _span(axes: Any, values: Sequence[float], most: float | None) -> None:
    """Let an axis span two hundredths at the least, so that next to nothing does not look like much."""
    low, high = min(values), max(values)
    more = max(0.08 * (high - low), (0.02 - (high - low)) / 2)
    axes.set_ylim(low - more, high + more if most is None else min(high + more, most))


def _percent(axis: Any) -> None:
    axis.set_major_formatter(lambda value, _: f"{100 * value:.4g} %")


def _points(axis: Any) -> None:
    axis.set_major_formatter(lambda value, _: f"{100 * value:+.3g}".replace("+0", "0") if value else "0")
