"""SharesDisplay: who helped, and how much."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Self

from numpy.typing import NDArray

from assistlearn.display import palette
from assistlearn.display.axes import panels_on
from assistlearn.estimators import AssistedClassifier
from assistlearn.evaluation.shares import HALF_INTERVAL, Estimate, GainShares

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

MOST_LETTERS = 24
"""The largest number of letters of a helper's name beside the axis."""


class SharesDisplay:
    """Two panels about who helped: each helper's share of the lower log loss, and of the higher accuracy.

    A filled mark is a share, with its 95 % interval. A hollow mark is what is lost if only this helper is dropped. Make
    one with :meth:`from_estimator`.

    Parameters
    ----------
    shares : GainShares
        What is drawn, as :meth:`AssistedClassifier.shares <assistlearn.AssistedClassifier.shares>` returns it.

    Attributes
    ----------
    shares : GainShares
        The data above.
    figure_ : matplotlib Figure
        The figure that holds the panels, once they are drawn.
    axes_ : ndarray of 2 matplotlib Axes
        Log loss, accuracy.

    Examples
    --------
    >>> from matplotlib.figure import Figure
    >>> from sklearn.datasets import load_wine
    >>> from sklearn.model_selection import train_test_split
    >>> from sklearn.tree import DecisionTreeClassifier
    >>> from assistlearn import AssistedClassifier, SharesDisplay
    >>> X, y = load_wine(return_X_y=True)
    >>> X_train, X_test, y_train, y_test = train_test_split(X, y, random_state=0)
    >>> stump = DecisionTreeClassifier(max_depth=1)
    >>> agents = [("shop", stump, [0, 1]), ("lab", stump, slice(2, 7)), ("cellar", stump, slice(7, 13))]
    >>> clf = AssistedClassifier(agents, order="random", n_rounds=4, random_state=0).fit(X_train, y_train)
    >>> display = SharesDisplay.from_estimator(clf, X_test, y_test, ax=Figure().subplots(1, 2))
    >>> [share.helper for share in display.shares.helpers], display.axes_.shape
    (['lab', 'cellar'], (2,))
    """

    figure_: Figure
    axes_: NDArray[Any]

    def __init__(self, *, shares: GainShares) -> None:
        self.shares = shares

    @classmethod
    def from_estimator(
        cls, clf: AssistedClassifier, X: Any, y: Any, *, sample_weight: Any = None, ax: Any = None
    ) -> Self:
        """Draw the shares of a fitted model's helpers on samples that it was not fitted to.

        Parameters
        ----------
        clf : AssistedClassifier
            Fitted.
        X : table of shape (n_samples, n_columns)
            All agents' columns.
        y : array-like of shape (n_samples,)
            The true labels.
        sample_weight : array-like of shape (n_samples,), default=None
            How much each sample counts.
        ax : Axes or sequence of two Axes, default=None
            Where to draw. One is divided; None makes a new figure.

        Returns
        -------
        display : SharesDisplay
            Drawn.
        """
        return cls(shares=clf.shares(X, y, sample_weight)).plot(ax=ax)

    def plot(self, ax: Any = None) -> Self:
        """Draw both panels.

        Parameters
        ----------
        ax : Axes or sequence of two Axes, default=None
            Where to draw. One is divided; None makes a new figure.

        Returns
        -------
        self : SharesDisplay
            With ``figure_`` and ``axes_``.
        """
        found = self.shares.helpers
        self.axes_ = panels_on(ax, 2, (10.0, 1.9 + 0.4 * max(len(found), 1)))
        self.figure_ = self.axes_[0].figure
        names = [share.helper for share in found]
        losses = [(share.loss, share.loss_if_dropped) for share in found]
        rights = [(share.accuracy, share.accuracy_if_dropped) for share in found]
        _draw(self.axes_[0], names, losses, f"Lower log loss: {_words(self.shares.loss, 3)}")
        _draw(self.axes_[1], names, rights, f"Higher accuracy: {_words(self.shares.accuracy, 3)}")
        self.axes_[0].set_xlabel("share of the lower log loss")
        self.axes_[1].set_xlabel("share of the higher accuracy")
        self.axes_[1].set_yticklabels([])
        self.axes_[1].legend(fontsize="small", frameon=False, loc="upper center", bbox_to_anchor=(0.5, -0.25), ncols=2)
        return self


def _draw(ax: Axes, names: Sequence[str], pairs: Sequence[tuple[Estimate, Estimate]], title: str) -> None:
    """Draw a row for each helper, the first at the top."""
    places = range(len(names))
    ax.axvline(0.0, color=palette.GREY, lw=1.0, ls=":")
    ax.errorbar(
        [share.value for share, _ in pairs],
        places,
        xerr=[HALF_INTERVAL * share.error for share, _ in pairs],
        fmt="o",
        color=palette.BLUE,
        ms=7,
        elinewidth=1.8,
        capsize=3,
        label="share, with its 95 % interval",
    )
    ax.plot(
        [dropped.value for _, dropped in pairs],
        places,
        "D",
        color=palette.VERMILION,
        mfc="white",
        ms=6,
        ls="",
        label="lost if it alone is dropped",
    )
    ax.set_yticks(places, [_short(name) for name in names])
    ax.set_ylim(max(len(names), 1) - 0.5, -0.5)
    ax.set_title(title, loc="left", fontsize="medium", fontweight="bold")
    ax.grid(visible=True, axis="x", color="0.92", lw=0.8)
    ax.set_axisbelow(True)
    ax.spines[["top", "right"]].set_visible(False)


def _words(gain: Estimate, digits: int) -> str:
    return f"{gain.value:.{digits}f} ± {HALF_INTERVAL * gain.error:.{digits}f} in all"


def _short(name: str) -> str:
    """Return a name that fits beside the axis, without anything that matplotlib would read as a formula."""
    shown = name if len(name) <= MOST_LETTERS else f"{name[: MOST_LETTERS - 1]}…"
    return shown.replace("$", r"\$")
