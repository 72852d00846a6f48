"""What a fitted estimator shows: displays in scikit-learn's manner, and the page of a run; and a drawn attack."""

from __future__ import annotations

import io
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone
from sklearn.utils.validation import check_is_fitted

from assistlearn.core import Contribution
from assistlearn.errors import SettingsError
from assistlearn.estimators import AssistedClassifier, assistance_gain
from assistlearn.estimators.checks import check_agents, has_labels_alone
from assistlearn.evaluation.calibration import in_words
from assistlearn.evaluation.pilots import Gain, Worth
from assistlearn.evaluation.shares import HALF_INTERVAL, Estimate, GainShares
from assistlearn.evaluation.words import LOSS_WORDS
from assistlearn.events import Event, Recorded, RoundFinished, RunFinished, SamplesSettled, TurnFinished
from assistlearn.initiator.folder import versions
from assistlearn.plan import SETTINGS, Plan
from assistlearn.report import pictures as p
from assistlearn.report.page import keep_page
from assistlearn.report.run import run_page, without_class_names
from assistlearn.report.story import ONE_PROCESS, Story, Subject, View, chosen
from assistlearn.storage import write_bytes
from assistlearn.types import Floats

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

SIZE = (12.5, 3.8)  # inches: three panels side by side, legible across a page
WORTH_SIZE = (7.0, 4.2)


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
        """
        assisted = clone(clf).fit(X_train, y_train)
        single = clf.alone(next(iter(assisted.agents_))).fit(X_train, y_train)
        oracle = clf.pooled().fit(X_train, y_train)
        return cls.from_estimator(assisted, X_test, y_test, single=single, oracle=oracle, ax=ax)

    def plot(self, ax: Any = None) -> Self:
        """Draw the three panels on ``ax``, as :meth:`from_estimator` does."""
        self.axes_ = panels_on(ax, 3, SIZE)
        self.figure_ = self.axes_[0].figure
        draw_accuracies(self.axes_[0], self.accuracies)
        _draw_model_weights(self.axes_[1], self.model_weights)
        _draw_ignorance(self.axes_[2], self.ignorance)
        return self


def draw_accuracies(ax: Axes, accuracies: Mapping[str, Floats]) -> None:
    """Draw the accuracy of each model against the rounds; dotted where its training had ended."""
    last = max(len(curve) for curve in accuracies.values())
    for name, curve in accuracies.items():
        stroke = p.MODELS.get(name, p.Stroke(p.GREY))
        rounds = np.arange(1, len(curve) + 1)
        style: dict[str, Any] = {"color": stroke.colour, "lw": stroke.width}
        marks: dict[str, Any] = {"marker": stroke.marker, "ms": 4, "markevery": p.every(len(curve))}
        ax.plot(rounds, curve, ls=stroke.dash, label=f"{name}, {curve[-1]:.3f}", **marks, **style)
        if len(curve) < last:
            ax.plot([len(curve), last], [curve[-1], curve[-1]], ls=":", **style)
    _plain(ax, "Accuracy on test samples")
    ax.set_ylabel("accuracy")
    p.by_round(ax, last)
    ax.legend(fontsize="small")


def _draw_model_weights(ax: Axes, model_weights: Mapping[str, Floats]) -> None:
    """Draw the agents' model weights against the rounds: a curve for each agent, or a colour map if there are many."""
    _plain(ax, "Model weight of each agent")
    last = max((len(weights) for weights in model_weights.values()), default=0)
    if last == 0:
        ax.text(0.5, 0.5, "no model was kept", transform=ax.transAxes, ha="center", color=p.GREY)
    elif len(model_weights) > len(p.AGENTS):
        _draw_weight_map(ax, model_weights)
    else:
        p.draw_weights(ax, range(1, last + 1), model_weights)
        out = [number for weights in model_weights.values() for number in np.flatnonzero(np.isnan(weights)) + 1]
        if out:
            ax.plot(out, np.zeros(len(out)), "x", color=p.GREY, ms=6, clip_on=False, label="sat out")
        ax.legend(fontsize="small")
    p.by_round(ax, last)


