"""Plots of a fitted model."""


class AssistanceDisplay: ...
