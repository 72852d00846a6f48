"""Plots of a fitted model. matplotlib is imported when something is drawn, not before."""

from assistlearn.display.assistance import AssistanceDisplay

__all__ = ["AssistanceDisplay"]
