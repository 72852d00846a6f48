"""Colours, dashes and markers that colour-blind readers can tell apart, also in print without colour.

The colours are those of Okabe and Ito (2008). Colour alone never distinguishes curves: every curve also has a dash or a
marker of its own.
"""

from __future__ import annotations

from dataclasses import dataclass

BLUE, VERMILION, BLACK = "#0072B2", "#D55E00", "#000000"
GREEN, PURPLE, ORANGE, SKY = "#009E73", "#CC79A7", "#E69F00", "#56B4E9"
SLATE = "#444444"
GREY = "#767676"  # the lightest grey that is still legible as text on white


@dataclass(frozen=True)
class Stroke:
    """How a curve is drawn."""

    colour: str
    dash: str = "-"
    marker: str = ""
    width: float = 1.8


MODELS = {
    "assisted": Stroke(BLUE, "-", "o", 2.4),
    "single": Stroke(VERMILION, "-.", "s"),
    "oracle": Stroke(BLACK, "--", "^"),
}
AGENTS = (  # nobody can tell more curves apart
    Stroke(GREEN, "-", "o", 1.6),
    Stroke(PURPLE, "-", "s", 1.6),
    Stroke(ORANGE, "-", "^", 1.6),
    Stroke(SKY, "-", "D", 1.6),
    Stroke(SLATE, "-", "v", 1.6),
)
