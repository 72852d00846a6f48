"""The pictures of a page. A picture of the same figures is drawn only once, even if a page is shown often."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

from assistlearn.evaluation.reliability import Reliability
from assistlearn.evaluation.result import Confusion, SharedIn, ShareRow
from assistlearn.pages import colours
from assistlearn.pages.pictures.canvas import svg
from assistlearn.pages.pictures.on_axes import (
    by_round,
    byte_unit,
    columns,
    dot,
    name_rows,
    percents,
    short,
    signed_points,
    span,
)
from assistlearn.pages.view import Matched, OpenedSoFar, RoundRow, Spent, WeightsOfRound

KEPT = 4
"""How many drawings of each kind are remembered."""

MARKERS = ("s", "o", "^", "D", "v", "P")
DASHES = ("-", "--", "-.", ":")
MOST_DOTS = 60
"""Curves with more points have no markers."""

ERRORS = 2.0
"""How many standard errors an interval extends to each side."""


@lru_cache(maxsize=KEPT)
def rounds(rows: tuple[RoundRow, ...], measure: str) -> str:
    """Draw metric, accuracy and loss, round by round; a dotted line marks the last round that counts."""
    curves = [("metric", measure, colours.AGENTS[2])] if measure != "accuracy" else []
    curves.append(("accuracy", "accuracy", colours.ASSISTED))
    curves.append(("loss", "loss of the combination", colours.AGENTS[1]))
    there = [curve for curve in curves if any(_of(row, curve[0]) is not None for row in rows)]

    n_columns = min(len(there), 2)
    n_rows = -(-len(there) // 2)
    kept = [row.round for row in rows if row.kept is not False]

    def draw(figure: Any) -> None:
        for place, (name, title, colour) in enumerate(there, start=1):
            axes = figure.add_subplot(n_rows, n_columns, place)
            points = [(row.round, value) for row in rows if (value := _of(row, name)) is not None]
            dots = {"marker": "o", "markersize": dot(points)} if len(points) <= MOST_DOTS else {}
            axes.plot(*columns(points), color=colour.light, **dots)
            if kept and len(kept) < len(rows):
                axes.axvline(max(kept), color=colours.FAINT.light, linestyle=":", linewidth=1.0)
            axes.set(title=title)
            by_round(axes, [row.round for row in rows], n_ticks=4 if n_columns > 1 else 6)
            span(axes, [value for _, value in points], 1.003 if name == "accuracy" else None)
            if name == "accuracy":
                percents(axes.yaxis)

    return svg("rounds", 2.3 * n_rows, draw)


@lru_cache(maxsize=KEPT)
def shares(rows: tuple[ShareRow, ...], of: SharedIn = "accuracy") -> str:
    """Draw each helper's share of the gain in accuracy, or in log loss, with its interval."""

    def draw(figure: Any) -> None:
        axes = figure.subplots()
        for place, row in enumerate(rows):
            colour = colours.of_agent(place + 1).light
            reach = ERRORS * row.error(of)
            axes.errorbar(row.share(of), place, xerr=reach, color=colour, marker="o", capsize=3, markersize=6)
        axes.axvline(0.0, color=colours.FAINT.light, linewidth=0.9)
        name_rows(axes, [row.helper for row in rows])
        if of == "accuracy":
            axes.set_xlabel("accuracy that the result owes it, in percentage points")
            signed_points(axes.xaxis)
        else:
            axes.set_xlabel("by how much the result owes it a lower log loss")

    return svg("shares", 0.9 + 0.32 * len(rows), draw)


@lru_cache(maxsize=KEPT)
def weights(agents: tuple[str, ...], rows: tuple[WeightsOfRound, ...], by: str = "round") -> str:
    """Draw the model weight of each agent, round by round, or turn by turn."""
    n_columns = max(1, min(len(agents), 60 // (6 + max(len(short(agent)) for agent in agents))))

    def draw(figure: Any) -> None:
        axes = figure.subplots()
        for place, agent in enumerate(agents):
            points = [(row.round, weight) for row in rows if (weight := row.weights[place]) is not None]
            look = {"color": colours.of_agent(place).light, "linewidth": 1.0, "label": short(agent)}
            if len(points) > MOST_DOTS:
                look |= {"linestyle": DASHES[place % len(DASHES)]}
            else:
                look |= {"marker": MARKERS[place % len(MARKERS)], "markersize": dot(points)}
            axes.plot(*columns(points), **look)
        axes.set(ylabel="model weight", ylim=(0.0, None))
        by_round(axes, [row.round for row in rows], by)
        figure.legend(loc="outside upper center", ncols=n_columns)

    return svg("weights", 2.3 + 0.2 * -(-len(agents) // n_columns), draw)


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
        percents(axes.xaxis)
        percents(axes.yaxis)
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
        names = [short(name, 12) for name in classes]
        axes.set_xticks(range(size), names, rotation=90 if size > 4 or max(map(len, names)) > 8 else 0)
        name_rows(axes, classes, 12)

    return svg("confusion", min(1.4 + 0.42 * size, 4.4), draw)


@lru_cache(maxsize=KEPT)
def exchanged(helpers: tuple[str, ...], sent: tuple[int, ...], received: tuple[int, ...]) -> str:
    """Draw the bytes to and from each helper."""

    def draw(figure: Any) -> None:
        axes = figure.subplots()
        unit, name = byte_unit(max((*sent, *received), default=0))
        for place, (to, back) in enumerate(zip(sent, received, strict=True)):
            first = place == 0
            axes.barh(place - 0.19, to / unit, 0.34, color=colours.ALONE.light, label="to it" if first else None)
            axes.barh(place + 0.19, back / unit, 0.34, color=colours.ASSISTED.light, label="from it" if first else None)
        name_rows(axes, helpers)
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
        name_rows(axes, [row.helper for row in rows])
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
        name_rows(axes, [f"{row.what}: {row.agent}" if row.agent else row.what for row in rows], 44)
        axes.set_xlabel("seconds")

    return svg("seconds", 0.8 + 0.24 * len(rows), draw)


@lru_cache(maxsize=KEPT)
def opened(rows: tuple[OpenedSoFar, ...]) -> str:
    """Draw the gain of a pilot after each block of samples, with its limits."""

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
