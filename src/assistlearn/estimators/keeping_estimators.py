"""Save and load a fitted model without pickle's dangers: read, audit, only then construct (skops)."""

from __future__ import annotations

from collections.abc import Sequence
from os import PathLike
from typing import Any

from skops import io

from assistlearn.learners.models_on_disk import MODEL_TYPES, load_trusted

OWN_TYPES = (
    "assistlearn.agents.agent.Agent",
    "assistlearn.agents.agent.KeptModel",
    "assistlearn.combination.combination.Combination",
    "assistlearn.combination.linear.Linear",
    "assistlearn.combination.own_columns.OwnColumns",
    "assistlearn.combination.tree_combination.TreeCombination",
    "assistlearn.core.contribution.Contribution",
    "assistlearn.estimators.classifier.AssistedClassifier",
    "assistlearn.estimators.columns.AllColumns",
    "assistlearn.evaluation.difference.Difference",
    "assistlearn.evaluation.reliability.Reliability",
    "assistlearn.evaluation.report.Report",
    "assistlearn.evaluation.score_calibration.ScoreCalibration",
    "assistlearn.evaluation.shares.Estimate",
    "assistlearn.evaluation.shares.GainShare",
    "assistlearn.evaluation.shares.GainShares",
    "assistlearn.learners.hist.boost.HistBoostClassifier",
    "assistlearn.learners.hist.tree.HistTreeClassifier",
    "assistlearn.learners.honest.Honesty",
    "assistlearn.learners.learner.Learner",
    *MODEL_TYPES,
    "assistlearn.events.facts.StopReason",
)


def save(model: Any, path: str | PathLike[str]) -> None:
    """Write a model, fitted or not, to a file.

    Parameters
    ----------
    model : AssistedClassifier
        Columns given as a lambda cannot be saved; name a function of a module instead.
    path : path
        Where; an existing file is replaced.
    """
    io.dump(model, path)


def load(path: str | PathLike[str], *, trusted: Sequence[str] = ()) -> Any:
    """Read a model from a file that :func:`save` wrote.

    Nothing in the file is constructed before every type in it is known to be harmless: those that skops lists (most of
    numpy's and scikit-learn's), assistlearn's own, and those named in ``trusted``. Trees are looked into before they
    are returned, because a crafted one could crash the process when it predicts.

    Parameters
    ----------
    path : path
        The file.
    trusted : sequence of str, default=()
        Further types to trust, by their full names (``"mypackage.MyClassifier"``).

    Returns
    -------
    model : AssistedClassifier
        As it was saved.
    """
    return load_trusted(path, (*OWN_TYPES, *trusted))