def _draw_weight_map(ax: Axes, model_weights: Mapping[str, Floats]) -> None:
    table = np.ma.masked_invalid(np.stack(list(model_weights.values())))
    mesh = ax.pcolormesh(
        np.arange(1, table.shape[1] + 1), np.arange(len(table)), table, cmap="cividis", vmin=0.0, shading="nearest"
    )
    ax.figure.colorbar(mesh, ax=ax, label="model weight (blank: sat out)")
    step = -(-len(table) // 20)  # at most twenty names are legible
    ax.set_yticks(np.arange(len(table))[::step], list(model_weights)[::step], fontsize="x-small")
    ax.invert_yaxis()


HARDEST = 0.1  # the share of the samples that the third panel marks


def _draw_ignorance(ax: Axes, ignorance: Floats) -> None:
    """Draw how much of the ignorance the hardest samples hold, against an even spread.

    Samples without any ignorance (held out, or of no weight) do not count.
    """
    from matplotlib.ticker import PercentFormatter

    samples, held = concentration(ignorance)
    ax.plot([0, 1], [0, 1], ls="--", color=p.GREY, lw=1.4, label="an even spread")
    ax.plot(samples, held, color=p.BLUE, lw=2.4, label="after the last round")
    ax.fill_between(samples, samples, held, color=p.BLUE, alpha=0.12, lw=0)
    share = float(np.interp(HARDEST, samples, held))
    ax.plot([HARDEST], [share], "o", color=p.BLUE, ms=7, label=f"hardest {HARDEST:.0%} hold {share:.0%}")
    _plain(ax, "Where help is still needed")
    ax.set_xlabel("training samples, hardest first")
    ax.set_ylabel("share of the ignorance")
    for axis in (ax.xaxis, ax.yaxis):
        axis.set_major_formatter(PercentFormatter(1.0))
    ax.set_xlim(0, 1)
    ax.set_ylim(0, 1.02)
    ax.legend(loc="lower right", fontsize="small")


def concentration(ignorance: Floats) -> tuple[Floats, Floats]:
    """Return the share of the samples, hardest first, and the share of the ignorance that they hold.

    >>> samples, held = concentration(np.array([0.2, 0.7, 0.1, 0.0]))
    >>> samples.round(2), held.round(2)
    (array([0.  , 0.33, 0.67, 1.  ]), array([0. , 0.7, 0.9, 1. ]))
    """
    hardest_first = np.sort(ignorance[ignorance > 0.0])[::-1]
    held = np.concatenate([[0.0], np.cumsum(hardest_first)])
    return np.linspace(0.0, 1.0, len(held)), held / held[-1]


def _accuracies(model: Any, X: Any, y: Any) -> Floats:
    staged = list(model.staged_score(X, y)) if hasattr(model, "staged_score") else []
    return np.asarray(staged or [model.score(X, y)], dtype=np.float64)


def _model_weights(clf: AssistedClassifier) -> dict[str, Floats]:
    """Return every agent's model weight per round. If an agent has several turns in a round, weights are added."""
    weights = {name: np.full(clf.n_rounds_, np.nan) for name in clf.agents_}
    for made in clf.contributions_:
        of_round = weights[made.agent][made.round - 1 : made.round]
        of_round[:] = np.nan_to_num(of_round) + made.model_weight
    return weights


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
        """
        return cls(shares=clf.shares(X, y, sample_weight)).plot(ax=ax)

    def plot(self, ax: Any = None) -> Self:
        """Draw both panels on ``ax``, as :meth:`from_estimator` does."""
        found = self.shares.helpers
        self.axes_ = panels_on(ax, 2, (10.0, 1.9 + 0.4 * max(len(found), 1)))
        self.figure_ = self.axes_[0].figure
        names = [share.helper for share in found]
        losses = [(share.loss, share.loss_if_dropped) for share in found]
        rights = [(share.accuracy, share.accuracy_if_dropped) for share in found]
        _draw_helpers(self.axes_[0], names, losses, "lower log loss", self.shares.loss)
        _draw_helpers(self.axes_[1], names, rights, "higher accuracy", self.shares.accuracy)
        self.axes_[1].set_yticklabels([])
        self.axes_[1].legend(fontsize="small", frameon=False, loc="upper center", bbox_to_anchor=(0.5, -0.25), ncols=2)
        return self


def _draw_helpers(
    ax: Axes, names: Sequence[str], pairs: Sequence[tuple[Estimate, Estimate]], what: str, whole: Estimate
) -> None:
    _plain(ax, f"{what.capitalize()}: {whole.value:.3f} ± {HALF_INTERVAL * whole.error:.3f} in all")
    reach = [HALF_INTERVAL * share.error for share, _ in pairs]
    p.draw_shares(ax, names, [share.value for share, _ in pairs], reach, "share, with its 95 % interval")
    look: dict[str, Any] = {"color": p.VERMILION, "mfc": "white", "ms": 6, "ls": ""}
    lost = [dropped.value for _, dropped in pairs]
    ax.plot(lost, range(len(names)), "D", label="lost if it alone is dropped", **look)
    ax.set_xlabel(f"share of the {what}")


class WorthDisplay:
    """The gain and its limits after every block of opened samples, with the gain that was asked for as a line.

    Make one from what :func:`~assistlearn.assistance_gain` has found, or with :meth:`from_estimator`.

    Parameters
    ----------
    worth : Worth
        What a pilot has found.

    Attributes
    ----------
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
        """
        return cls(assistance_gain(clf, X, y, **asked)).plot(ax=ax)

    def plot(self, ax: Any = None) -> Self:
        """Draw on ``ax`` the gain of all helpers together with its limits, and where each helper ended."""
        if ax is None:
            import matplotlib.pyplot as plt

            ax = plt.subplots(figsize=WORTH_SIZE, layout="constrained")[1]
        self.ax_, self.figure_ = ax, ax.figure
        worth = self.worth
        together = worth.together
        name = "all helpers together" if len(worth.helpers) > 1 else together.helpers[0]
        limits = f"limits: {1 - together.alpha:.1%} confidence at all times"
        p.draw_gain(ax, together.path, f"{p.escaped(name)}, {together.estimate:+.3f}", limits)
        if len(worth.helpers) > 1:
            for number, (name, gain) in enumerate(worth.helpers.items(), start=1):
                _draw_end(ax, name, gain, worth, number)
        ax.axhline(worth.terms.at_least, color=p.VERMILION, ls="--", lw=1.6, label="gain asked for")
        if worth.terms.at_least:
            ax.axhline(0.0, color=p.GREY, lw=0.8)
        ax.set_xlabel("opened samples")
        ax.set_ylabel(f"gain: {LOSS_WORDS[worth.terms.loss]} alone minus with help")
        _plain(ax, f"Is help worth it? {worth.answer.capitalize()}, after {worth.n_opened:,} opened samples")
        ax.legend(fontsize="small", frameon=False)
        return self


def _draw_end(ax: Axes, name: str, gain: Gain, worth: Worth, number: int) -> None:
    """Draw a helper's gain with its limits beside the path, at the right."""
    stroke = p.of_agent(number - 1)
    place = worth.n_opened * (1 + 0.04 * number)
    reach = [[gain.estimate - gain.lower], [gain.upper - gain.estimate]]
    label = f"{p.escaped(name)} by itself, {gain.estimate:+.3f}: {gain.answer}"
    ax.errorbar([place], [gain.estimate], np.clip(reach, 0, None), fmt=stroke.marker, color=stroke.colour, label=label)


# -- attacks on what was released

MOST_COLUMNS = 40
"""The largest number of columns that are drawn: those that are guessed best."""


def draw_attack(columns: Sequence[Mapping[str, Any]], title: str, path: Path) -> None:
    """Draw a row for each column into a file: a hollow mark for the guess without what was released, a filled one with.

    Each has ``column`` and ``inferred``, a list of mappings with ``share``, ``auc``, ``auc_error`` and ``without``.
    """
    from matplotlib.figure import Figure

    shown = sorted((column for column in columns if column["inferred"]), key=_best)[-MOST_COLUMNS:]
    shares = sorted({found["share"] for column in shown for found in column["inferred"]})
    figure = Figure(figsize=(8.0, 1.6 + 0.34 * max(len(shown), 1)), layout="constrained")
    ax = figure.subplots()
    for place, column in enumerate(shown):
        for found in column["inferred"]:
            number = shares.index(found["share"])
            _draw_guess(ax, place + 0.22 * (number - (len(shares) - 1) / 2), found, p.of_agent(number))
    for number, share in enumerate(shares):
        stroke = p.of_agent(number)
        ax.plot([], [], stroke.marker, color=stroke.colour, ms=6, label=f"{share:.0%} of the values known")
    ax.plot([], [], "o", color=p.GREY, mfc="white", ms=5, label="the same without what was released")
    ax.axvline(0.5, color=p.GREY, lw=1.0, ls=":")
    ax.set_yticks(range(len(shown)), [p.short(column["column"], 32) for column in shown])
    ax.set_ylim(-0.7, max(len(shown), 1) - 0.3)
    ax.set_xlim(0.42, 1.02)
    ax.set_xlabel("AUC of the guess (0.5: blind, 1: certain)")
    _plain(ax, p.escaped(title))
    ax.grid(visible=False, axis="y")
    figure.legend(loc="outside lower center", ncols=2, fontsize="small", frameon=False)
    picture = io.BytesIO()
    figure.savefig(picture, format=path.suffix.lstrip("."), dpi=150)
    write_bytes(path, picture.getvalue())


def _draw_guess(ax: Any, height: float, found: Mapping[str, Any], stroke: p.Stroke) -> None:
    ax.plot([found["without"], found["auc"]], [height, height], color=stroke.colour, lw=1.0, alpha=0.6)
    ax.plot(found["without"], height, "o", color=stroke.colour, mfc="white", ms=4)
    ax.errorbar(
        found["auc"], height, xerr=found["auc_error"], fmt=stroke.marker, color=stroke.colour, ms=5, elinewidth=1.0
    )


def _best(column: Mapping[str, Any]) -> float:
    return max(float(found["auc"]) for found in column["inferred"])


# -- panels


def panels_on(ax: Any, n_panels: int, size: tuple[float, float]) -> NDArray[Any]:
    """Return axes for panels, from left to right: those that are passed, one that is divided, or those of a new figure.

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


def _plain(ax: Axes, title: str) -> None:
    ax.set_title(title, loc="left", fontsize="medium", fontweight="bold")
    ax.grid(visible=True, color="0.92", lw=0.8)
    ax.set_axisbelow(True)
    ax.spines[["top", "right"]].set_visible(False)


# The page of a fitted AssistedClassifier, whose agents are all in one process.


def save_report(
    model: AssistedClassifier, path: str | PathLike[str], *, class_names: bool = True, force: bool = False
) -> Path:
    """Write a page about a fitted model: first whether help was worth it, then all figures.

    The page loads nothing from the internet, and holds no values and no names of columns. Fit with ``holdout``: only
    then is there an answer.

    Parameters
    ----------
    model : AssistedClassifier
        Fitted.
    path : path
        The file to write. An older page is replaced.
    class_names : bool, default=True
        Whether to show classes by name, or by number.
    force : bool, default=False
        Whether to replace also a file that is not such a page.

    Examples
    --------
    >>> import tempfile
    >>> from sklearn.datasets import load_breast_cancer
    >>> from sklearn.tree import DecisionTreeClassifier
    >>> from assistlearn import AssistedClassifier, save_report
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> tree = DecisionTreeClassifier(max_depth=2)
    >>> agents = [("clinic", tree, slice(0, 5)), ("lab", tree, slice(5, 30))]
    >>> clf = AssistedClassifier(agents, n_rounds=2, method="ascii", holdout=0.3, random_state=0).fit(X, y)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     save_report(clf, f"{folder}/report.html").name
    'report.html'
    """
    view = view_of_estimator(model)
    place = Path(path)
    keep_page(place, run_page(view if class_names else without_class_names(view)), force=force)
    return place


def view_of_estimator(model: AssistedClassifier) -> View:
    check_is_fitted(model)
    plan = Plan(**{name: getattr(model, name) for name, known in SETTINGS.items() if known.estimator})
    story = Story(_subject(model, plan))
    for event in _events(model):
        story.feed(Recorded(None, event))
    learned = model.combination_
    combination = None if learned is None else {"kind": learned.kind, "loss": learned.loss, "error": learned.error}
    result = {
        "stop_reason": model.stop_reason_.name,
        "n_rounds": model.n_rounds_,
        "contributions": [asdict(made) for made in model.contributions_],
        "evaluation": None if model.report_ is None else asdict(model.report_),
        "combination": combination,
        "versions": versions(),
    }
    calibration = in_words(model.calibration_, wanted=plan.calibrates, learned=learned is not None)
    story.take(result, calibration)
    return story.view("finished")


def _subject(model: AssistedClassifier, plan: Plan) -> Subject:
    values: dict[str, Any] = {name: getattr(plan, name) for name, known in SETTINGS.items() if known.estimator}
    left_out = () if model.report_ is None else model.report_.left_out
    names = tuple(name for name, *_ in check_agents(model.agents) if name in model.agents_ or name in left_out)
    return Subject(
        run="",
        initiator=names[0],
        agents=names,
        classes=tuple(map(str, model.classes_)),
        reach=ONE_PROCESS,
        settings=chosen(plan, values),
        n_rounds=plan.most_rounds,
        metric=plan.metric,
        label_only=has_labels_alone(model.agents),
    )


def _events(model: AssistedClassifier) -> Iterator[Event]:
    """Yield the events of the training, as far as the model remembers them."""
    n_holdout = 0 if model.report_ is None else model.report_.n_samples
    yield SamplesSettled(len(model.ignorance_) - n_holdout, n_holdout)
    yield from sorted([*map(_turn_of, model.contributions_), *model.sat_out_], key=lambda each: each.turn)
    scores, metrics, losses = model.holdout_scores_, model.holdout_metrics_, model.round_losses_
    for round in range(1, max(len(scores), len(losses), model.n_rounds_) + 1):
        at = round - 1
        yield RoundFinished(
            round,
            scores[at] if at < len(scores) else None,
            losses[at] if at < len(losses) else None,
            metric=metrics[at] if at < len(metrics) else None,
        )
    yield RunFinished(model.stop_reason_, model.n_rounds_)


def _turn_of(made: Contribution) -> TurnFinished:
    return TurnFinished(made.turn, made.round, made.agent, made.model_weight, made.mean_reward, made)
