"""The state that a method starts from, the same wherever the run takes place."""

from __future__ import annotations

from assistlearn.core.ignorance import Floats
from assistlearn.core.run_state import RunState
from assistlearn.core.soft_state import SoftState
from assistlearn.core.state import State


def start_state(
    method: str,
    n_samples: int,
    n_classes: int,
    sample_weight: Floats | None = None,
    *,
    loss: str = "logistic",
    shrinkage: float = 0.5,
    score_bits: int = 8,
) -> RunState:
    """Return the state before the first turn.

    Parameters
    ----------
    method : {"ascii", "simple", "ensemble", "soft"}
        The method. In "ensemble" every agent has a state of its own.
    n_samples, n_classes : int
        The sizes of the run.
    sample_weight : ndarray of shape (n_samples,), optional
        The initial weights; uniform by default.
    loss, shrinkage, score_bits
        For the soft method (see :class:`~assistlearn.core.soft_state.SoftState`).

    Examples
    --------
    >>> type(start_state("soft", 3, 2)).__name__, type(start_state("ascii", 3, 2)).__name__
    ('SoftState', 'State')
    """
    if method == "soft":
        return SoftState.start(n_samples, n_classes, sample_weight, loss, shrinkage, score_bits)
    return State.start(n_samples, n_classes, sample_weight, interchange=method == "ascii")
