"""How well a column is guessed against rounds, a panel for each table."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from matplotlib.figure import Figure

from assistlearn.report import pictures as palette
from bench.privacy.measure import NOTHING
from bench.privacy.results import Results

STROKES = (
    palette.Stroke(palette.BLUE, "-", "o"),
    palette.Stroke(palette.VERMILION, "-", "s"),
    palette.Stroke(palette.ORANGE, "--", "^"),
    palette.Stroke(palette.GREEN, "-", "D"),
    palette.Stroke(palette.PURPLE, "-", "v"),
    palette.Stroke(palette.SKY, "-", "P"),
)


def draw(found: Results, path: Path) -> None:
    """Draw the picture."""
    figure = Figure(figsize=(4.2 * len(found.tables), 4.2), layout="constrained")
    panels = figure.subplots(1, len(found.tables), sharey=True, squeeze=False)[0]
    for ax, table in zip(panels, found.tables, strict=True):
        without = float(np.mean(list(found.columns_together(table, NOTHING).values())))
        ax.axhline(without, color=palette.GREY, lw=1.4, ls=":", label=NOTHING)
        for number, way in enumerate(found.ways):
            _draw_way(ax, found, table, way, STROKES[number % len(STROKES)])
        ax.set_xscale("log")
        ax.set_xticks([1, 2, 5, 10, 20], ["1", "2", "5", "10", "20"], minor=False)
        ax.minorticks_off()
        ax.set_xlabel("rounds")
        ax.set_title(table, loc="left", fontsize="medium", fontweight="bold")
        ax.grid(visible=True, color="0.92", lw=0.8)
        ax.set_axisbelow(True)
        ax.spines[["top", "right"]].set_visible(False)
    panels[0].set_ylabel("AUC of guessing a helper's column")
    handles, labels = panels[0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside lower center", ncols=4, fontsize="small", frameon=False)
    figure.savefig(path, dpi=110)


def _draw_way(ax: Any, found: Results, table: str, way: str, stroke: palette.Stroke) -> None:
    points = []
    for rounds in found.stages(table, way):
        values = list(found.columns_together(table, way, rounds).values())
        run = float(np.mean([min(rounds, last) for last in found.last_rounds(table, way)]))
        error = float(np.std(values, ddof=1) / np.sqrt(len(values))) if len(values) > 1 else 0.0
        points.append((max(run, 1.0), float(np.mean(values)), error))
    x, y, error = (list(each) for each in zip(*points, strict=True))
    ax.errorbar(x, y, yerr=error, color=stroke.colour, ls=stroke.dash, marker=stroke.marker, lw=1.6, ms=5, label=way)
