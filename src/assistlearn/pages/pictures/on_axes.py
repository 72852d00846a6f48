"""What stands on the axes of pictures: names, rounds, shares, and how much of them is seen."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any


def columns(points: Sequence[tuple[int, float]]) -> tuple[list[int], list[float]]:
    """Return the numbers and the values of points."""
    return [number for number, _ in points], [value for _, value in points]


def dot(points: Sequence[object]) -> float:
    """Return how large a dot is: small where there are many."""
    return 4.0 if len(points) <= 20 else 2.5


def byte_unit(most: float) -> tuple[float, str]:
    """Return the unit in which so many bytes are shown, and its name."""
    return next(((size, name) for size, name in ((1e6, "MB"), (1e3, "kB")) if most >= 2 * size), (1.0, "bytes"))


def short(name: str, longest: int = 18) -> str:
    """Return a name that fits: the middle of a long one is left out, as its end may be what tells it from others."""
    return name if len(name) <= longest else f"{name[: longest // 2 - 1]}…{name[-(longest - longest // 2) :]}"


def name_rows(axes: Any, names: Sequence[str], longest: int = 18) -> None:
    """Name the rows of a picture from top to bottom."""
    axes.set_yticks(range(len(names)), [short(name, longest) for name in names])
    axes.set_ylim(len(names) - 0.5, -0.5)
    axes.grid(visible=False, axis="y")
    axes.tick_params(axis="y", length=0)


def by_round(axes: Any, rounds: Sequence[int], name: str = "round", n_ticks: int = 6) -> None:
    """Let an axis count rounds: whole numbers, also where there is one only."""
    from matplotlib.ticker import MaxNLocator

    first, last = min(rounds), max(rounds)
    more = max(0.04 * (last - first), 0.2)
    axes.set(xlabel=name, xlim=(first - more, last + more))
    axes.xaxis.set_major_locator(MaxNLocator(integer=True, nbins=n_ticks, min_n_ticks=1))


def span(axes: Any, values: Sequence[float], most: float | None) -> None:
    """Let an axis span two hundredths at the least, so that next to nothing does not look like much."""
    low, high = min(values), max(values)
    more = max(0.08 * (high - low), (0.02 - (high - low)) / 2)
    axes.set_ylim(low - more, high + more if most is None else min(high + more, most))


def percents(axis: Any) -> None:
    """Let an axis show shares as percentages."""
    axis.set_major_formatter(lambda value, _: f"{100 * value:.4g} %")


def signed_points(axis: Any) -> None:
    """Let an axis show differences of shares in percentage points."""
    axis.set_major_formatter(lambda value, _: f"{100 * value:+.3g}" if value else "0")
