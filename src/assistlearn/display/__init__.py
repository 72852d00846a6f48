"""Plots of a fitted model. matplotlib is imported when something is drawn, not before."""

from assistlearn.display.assistance import AssistanceDisplay
from assistlearn.display.share_display import SharesDisplay

__all__ = ["AssistanceDisplay", "SharesDisplay"]
