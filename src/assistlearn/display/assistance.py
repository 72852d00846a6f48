"""AssistanceDisplay: what assistance brought, who brought it, and where help is still needed."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone
from sklearn.utils.validation import check_is_fitted

from assistlearn.core.ignorance import Floats
from assistlearn.display.axes import panels_on
from assistlearn.display.panels import draw_accuracies, draw_ignorance, draw_model_weights
from assistlearn.estimators import AssistedClassifier

if TYPE_CHECKING:
    from matplotlib.figure import Figure

N_PANELS = 3
SIZE = (12.5, 3.8)  # inches: three panels side by side, legible across a page


class AssistanceDisplay:
    """Three panels about a fitted :class:`~assistlearn.AssistedClassifier`.

    The first panel shows the accuracy after each round, beside the two baselines. The second shows the model weight of
    every agent in each round. The third shows how much help the training samples still need after the last turn. Make
    one with :meth:`from_estimator` or :meth:`from_fit`.

    Parameters
    ----------
    accuracies : mapping of str to ndarray of shape (n_rounds,)
        The accuracy after each round, from round 1. Curves may differ in length: a model whose training ended earlier
        stays as it is.
    model_weights : mapping of str to ndarray of shape (n_rounds,)
        Each agent's model weight in each round; NaN if it kept no model.
    ignorance : ndarray of shape (n_samples,)
        How much help each training sample still needs.

    Attributes
    ----------
    accuracies, model_weights, ignorance
        The data above.
    figure_ : matplotlib Figure
        The figure that holds the panels, once they are drawn.
    axes_ : ndarray of 3 matplotlib Axes
        Accuracy, model weights, ignorance.

    Examples
    --------
    >>> from matplotlib.figure import Figure
    >>> from sklearn.datasets import load_wine
    >>> from sklearn.model_selection import train_test_split
    >>> from sklearn.tree import DecisionTreeClassifier
    >>> from assistlearn import AssistanceDisplay, AssistedClassifier
    >>> X, y = load_wine(return_X_y=True)
    >>> X_train, X_test, y_train, y_test = train_test_split(X, y, random_state=0)
    >>> stump = DecisionTreeClassifier(max_depth=1)
    >>> agents = [("a", stump, [0, 1, 2]), ("b", stump, slice(3, 13))]
    >>> clf = AssistedClassifier(agents, method="ascii", n_rounds=4, random_state=0)
    >>> display = AssistanceDisplay.from_fit(clf, X_train, y_train, X_test, y_test, ax=Figure().subplots(1, 3))
    >>> list(display.accuracies), display.model_weights["a"].shape, display.axes_.shape
    (['assisted', 'single', 'oracle'], (4,), (3,))
    """

    figure_: Figure
    axes_: NDArray[Any]

    def __init__(
        self, *, accuracies: Mapping[str, Floats], model_weights: Mapping[str, Floats], ignorance: Floats
    ) -> None:
        self.accuracies = accuracies
        self.model_weights = model_weights
        self.ignorance = ignorance

    @classmethod
    def from_estimator(
        cls,
        clf: AssistedClassifier,
        X_test: Any,
        y_test: Any,
        *,
        single: Any = None,
        oracle: Any = None,
        ax: Any = None,
    ) -> Self:
        """Draw a fitted model, beside fitted baselines.

        Parameters
        ----------
        clf : AssistedClassifier
            Fitted.
        X_test : table of shape (n_samples, n_columns)
            All agents' columns of samples that were not used for training.
        y_test : array-like of shape (n_samples,)
            Their labels.
        single, oracle : classifier, default=None
            Fitted baselines, such as ``clf.alone("clinic")`` and ``clf.pooled()``, or any other classifier. One without
            ``staged_score``, a random forest for example, is drawn as a horizontal line.
        ax : Axes or sequence of three Axes, default=None
            Where to draw. One is divided in three; None makes a new figure.

        Returns
        -------
        display : AssistanceDisplay
            Drawn.
        """
        check_is_fitted(clf)
        models = {"assisted": clf, "single": single, "oracle": oracle}
        return cls(
            accuracies={
                name: _accuracies(model, X_test, y_test) for name, model in models.items() if model is not None
            },
            model_weights=_model_weights(clf),
            ignorance=clf.ignorance_,
        ).plot(ax=ax)

    @classmethod
    def from_fit(
        cls, clf: AssistedClassifier, X_train: Any, y_train: Any, X_test: Any, y_test: Any, *, ax: Any = None
    ) -> Self:
        """Fit the assisted model and both baselines to the same samples, and draw them.

        Parameters
        ----------
        clf : AssistedClassifier
            Never changed: a clone of it is fitted, and the initiator alone (*single*) and all columns pooled
            (*oracle*) with the same settings.
        X_train, X_test : table of shape (n_samples, n_columns)
            All agents' columns.
        y_train, y_test : array-like of shape (n_samples,)
            The labels.
        ax : Axes or sequence of three Axes, default=None
            Where to draw. One is divided in three; None makes a new figure.

        Returns
        -------
        display : AssistanceDisplay
            Drawn.
        """
        assisted = clone(clf).fit(X_train, y_train)
        single = clf.alone(next(iter(assisted.agents_))).fit(X_train, y_train)
        oracle = clf.pooled().fit(X_train, y_train)
        return cls.from_estimator(assisted, X_test, y_test, single=single, oracle=oracle, ax=ax)

    def plot(self, ax: Any = None) -> Self:
        """Draw the three panels.

        Parameters
        ----------
        ax : Axes or sequence of three Axes, default=None
            Where to draw. One is divided in three; None makes a new figure.

        Returns
        -------
        self : AssistanceDisplay
            With ``figure_`` and ``axes_``.
        """
        self.axes_ = panels_on(ax, N_PANELS, SIZE)
        self.figure_ = self.axes_[0].figure
        draw_accuracies(self.axes_[0], self.accuracies)
        draw_model_weights(self.axes_[1], self.model_weights)
        draw_ignorance(self.axes_[2], self.ignorance)
        return self


def _accuracies(model: Any, X: Any, y: Any) -> Floats:
    """Return the accuracy after each round, or only the final accuracy if the model has no rounds."""
    staged = list(model.staged_score(X, y)) if hasattr(model, "staged_score") else []
    return np.asarray(staged or [model.score(X, y)], dtype=np.float64)


def _model_weights(clf: AssistedClassifier) -> dict[str, Floats]:
    """Return every agent's model weight per round. If an agent has several turns in a round, weights are added."""
    weights = {name: np.full(clf.n_rounds_, np.nan) for name in clf.agents_}
    for made in clf.contributions_:
        of_round = weights[made.agent][made.round - 1 : made.round]
        of_round[:] = np.nan_to_num(of_round) + made.model_weight
    return weights
