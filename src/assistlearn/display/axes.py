"""Provide axes for the panels: those of a new figure, one that is divided, or the caller's own, one for each panel."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from assistlearn.errors import SettingsError


def panels_on(ax: Any, n_panels: int, size: tuple[float, float]) -> NDArray[Any]:
    """Return axes to draw panels on, from left to right.

    Parameters
    ----------
    ax : Axes, sequence of Axes, or None
        One is divided; None makes a new figure.
    n_panels : int
        How many panels there are.
    size : tuple of float
        The size of a new figure, in inches.

    Examples
    --------
    >>> from matplotlib.figure import Figure
    >>> panels_on(Figure().subplots(), 3, (9, 3)).shape
    (3,)
    >>> panels_on(Figure().subplots(1, 2), 3, (9, 3))
    Traceback (most recent call last):
        ...
    assistlearn.errors.SettingsError: ax holds 2 axes, but there are 3 panels. Pass 3 axes, one to be divided, or None.
    """
    if ax is None:
        import matplotlib.pyplot as plt

        return np.asarray(plt.subplots(1, n_panels, figsize=size, layout="constrained")[1])
    axes = np.asarray(ax, dtype=object).ravel()
    if len(axes) == 1:
        return _divided(axes[0], n_panels)
    if len(axes) != n_panels:
        raise SettingsError(
            f"ax holds {len(axes)} axes, but there are {n_panels} panels. "
            f"Pass {n_panels} axes, one to be divided, or None."
        )
    return axes


def _divided(ax: Any, n_panels: int) -> NDArray[Any]:
    """Return several axes in the place of a single one, which becomes invisible."""
    ax.set_axis_off()
    grid = ax.get_subplotspec().subgridspec(1, n_panels, wspace=0.3)
    return np.array([ax.figure.add_subplot(grid[i]) for i in range(n_panels)], dtype=object)
