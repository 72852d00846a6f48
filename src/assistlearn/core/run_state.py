"""What the session and the agents need of a state, hard or soft."""

from __future__ import annotations

from typing import Any, ClassVar, Protocol

from numpy.typing import NDArray

from assistlearn.core.ignorance import Bools, Floats
from assistlearn.core.state import Verdict


class RunState(Protocol):
    """The state of a run: :class:`~assistlearn.core.state.State` or :class:`~assistlearn.core.soft_state.SoftState`.

    The reward that it takes is where a model is right (hard), or a :class:`~assistlearn.core.quantise.SoftReward`.
    """

    n_classes: int
    logarithms: ClassVar[tuple[int, ...]]
    """Which of its vectors are logarithms, and may hold minus infinity: samples that never count."""

    def begin_round(self) -> None:
        """Take note that a round begins."""
        ...

    def ignorance(self) -> Floats:
        """Return the ignorance of the samples, which sums to one (a new array)."""
        ...

    def judge(
        self, reward: Any, ignorance: Floats | None = None, held: Bools | None = None, overwrite: bool = False
    ) -> Verdict:
        """Return what a model with this reward is worth, changing nothing."""
        ...

    def beginning(self) -> RunState:
        """Return a new state as this one was before the first turn."""
        ...

    def part(self, rows: NDArray[Any]) -> RunState:
        """Return a new state of these samples alone (positions, or a mask): what is done to it changes nothing here."""
        ...

    def apply(self, reward: Any, model_weight: float) -> None:
        """Take a kept model into account."""
        ...

    def vectors(self) -> list[Floats | None]:
        """Return all that changes in the state; :meth:`restore` takes it back, to the bit."""
        ...

    def restore(self, vectors: list[Floats | None]) -> None:
        """Take on the state that another replica's :meth:`vectors` describe."""
        ...
