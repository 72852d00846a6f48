"""Label the axes of pictures with names, rounds and shares, and choose which range they show."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any


def columns(points: Sequence[tuple[int, float]]) -> tuple[list[int], list[float]]:
    """Return the numbers and the values of points."""
    return [number for number, _ in points], [value for _, value in points]


def dot(points: Sequence[object]) -> float:
    """Return the size of a dot, which is smaller where there are many."""
    return 4.0 if len(points) <= 20 else 2.5


def byte_unit(most: float) -> tuple[float, str]:
    """Return the unit in which this number of bytes is shown, and its name."""
    return next(((size, name) for size, name in ((1e6, "MB"), (1e3, "kB")) if most >= 2 * size), (1.0, "bytes"))


def short(name: str, longest: int = 18) -> str:
    """Return a name that fits. A long one loses its middle, because names often differ only at the end."""
    return name if len(name) <= longest else f"{name[: longest // 2 - 1]}…{name[-(longest - longest // 2) :]}"


def name_rows(axes: Any, names: Sequence[str], longest: int = 18) -> None:
    """Name the rows of a picture from top to bottom."""
    axes.set_yticks(range(len(names)), [short(name, longest) for name in names])
    axes.set_ylim(len(names) - 0.5, -0.5)
    axes.grid(visible=False, axis="y")
    axes.tick_params(axis="y", length=0)


def by_round(axes: Any, rounds: Sequence[int], name: str = "round", n_ticks: int = 6) -> None:
    """Make the x axis count rounds in whole numbers, also where there is only one."""
    from matplotlib.ticker import MaxNLocator

    first, last = min(rounds), max(rounds)
    more = max(0.04 * (last - first), 0.2)
    axes.set(xlabel=name, xlim=(first - more, last + more))
    axes.xaxis.set_major_locator(MaxNLocator(integer=True, nbins=n_ticks, min_n_ticks=1))


def span(axes: Any, values: Sequence[float], most: float | None) -> None:
    """Make the y axis span at least 0.02, so that a tiny difference does not look large."""
    low, high = min(values), max(values)
    more = max(0.08 * (high - low), (0.02 - (high - low)) / 2)
    axes.set_ylim(low - more, high + more if most is None else min(high + more, most))


def percents(axis: Any) -> None:
    """Make an axis show shares as percentages."""
    axis.set_major_formatter(lambda value, _: f"{100 * value:.4g} %")


def signed_points(axis: Any) -> None:
    """Make an axis show differences of shares in percentage points."""
    axis.set_major_formatter(lambda value, _: f"{100 * value:+.3g}" if value else "0")
