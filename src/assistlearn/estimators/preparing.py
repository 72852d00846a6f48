"""Agents whose learners cannot take their columns as they are: what is put before them, as on the command line."""

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
"""When an agent's columns are prepared: where its learner cannot take them as they are, wherever it has no steps of its
own, or nowhere."""


@dataclass(frozen=True)
class Prepared:
    """An agent's learner with what it needs in front of it, and how the agent's columns are read for it.

    Attributes
    ----------
    agent : str
        Whose it is.
    estimator : Pipeline or classifier
        The learner behind its preprocessing; the learner alone where reading is enough.
    reader : FrameReader
        What the columns are, found in all rows that were given to ``fit``.
    """

    agent: str
    estimator: Any
    reader: FrameReader

    def rows(self, own: Any) -> Any:
        """Return the agent's columns as its estimator takes them."""
        return learner_rows(self.estimator, self.reader.read(own, f"Agent {self.agent!r}"))


def prepared(agent: str, learner: Any, own: Any, preprocess: str, abstains: bool) -> Prepared | None:
    """Return how an agent's columns are prepared for its learner; None where it takes them as they are.

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
        Whether the agent abstains on rows of which it knows nothing, so that their gaps do not count.
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
    """Refuse a value of the parameter that it cannot have."""
    if preprocess not in PREPROCESS:
        raise SettingsError(f"preprocess={preprocess!r} must be one of {', '.join(map(repr, PREPROCESS))}.")


def may_be_prepared(learner: Any, preprocess: Any) -> bool:
    """Whether columns that the learner cannot take would be prepared for it."""
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
