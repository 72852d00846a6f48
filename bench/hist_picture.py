"""The picture of ``bench.scale``: four panels, one for each part."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt
from matplotlib.axes import Axes

from bench.hist_result import Figure

BLUE, VERMILION, BLACK = "#0072B2", "#D55E00", "#000000"


def draw(figures: Sequence[Figure], path: Path) -> None:
    """Write the picture."""
    fig, axes = plt.subplots(2, 2, figsize=(15, 9), layout="constrained")
    _rounds(axes[0, 0], figures)
    _pooled(axes[0, 1], figures)
    _growth(axes[1, 0], figures)
    _overhead(axes[1, 1], figures)
    fig.savefig(path, dpi=110)
    plt.close(fig)


def _rounds(ax: Axes, figures: Sequence[Figure]) -> None:
    chosen = [f for f in figures if f.quantity == "times AdaBoost's rounds per second"]
    bars = ax.barh([f.case.replace(", ", ",\n", 1) for f in chosen], [f.value for f in chosen], 0.5, color=BLUE)
    ax.bar_label(bars, fmt="%.0f times", padding=4)
    for number, figure in enumerate(chosen):
        bound = float(figure.to_reach.removeprefix("at least ") or "nan")
        ax.plot([bound, bound], [number - 0.35, number + 0.35], color=BLACK, linestyle="--")
    ax.set_title("Rounds per second, times AdaBoostClassifier's (dashed: to reach)")
    ax.margins(x=0.25)


def _pooled(ax: Axes, figures: Sequence[Figure]) -> None:
    own = [f for f in figures if f.part == "pooled" and f.quantity.startswith("AUC, ")]
    names = list(dict.fromkeys(f.quantity.removeprefix("AUC, ") for f in own))[::-1]
    taken = {(f.case, f.quantity.removeprefix("seconds, ")): f.value for f in figures if "seconds, " in f.quantity}
    tables = dict.fromkeys(f.case for f in own)
    for case, marker, above in zip(tables, "oD", (0.15, -0.15), strict=False):
        auc = {f.quantity.removeprefix("AUC, "): f.value for f in own if f.case == case}
        best = max(auc["pooled XGBoost"], auc["pooled XGBoost, depth 3, rate 0.1"])
        for number, name in enumerate(names):
            less = auc[name] - best
            ax.plot(less, number + above, marker, color=VERMILION if name.startswith("pooled") else BLUE)
            label = f"{taken[case, name]:.2f} s"
            ax.annotate(label, (less, number + above), xytext=(6, -3), textcoords="offset points", fontsize=8)
        ax.plot([], [], marker, color=BLACK, linestyle="", label=case)
    ax.axvline(-0.005, color=BLACK, linestyle="--", linewidth=1)
    ax.set_yticks(range(len(names)), names, fontsize=9)
    ax.set_title("Test AUC, less the best pooled XGBoost's (dashed: to reach)")
    ax.margins(x=0.15)
    ax.legend(fontsize=9, loc="upper left")


def _growth(ax: Axes, figures: Sequence[Figure]) -> None:
    for what, colour, dash in (("samples", BLUE, "-o"), ("agents", VERMILION, "--s"), ("rounds", BLACK, ":^")):
        own = [f for f in figures if f.part == "growth" and f.case == what]
        sizes = {f.quantity.removeprefix("seconds at "): f.value for f in own if f.quantity.startswith("seconds at ")}
        slope = next(f.value for f in own if f.quantity == "exponent")
        many = [int(size.replace(",", "")) for size in sizes]
        ax.plot(many, list(sizes.values()), dash, color=colour, label=f"{what}: exponent {slope:.2f}")
    ax.set(xscale="log", yscale="log", xlabel="how many", ylabel="seconds", title="How time grows")
    ax.legend()


def _overhead(ax: Axes, figures: Sequence[Figure]) -> None:
    shares = [f for f in figures if f.quantity == "own share of the run"]
    labels = [", ".join(f.case.split(", ")[1:3]) + ",\n" + f.case.split(", ")[-1] for f in shares]
    bars = ax.barh(labels, [100 * f.value for f in shares], 0.5, color=BLUE)
    ax.bar_label(bars, fmt="%.1f %%", padding=4)
    ax.set_title(f"Own share of a run's time, {shares[0].case.split(', ')[0]}")
    ax.margins(x=0.25)
