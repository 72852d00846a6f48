"""A progress bar that reads the session's events."""

from __future__ import annotations

from types import TracebackType
from typing import Self

from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn
from rich.table import Column

from assistlearn.evaluation.metrics import METRICS
from assistlearn.events import AloneBegan, Event, RoundFinished, RunFinished, TurnFinished


class VerboseBar:
    """A progress bar of finished turns. It shows nothing unless it is enabled.

    Parameters
    ----------
    n_turns : int
        The largest possible number of turns.
    enabled : bool
        Whether to show anything.
    metric : str
        The metric that is shown on hold-out samples.
    """

    def __init__(self, n_turns: int, enabled: bool, metric: str) -> None:
        self._what = METRICS[metric].title
        self._bar = Progress(
            TextColumn("{task.description}"),
            BarColumn(),
            MofNCompleteColumn(),
            TimeRemainingColumn(),
            TextColumn(
                "{task.fields[note]}", table_column=Column(no_wrap=False)
            ),  # a long note must not crowd out the bar
            disable=not enabled,
        )
        self._task = self._bar.add_task("turns", total=n_turns, note="")

    def show(self, event: Event) -> None:
        """Show an event in the bar."""
        if self._bar.disable:
            return
        match event:
            case TurnFinished():
                weight = f"model weight {event.model_weight:.3f}" if event.contribution else "sat out"
                note = (
                    f"round {event.round}, {event.agent}: right on {event.mean_reward:.1%} of the ignorance, {weight}"
                )
                self._bar.update(self._task, advance=1, note=note)
            case RoundFinished(metric=float(measured)):
                self._bar.update(self._task, note=f"round {event.round}: hold-out {self._what} {measured:.3f}")
            case AloneBegan():
                self._bar.update(self._task, note="the initiator alone, to compare")
            case RunFinished():
                self._bar.update(self._task, note=str(event.reason))

    def __enter__(self) -> Self:
        self._bar.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._bar.stop()
