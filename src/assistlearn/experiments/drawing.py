"""A figure's picture, in the paper's layout: accuracy against rounds, with the published curves drawn in."""

from __future__ import annotations

import io
from pathlib import Path
from textwrap import fill
from typing import TYPE_CHECKING, Any

import numpy as np

from assistlearn.display import palette
from assistlearn.experiments.results import FigureResult

if TYPE_CHECKING:
    from matplotlib.axes import Axes

STROKES = {
    "Single": palette.Stroke(palette.VERMILION, marker="s"),
    "ASCII": palette.Stroke(palette.BLUE, marker="o", width=2.4),
    "Oracle": palette.Stroke(palette.BLACK, marker="^"),
    "ASCII-Random": palette.Stroke(palette.GREEN, marker="D"),
    "ASCII-Simple": palette.Stroke(palette.ORANGE, marker="v"),
    "Ensemble-Ada": palette.Stroke(palette.PURPLE, marker="X"),
}
SIZE = (6.0, 4.2)  # inches
DOTS = 110  # per inch, for PNG
COLOURS = 64  # of a PNG
WIDTH = 75  # letters of a title in a line


def draw_curves(ax: Axes, result: FigureResult) -> None:
    """Draw our curves with their standard errors as bands, and the published ones as thin dashes."""
    for method in result.settings.methods:
        stroke = STROKES[method]
        mean, error = result.mean(method), result.standard_error(method)
        error = np.where(np.isfinite(error), error, 0.0)
        rounds = np.arange(1, len(mean) + 1)
        ax.fill_between(rounds, mean - error, mean + error, color=stroke.colour, alpha=0.18, lw=0)
        ax.plot(rounds, mean, color=stroke.colour, lw=stroke.width, marker=stroke.marker, ms=5, label=method)
        curve = result.published.get(method)
        if curve:
            points: dict[str, Any] = {"ms": 4, "mfc": "white", "lw": 1.1, "alpha": 0.9}
            ax.plot(list(curve), list(curve.values()), "--", color=stroke.colour, marker=stroke.marker, **points)
    if result.published:
        ax.plot([], [], "--", color=palette.GREY, lw=1.1, marker="o", mfc="white", ms=4, label="published")
    _dress(ax, result)


def save_picture(result: FigureResult, *paths: Path, data: str | None = None) -> None:
    """Draw the figure and write it to files. Their endings decide the formats.

    Parameters
    ----------
    result : FigureResult
        The figure's result.
    *paths : Path
        The files to write.
    data : str, optional
        The data folder, for figures that show samples.
    """
    from matplotlib import rc_context
    from matplotlib.figure import Figure

    shown = result.settings.picture.shown_rounds
    with rc_context({"svg.hashsalt": result.settings.name}):  # the same drawing gives the same file
        if shown:
            from assistlearn.experiments.snapshots import draw_snapshots, take_snapshots

            figure = Figure(figsize=(3.2 * len(shown) + 4.4, 3.6), layout="constrained")
            *panels, last = figure.subplots(1, len(shown) + 1, width_ratios=[1.0] * len(shown) + [1.25])
            draw_snapshots(panels, take_snapshots(result.settings, data))
            draw_curves(last, result)
            last.set_title("Accuracy on test samples", fontsize="medium", loc="left")
        else:
            figure = Figure(figsize=SIZE, layout="constrained")
            draw_curves(figure.subplots(), result)
        for path in paths:
            path.parent.mkdir(parents=True, exist_ok=True)
            if path.suffix == ".png":
                _save_png(figure, path)
            else:
                figure.savefig(path, metadata={"Date": None})


def _save_png(figure: Any, path: Path) -> None:
    """Save with few colours: the file has a third of the size, and looks the same."""
    from PIL import Image

    whole = io.BytesIO()
    figure.savefig(whole, dpi=DOTS, format="png")
    Image.open(whole).convert("RGB").quantize(COLOURS).save(path, optimize=True)


def _dress(ax: Axes, result: FigureResult) -> None:
    settings = result.settings
    n = len(result.replications)
    title = fill(f"Figure {settings.figure}: {settings.title}", WIDTH)
    ax.set_title(title, loc="left", fontsize="small", fontweight="bold")
    ax.set_xlabel(f"round (bands: standard error over {n} replication{'' if n == 1 else 's'})")
    ax.set_ylabel("test accuracy")
    low = min(settings.picture.low, *(float(result.mean(m).min()) - 0.02 for m in settings.methods))
    high = max(settings.picture.high, *(float(result.mean(m).max()) + 0.02 for m in settings.methods))
    ax.set_ylim(max(low, 0.0), min(high, 1.02))
    ax.set_xticks(range(1, settings.rounds + 1, 1 if settings.rounds <= 10 else 2))
    ax.grid(visible=True, color="0.92", lw=0.8)
    ax.set_axisbelow(True)
    ax.spines[["top", "right"]].set_visible(False)
    ax.legend(fontsize="small", ncols=2)
