"""The interface of a run's state that the session and the agents use, for hard and soft methods."""

from __future__ import annotations

from typing import Any, Protocol

from numpy.typing import NDArray

from assistlearn.core.ignorance import Bools, Floats
from assistlearn.core.state import Verdict


class RunState(Protocol):
    """The state of a run, in a hard or a soft method.

    Hard methods use :class:`~assistlearn.core.state.State`. A reward is an array that says where a model is right. Soft
    methods use :class:`~assistlearn.core.soft_state.SoftState` or, with more than two classes,
    :class:`~assistlearn.core.vector_state.VectorState`. A reward is a :class:`~assistlearn.core.quantise.SoftReward`.
    """

    n_classes: int

    def begin_round(self, number: int = 1) -> None:
        """Prepare the state for a new round."""
        ...

    def ignorance(self) -> Floats:
        """Return the ignorance of the samples, which sums to one (a new array)."""
        ...

    def judge(
        self, reward: Any, ignorance: Floats | None = None, held: Bools | None = None, overwrite: bool = False
    ) -> Verdict:
        """Return what a model with this reward is worth, without changing the state."""
        ...

    def beginning(self) -> RunState:
        """Return a copy of this state as it was before the first turn."""
        ...

    def part(self, rows: NDArray[Any]) -> RunState:
        """Return a copy of the state for these samples alone (positions, or a mask)."""
        ...

    def apply(self, reward: Any, model_weight: float) -> None:
        """Take a kept model into account."""
        ...

    def vectors(self) -> list[Floats | None]:
        """Return the arrays that change in a run. :meth:`restore` makes the same state from them, bit for bit."""
        ...

    def restore(self, vectors: list[Floats | None]) -> None:
        """Replace the arrays of this state by the :meth:`vectors` of another replica."""
        ...
