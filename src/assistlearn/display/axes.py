"""Where the panels go: a new figure, one axes divided in three, or three that the caller has."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from assistlearn.errors import SettingsError

N_PANELS = 3
SIZE = (12.5, 3.8)  # inches: three panels side by side, legible across a page


def three_axes(ax: Any) -> NDArray[Any]:
    """Return three axes to draw on.

    Parameters
    ----------
    ax : Axes, sequence of three Axes, or None
        One is divided in three, from left to right; None makes a new figure.

    Examples
    --------
    >>> from matplotlib.figure import Figure
    >>> three_axes(Figure().subplots()).shape
    (3,)
    >>> three_axes(Figure().subplots(1, 2))
    Traceback (most recent call last):
        ...
    assistlearn.errors.SettingsError: ax holds 2 axes, but there are 3 panels. Pass 3 axes, one to be divided, or None.
    """
    if ax is None:
        import matplotlib.pyplot as plt

        return np.asarray(plt.subplots(1, N_PANELS, figsize=SIZE, layout="constrained")[1])
    axes = np.asarray(ax, dtype=object).ravel()
    if len(axes) == 1:
        return _divided(axes[0])
    if len(axes) != N_PANELS:
        raise SettingsError(
            f"ax holds {len(axes)} axes, but there are {N_PANELS} panels. "
            f"Pass {N_PANELS} axes, one to be divided, or None."
        )
    return axes


def _divided(ax: Any) -> NDArray[Any]:
    """Return three axes in the place of one, which stays as an empty frame."""
    ax.set_axis_off()
    grid = ax.get_subplotspec().subgridspec(1, N_PANELS, wspace=0.3)
    return np.array([ax.figure.add_subplot(grid[i]) for i in range(N_PANELS)], dtype=object)
