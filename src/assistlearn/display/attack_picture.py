"""Draw how well an attacker guesses each column, without and with what was released."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from assistlearn.display import palette

STROKES = palette.AGENTS
MOST_COLUMNS = 40
"""The largest number of columns that are drawn: those that are guessed best."""


def draw_attack(columns: Sequence[Mapping[str, Any]], title: str, path: Path) -> None:
    """Draw a row for each column: a hollow mark for the guess without what was released, a filled one with it.

    Parameters
    ----------
    columns : sequence of mapping
        Each with ``column`` and ``inferred``, a list of mappings with ``share``, ``auc``, ``auc_error`` and
        ``without``.
    title : str
        The title of the picture.
    path : path
        The file to write. Its ending decides the format.
    """
    from matplotlib.figure import Figure

    shown = sorted((column for column in columns if column["inferred"]), key=_best)[-MOST_COLUMNS:]
    shares = sorted({found["share"] for column in shown for found in column["inferred"]})
    figure = Figure(figsize=(8.0, 1.6 + 0.34 * max(len(shown), 1)), layout="constrained")
    ax = figure.subplots()
    for place, column in enumerate(shown):
        for found in column["inferred"]:
            number = shares.index(found["share"])
            _draw_guess(ax, place + 0.22 * (number - (len(shares) - 1) / 2), found, STROKES[number % len(STROKES)])
    for number, share in enumerate(shares):
        stroke = STROKES[number % len(STROKES)]
        ax.plot([], [], stroke.marker, color=stroke.colour, ms=6, label=f"{share:.0%} of the values known")
    ax.plot([], [], "o", color=palette.GREY, mfc="white", ms=5, label="the same without what was released")
    ax.axvline(0.5, color=palette.GREY, lw=1.0, ls=":")
    ax.set_yticks(range(len(shown)), [_short(column["column"]) for column in shown])
    ax.set_ylim(-0.7, max(len(shown), 1) - 0.3)
    ax.set_xlim(0.42, 1.02)
    ax.set_xlabel("AUC of the guess (0.5: blind, 1: certain)")
    ax.set_title(_escaped(title), loc="left", fontsize="medium", fontweight="bold")
    ax.grid(visible=True, axis="x", color="0.92", lw=0.8)
    ax.set_axisbelow(True)
    ax.spines[["top", "right"]].set_visible(False)
    figure.legend(loc="outside lower center", ncols=2, fontsize="small", frameon=False)
    figure.savefig(path, dpi=150)


def _draw_guess(ax: Any, height: float, found: Mapping[str, Any], stroke: palette.Stroke) -> None:
    ax.plot([found["without"], found["auc"]], [height, height], color=stroke.colour, lw=1.0, alpha=0.6)
    ax.plot(found["without"], height, "o", color=stroke.colour, mfc="white", ms=4)
    ax.errorbar(
        found["auc"], height, xerr=found["auc_error"], fmt=stroke.marker, color=stroke.colour, ms=5, elinewidth=1.0
    )


def _best(column: Mapping[str, Any]) -> float:
    return max(float(found["auc"]) for found in column["inferred"])


def _short(name: str) -> str:
    """Return a name that fits beside the axis, without anything that matplotlib would read as a formula."""
    return _escaped(name if len(name) <= 32 else f"{name[:31]}…")


def _escaped(text: str) -> str:
    return text.replace("$", r"\$")
