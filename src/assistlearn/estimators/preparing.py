"""Prepare an agent's columns for a learner that cannot use them unchanged, as the command line does."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from assistlearn.agent_files.preparation import PreprocessingSettings
from assistlearn.errors import ColumnsError, SettingsError
from assistlearn.estimators.columns import rows_held
from assistlearn.learners.weighting import take_rows
from assistlearn.tables.as_they_are import has_gaps, takes_kinds
from assistlearn.tables.frame_reader import FrameReader
from assistlearn.tables.preprocessing import (
    default_pipeline,
    has_own_steps,
    learner_rows,
    takes_codes_only,
    takes_missing,
)

PREPROCESS = ("auto", "always", "never")
"""When to prepare an agent's columns: if its learner cannot use them unchanged, always, or never. Columns are not
prepared for a pipeline with steps of its own."""


@dataclass(frozen=True)
class Prepared:
    """An agent's learner with its preprocessing, and the reader of the agent's columns.

    Attributes
    ----------
    agent : str
        The agent's name.
    estimator : Pipeline or classifier
        The preprocessing and the learner; the learner alone if reading the columns is enough.
    reader : FrameReader
        Reads the columns by their kinds, which were found in all rows given to ``fit``.
    """

    agent: str
    estimator: Any
    reader: FrameReader

    def rows(self, own: Any) -> Any:
        """Return the agent's columns in the form that its estimator needs."""
        return learner_rows(self.estimator, self.reader.read(own, f"Agent {self.agent!r}"))


def prepared(agent: str, learner: Any, own: Any, preprocess: str, abstains: bool) -> Prepared | None:
    """Return how an agent's columns are prepared for its learner; None if they are used unchanged.

    Parameters
    ----------
    agent : str
        Its name.
    learner : scikit-learn classifier
        Its learner.
    own : data frame, ndarray or sparse matrix
        Its columns.
    preprocess : {"auto", "always", "never"}
        When columns are prepared.
    abstains : bool
        Whether the agent abstains on rows without any value, so that the gaps in these rows do not count.
    """
    if not _is_needed(learner, own, preprocess, abstains):
        return None
    if takes_codes_only(learner):
        name = type(learner).__name__
        raise ColumnsError(
            f"Agent {agent!r}: {name} takes category codes only, which the default preprocessing does not make. Put "
            f"your own encoder before it: make_pipeline(OrdinalEncoder(), {name}())."
        )
    settings = PreprocessingSettings()
    reader = FrameReader.found_in(own, settings, f"Agent {agent!r}")
    return Prepared(agent, default_pipeline(reader.schema, learner, settings), reader)


def check_preprocess(preprocess: Any) -> None:
    """Refuse an unknown value of the parameter ``preprocess``."""
    if preprocess not in PREPROCESS:
        raise SettingsError(f"preprocess={preprocess!r} must be one of {', '.join(map(repr, PREPROCESS))}.")


def may_be_prepared(learner: Any, preprocess: Any) -> bool:
    """Return whether columns that the learner cannot use would be prepared for it."""
    return preprocess != "never" and not has_own_steps(learner)


def _is_needed(learner: Any, own: Any, preprocess: str, abstains: bool) -> bool:
    if not may_be_prepared(learner, preprocess) or not (hasattr(own, "columns") or isinstance(own, np.ndarray)):
        return False
    if preprocess == "always" or not takes_kinds(learner, own):
        return True
    if takes_missing(learner):
        return False
    held: NDArray[np.bool_] | None = rows_held(own) if abstains else None
    return has_gaps(own if held is None else take_rows(own, np.flatnonzero(held)))
