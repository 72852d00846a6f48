"""The page of a fitted AssistedClassifier, whose agents are all in one process."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sklearn.utils.validation import check_is_fitted

from assistlearn.core import Contribution
from assistlearn.estimators.checks import check_agents, has_labels_alone
from assistlearn.evaluation.calibration import in_words
from assistlearn.events import Event, Recorded, RoundFinished, RunFinished, SamplesSettled, TurnFinished
from assistlearn.initiator.folder import versions
from assistlearn.plan import SETTINGS, Plan
from assistlearn.report.page import keep_page, run_page, without_class_names
from assistlearn.report.story import Story
from assistlearn.report.view import ONE_PROCESS, Subject, View, chosen

if TYPE_CHECKING:
    from assistlearn.estimators import AssistedClassifier


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

    Returns
    -------
    path : Path
        Where the page is.

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
    story.take_result(result, calibration)
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
        keeps_labels=plan.make_method().keeps_labels,
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
