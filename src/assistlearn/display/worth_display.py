"""WorthDisplay: what assistance gains, with its limits, against the number of opened samples."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Self

import numpy as np

from assistlearn.display import palette
from assistlearn.estimators import AssistedClassifier, assistance_gain
from assistlearn.evaluation.gains import Gain, Worth
from assistlearn.evaluation.terms import LOSS_WORDS

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

SIZE = (7.0, 4.2)  # inches


class WorthDisplay:
    """The gain and its limits after every block of opened samples, with the gain that was asked for as a line.

    Make one from what :func:`~assistlearn.assistance_gain` has found, or with :meth:`from_estimator`.

    Parameters
    ----------
    worth : Worth
        What a pilot has found.

    Attributes
    ----------
    worth : Worth
        The data above.
    ax_ : matplotlib Axes
        The axes with the drawing.
    figure_ : matplotlib Figure
        The figure that holds the axes.

    Examples
    --------
    >>> from matplotlib.figure import Figure
    >>> from sklearn.datasets import load_breast_cancer
    >>> from sklearn.tree import DecisionTreeClassifier
    >>> from assistlearn import AssistedClassifier, WorthDisplay
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> tree = DecisionTreeClassifier(max_depth=3)
    >>> agents = [("clinic", tree, slice(0, 8)), ("lab", tree, slice(8, 20))]
    >>> clf = AssistedClassifier(agents, combine="sum", models_per_turn=1, n_rounds=2, random_state=0)
    >>> display = WorthDisplay.from_estimator(clf, X[:, 10:], y, loss="log", random_state=0, ax=Figure().subplots())
    >>> display.worth.answer, display.ax_.get_xlabel()
    ('yes', 'opened samples')
    """

    ax_: Axes
    figure_: Figure

    def __init__(self, worth: Worth) -> None:
        self.worth = worth

    @classmethod
    def from_estimator(cls, clf: AssistedClassifier, X: Any, y: Any, *, ax: Any = None, **asked: Any) -> Self:
        """Run the pilot, and draw its result.

        Parameters
        ----------
        clf : AssistedClassifier
            Never changed.
        X : table of shape (n_samples, n_columns)
            All agents' columns.
        y : array-like of shape (n_samples,)
            The labels.
        ax : Axes, default=None
            Where to draw; None makes a new figure.
        **asked
            Parameters of :func:`~assistlearn.assistance_gain`, such as ``at_least``, ``loss`` and ``random_state``.

        Returns
        -------
        display : WorthDisplay
            Drawn.
        """
        return cls(assistance_gain(clf, X, y, **asked)).plot(ax=ax)

    def plot(self, ax: Any = None) -> Self:
        """Draw the gain of all helpers together with its limits, and where each helper ended.

        Parameters
        ----------
        ax : Axes, default=None
            Where to draw; None makes a new figure.

        Returns
        -------
        self : WorthDisplay
            With ``ax_`` and ``figure_``.
        """
        if ax is None:
            import matplotlib.pyplot as plt

            ax = plt.subplots(figsize=SIZE, layout="constrained")[1]
        self.ax_, self.figure_ = ax, ax.figure
        worth = self.worth
        _draw_path(ax, worth.together, "all helpers together" if len(worth.helpers) > 1 else worth.together.helpers[0])
        if len(worth.helpers) > 1:
            for number, (name, gain) in enumerate(worth.helpers.items(), start=1):
                _draw_end(ax, name, gain, worth, number)
        ax.axhline(worth.terms.at_least, color=palette.VERMILION, ls="--", lw=1.6, label="gain asked for")
        if worth.terms.at_least:
            ax.axhline(0.0, color=palette.GREY, lw=0.8)
        ax.set_xlabel("opened samples")
        ax.set_ylabel(f"gain: {LOSS_WORDS[worth.terms.loss]} alone minus with help")
        ax.set_title(_title(worth), loc="left", fontsize="medium", fontweight="bold")
        ax.grid(visible=True, color="0.92", lw=0.8)
        ax.set_axisbelow(True)
        ax.spines[["top", "right"]].set_visible(False)
        ax.legend(fontsize="small", frameon=False)
        return self


def _draw_path(ax: Axes, gain: Gain, name: str) -> None:
    n, estimate, lower, upper = np.array(gain.path).reshape(-1, 4).T
    ax.fill_between(
        n,
        lower,
        upper,
        color=palette.BLUE,
        alpha=0.15,
        lw=0,
        label=f"limits: {1 - gain.alpha:.1%} confidence at all times",
    )
    for limit in (lower, upper):
        ax.plot(n, limit, color=palette.BLUE, lw=0.9)
    label = f"{_escaped(name)}, {gain.estimate:+.3f}"
    ax.plot(n, estimate, color=palette.BLUE, marker="o", ms=4, lw=2.0, label=label)


def _draw_end(ax: Axes, name: str, gain: Gain, worth: Worth, number: int) -> None:
    """Draw a helper's gain with its limits beside the path, at the right."""
    stroke = palette.AGENTS[(number - 1) % len(palette.AGENTS)]
    place = worth.n_opened * (1 + 0.04 * number)
    reach = [[gain.estimate - gain.lower], [gain.upper - gain.estimate]]
    label = f"{_escaped(name)} by itself, {gain.estimate:+.3f}: {gain.answer}"
    ax.errorbar([place], [gain.estimate], np.clip(reach, 0, None), fmt=stroke.marker, color=stroke.colour, label=label)


def _title(worth: Worth) -> str:
    return f"Is help worth it? {worth.answer.capitalize()}, after {worth.n_opened:,} opened samples"


def _escaped(text: str) -> str:
    return text.replace("$", r"\$")
