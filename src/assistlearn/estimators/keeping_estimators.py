"""Save and load a fitted model without pickle's dangers: read, audit, only then construct (skops)."""

from __future__ import annotations

from collections.abc import Sequence
from os import PathLike
from pathlib import Path
from typing import Any

from skops import io

from assistlearn.errors import UntrustedFileError
from assistlearn.learners.models_on_disk import MODEL_TYPES, load_trusted
from assistlearn.storage.whole_files import write_bytes

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
    "assistlearn.estimators.preparing.Prepared",
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
    "assistlearn.tables.frame_reader.FrameReader",
    "assistlearn.tables.table_preprocessor.TablePreprocessor",
    *MODEL_TYPES,
    "assistlearn.events.facts.StopReason",
)


def save(model: Any, path: str | PathLike[str]) -> None:
    """Write a model, fitted or not, to a file.

    Parameters
    ----------
    model : AssistedClassifier
        Everything in it must have a name that another process can import: no lambda, no function or class that was
        made inside a function.
    path : path
        Where; an existing file is replaced, once the new one is whole.

    Raises
    ------
    UntrustedFileError
        The model holds something that :func:`load` could never read. Nothing is written then.
    """
    for name, _, columns in getattr(model, "agents", None) or ():
        if _nameless(getattr(columns, "__qualname__", "")):
            raise UntrustedFileError(
                f"Agent {name!r}: its columns are given by {columns.__qualname__}, which no other process can find, so "
                "that the file could not be loaded. Give the columns by name, position or slice, or by a function of a "
                "module."
            )
    content: bytes = io.dumps(model)
    lost = [name for name in io.get_untrusted_types(data=content) if _nameless(name)]
    if lost:
        raise UntrustedFileError(
            f"The model holds {', '.join(lost)}, which no other process can find, so that the file could not be "
            "loaded. Use functions and classes of a module instead."
        )
    write_bytes(Path(path), content)


def _nameless(name: str) -> bool:
    """Whether a name is that of a lambda, or of something that was made inside a function."""
    return "<" in name


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

    Raises
    ------
    UntrustedFileError
        The file holds types that nobody said to trust, or it is damaged, or no such file at all.
    """
    return load_trusted(path, (*OWN_TYPES, *trusted))
