"""A figure's picture, in the paper's layout: accuracy against rounds, with the published curves drawn in."""

from __future__ import annotations

import io
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from textwrap import fill
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from assistlearn.report import pictures as palette
from paper.figures import FigureSettings, draw
from paper.replication import FigureResult, fitted

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
N_SHOWN = 1_000  # samples of a snapshot


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
    """Draw the figure and write it to files, whose endings decide the formats. ``data`` is the data folder."""
    from matplotlib import rc_context
    from matplotlib.figure import Figure

    shown = result.settings.picture.shown_rounds
    with rc_context({"svg.hashsalt": result.settings.name}):  # the same drawing gives the same file
        if shown:
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


@dataclass(frozen=True)
class SamplesAfterRound:
    """The test samples' two features, one from each agent, and which samples are right after a round."""

    round: int
    places: NDArray[np.float64]
    right: NDArray[np.bool_]


def take_snapshots(settings: FigureSettings, data: str | None = None) -> list[SamplesAfterRound]:
    """Return the first test samples of the first replication after the rounds that the settings name.

    If training ended before a round, its snapshot shows the result of the last round. If nothing was learned, all show
    the most frequent class.
    """
    train, test = draw(settings.data, settings.seed, data)
    some = test.take(slice(None, N_SHOWN))
    model = fitted(settings, "ASCII", train, settings.seed)
    stages = list(model.staged_predict(some.features)) or [model.predict(some.features)]
    right = [labels == some.labels for labels in stages]
    rounds = [min(round, settings.rounds) for round in settings.picture.shown_rounds]
    return [SamplesAfterRound(round, some.features, right[min(round, len(right)) - 1]) for round in rounds]


def draw_snapshots(axes: Sequence[Axes], snapshots: Sequence[SamplesAfterRound]) -> None:
    """Draw the samples, blue dots where they are classified right, and red crosses where not."""
    for ax, shot in zip(axes, snapshots, strict=True):
        for mark, colour, which in ((".", palette.BLUE, shot.right), ("x", palette.VERMILION, ~shot.right)):
            x, y = shot.places[which].T
            ax.scatter(x, y, s=10 if mark == "." else 12, c=colour, marker=mark, lw=0.8)
        ax.set_title(f"Round {shot.round}: {shot.right.mean():.0%} right", fontsize="medium", loc="left")
        ax.set_xlabel("agent A's feature")
        ax.set_xticks([])
        ax.set_yticks([])
    axes[0].set_ylabel("agent B's feature")
