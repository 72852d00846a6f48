"""Plots of a fitted model and of a pilot. matplotlib is imported when something is drawn, not before."""

from assistlearn.display.assistance import AssistanceDisplay
from assistlearn.display.share_display import SharesDisplay
from assistlearn.display.worth_display import WorthDisplay

__all__ = ["AssistanceDisplay", "SharesDisplay", "WorthDisplay"]
