"""The folder of a finished run, for repeated predictions: each file is read only once."""

from __future__ import annotations

from functools import cached_property
from typing import Any

from assistlearn.runs.folder import RunFolder


class FinishedFolder(RunFolder):
    """The folder of a finished run. Nobody can change it, because the process that has opened it has locked it.

    Parameters
    ----------
    path : path
        The folder.
    """

    def permutation(self) -> list[int]:
        """Return the secret permutation: the code that stands for each class."""
        return self._permutation

    def combination(self) -> bytes | None:
        """Return the learned combination, as bytes; None where votes are added up."""
        return self._combination

    def result(self) -> dict[str, Any] | None:
        """Return the result, if the run is finished."""
        return self._result

    def left(self) -> dict[str, Any]:
        """Return the agents that the run went on without: from which turn on, and why."""
        return self._left

    def check_whole(self) -> None:
        """Raise ``RunError`` if the folder is not what the result was made of."""
        return self._whole

    @cached_property
    def _whole(self) -> None:
        super().check_whole()

    @cached_property
    def _permutation(self) -> list[int]:
        return super().permutation()

    @cached_property
    def _combination(self) -> bytes | None:
        return super().combination()

    @cached_property
    def _result(self) -> dict[str, Any] | None:
        return super().result()

    @cached_property
    def _left(self) -> dict[str, Any]:
        return super().left()
