"""Save and load a fitted model without the dangers of pickle: skops checks a file before it builds."""

from __future__ import annotations

from collections.abc import Sequence
from os import PathLike
from pathlib import Path
from typing import Any

from skops import io

from assistlearn.errors import UntrustedFileError
from assistlearn.learners.model import MODEL_TYPES, load_trusted
from assistlearn.storage import write_bytes

OWN_TYPES = (
    "assistlearn.agent.agent.Agent",
    "assistlearn.agent.agent.KeptModel",
    "assistlearn.combination.combination.Combination",
    "assistlearn.combination.linear.Linear",
    "assistlearn.combination.combination.OwnColumns",
    "assistlearn.combination.trees.TreeCombination",
    "assistlearn.core.state.Contribution",
    "assistlearn.estimators.classifier.AssistedClassifier",
    "assistlearn.estimators.columns.AllColumns",
    "assistlearn.estimators.columns.Prepared",
    "assistlearn.evaluation.differences.Difference",
    "assistlearn.evaluation.calibration.Reliability",
    "assistlearn.evaluation.result.Report",
    "assistlearn.evaluation.calibration.ScoreCalibration",
    "assistlearn.evaluation.shares.Estimate",
    "assistlearn.evaluation.shares.GainShare",
    "assistlearn.evaluation.shares.GainShares",
    "assistlearn.learners.hist.HistBoostClassifier",
    "assistlearn.learners.hist.HistTreeClassifier",
    "assistlearn.learners.folds.Honesty",
    "assistlearn.learners.learner.Learner",
    "assistlearn.tables.columns.FrameReader",
    "assistlearn.tables.table_preprocessor.TablePreprocessor",
    *MODEL_TYPES,
    "assistlearn.events.StopReason",
    "assistlearn.events.TurnFinished",
    "builtins.range",
)


def save(model: Any, path: str | PathLike[str]) -> None:
    """Write a model, fitted or not, to a file.

    Parameters
    ----------
    model : AssistedClassifier
        Another process must be able to import everything in it: no lambda, and no function or class that was made
        inside a function.
    path : path
        The file. An existing file is replaced as soon as the new one is complete.

    Raises
    ------
    UntrustedFileError
        The model holds something that :func:`load` could not read. Nothing is written.
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
    return "<" in name


def load(path: str | PathLike[str], *, trusted: Sequence[str] = ()) -> Any:
    """Read a model from a file that :func:`save` wrote.

    Loading runs no code from the file. First every type in the file is checked. It must be one that skops trusts (most
    of numpy's and scikit-learn's), one of assistlearn's own, or one that you name in ``trusted``. Trees are also
    checked, because a manipulated tree could crash the process when it predicts.

    Parameters
    ----------
    path : path
        The file.
    trusted : sequence of str, default=()
        Full names of further types to trust, such as ``"mypackage.MyClassifier"``.

    Returns
    -------
    model : AssistedClassifier
        As it was saved.

    Raises
    ------
    UntrustedFileError
        The file holds types that are not trusted, is damaged, or is not a saved model.
    """
    return load_trusted(path, (*OWN_TYPES, *trusted))
