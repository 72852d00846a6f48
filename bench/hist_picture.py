"""The picture of ``bench/scale.py``: four panels, one for each part."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt
from hist_result import Figure
from matplotlib.axes import Axes

BLUE, VERMILION, BLACK = "#0072B2", "#D55E00", "#000000"


def draw(figures: Sequence[Figure], path: Path) -> None:
    """Write the picture."""
    fig, axes = plt.subplots(2, 2, figsize=(13, 9), layout="constrained")
    _rounds(axes[0, 0], figures)
    _pooled(axes[0, 1], figures)
    _growth(axes[1, 0], figures)
    _overhead(axes[1, 1], figures)
    fig.savefig(path, dpi=120)
    plt.close(fig)


def _rounds(ax: Axes, figures: Sequence[Figure]) -> None:
    chosen = [f for f in figures if f.quantity == "times AdaBoost's rounds per second"]
    bars = ax.barh([f.case for f in chosen], [f.value for f in chosen], color=BLUE)
    ax.bar_label(bars, fmt="%.0f x", padding=3)
    for number, figure in enumerate(chosen):
        bound = float(figure.to_reach.removeprefix("at least ") or "nan")
        ax.plot([bound, bound], [number - 0.4, number + 0.4], color=BLACK, linestyle="--")
    ax.set_title("Rounds per second, times AdaBoostClassifier's (dashed: to reach)")
    ax.margins(x=0.15)


def _pooled(ax: Axes, figures: Sequence[Figure]) -> None:
    for case, marker in zip(dict.fromkeys(f.case for f in figures if f.part == "pooled"), "osD", strict=False):
        own = {f.quantity: f.value for f in figures if f.part == "pooled" and f.case == case}
        names = [quantity.removeprefix("AUC, ") for quantity in own if quantity.startswith("AUC, ")]
        for name in names:
            x, y = own[f"seconds, {name}"], own[f"AUC, {name}"]
            ax.plot(x, y, marker, color=VERMILION if name.startswith("pooled") else BLUE)
            ax.annotate(name, (x, y), xytext=(5, 3), textcoords="offset points", fontsize=8)
        ax.plot([], [], marker, color=BLACK, label=case)
    ax.set(xscale="log", xlabel="seconds of training", ylabel="test AUC", title="Two agents and pooled models")
    ax.margins(x=0.3)
    ax.legend(fontsize=8)


def _growth(ax: Axes, figures: Sequence[Figure]) -> None:
    for what, colour, dash in (("samples", BLUE, "-o"), ("agents", VERMILION, "--s"), ("rounds", BLACK, ":^")):
        own = [f for f in figures if f.part == "growth" and f.case == what]
        points = [
            (f.quantity.removeprefix("seconds at ").replace(",", ""), f.value) for f in own if "seconds" in f.quantity
        ]
        slope = next(f.value for f in own if f.quantity == "exponent")
        ax.plot(
            [int(x) for x, _ in points],
            [y for _, y in points],
            dash,
            color=colour,
            label=f"{what}: exponent {slope:.2f}",
        )
    ax.set(xscale="log", yscale="log", xlabel="how many", ylabel="seconds", title="How time grows")
    ax.legend()


def _overhead(ax: Axes, figures: Sequence[Figure]) -> None:
    shares = [f for f in figures if f.quantity == "own share of the run"]
    labels = [f.case.replace(", ", ",\n", 2).replace(" agents with", " agents,\n") for f in shares]
    bars = ax.barh(labels, [100 * f.value for f in shares], color=BLUE)
    ax.bar_label(bars, fmt="%.1f %%", padding=3)
    memory = [f for f in figures if f.quantity == "times the raw table, everything"]
    note = f"; peak memory {memory[0].value:.1f} times the raw table" if memory else ""
    ax.set_title(f"Own share of a run's time{note}", fontsize=10)
    ax.tick_params(axis="y", labelsize=8)
    ax.margins(x=0.15)
