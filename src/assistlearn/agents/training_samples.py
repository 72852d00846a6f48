"""The samples of a task, as one agent has them: its rows, and which of all samples these are."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from assistlearn.core.ignorance import Bools, Floats
from assistlearn.core.votes import Codes


@dataclass(frozen=True)
class TrainingSamples:
    """What an agent is to learn from.

    Attributes
    ----------
    table : table
        The agent's rows of the training samples that it holds.
    codes : ndarray of shape (n_samples,)
        The class codes of all training samples.
    held : ndarray of bool, optional
        Which of the training samples the agent holds; all by default. It abstains on the others.
    holdout : table, optional
        The agent's rows of the hold-out samples that it holds.
    holdout_held : ndarray of bool, optional
        Which of the hold-out samples it holds; all by default.
    folds : ndarray of int of shape (n_samples,), optional
        The fold of each training sample, where several are about the same person. By default the agent deals its own
        folds.
    """

    table: Any
    codes: Codes
    held: Bools | None = None
    holdout: Any = None
    holdout_held: Bools | None = None
    folds: NDArray[np.intp] | None = None

    @cached_property
    def own_codes(self) -> Codes:
        """The class codes of the samples that the agent holds."""
        return self.codes if self.held is None else self.codes[self.held]

    @cached_property
    def own_folds(self) -> NDArray[np.intp] | None:
        """The folds of the samples that the agent holds."""
        return self.folds if self.folds is None or self.held is None else self.folds[self.held]

    @cached_property
    def can_be_told_apart(self) -> bool:
        """Whether the samples that the agent holds have at least two classes. Those of the whole task always have."""
        return self.held is None or len(np.unique(self.own_codes)) > 1

    def own(self, ignorance: Floats) -> Floats:
        """Return the ignorance of the samples that the agent holds, scaled so that it sums to one.

        If these samples have no ignorance at all, each gets the same.
        """
        if self.held is None:
            return ignorance
        own = ignorance[self.held]
        total = float(own.sum())
        return own / total if total > 0.0 else np.full(len(own), 1.0 / max(len(own), 1))
