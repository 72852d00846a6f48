"""How far a pilot is: first its training, then the samples that are opened."""

from __future__ import annotations

from assistlearn.cli.output import plain
from assistlearn.cli.progress import TrainingBar
from assistlearn.events import Event, RunFinished, SamplesOpened


class WorthBar(TrainingBar):
    """A bar that counts the turns of training, and then the opened samples, with the gain and its limits."""

    _gain = ""

    def show(self, event: Event) -> None:
        """Show an event of the pilot."""
        match event:
            case SamplesOpened():
                self._gain = f"gain {event.gain:+.3f}, {event.lower:+.3f} to {event.upper:+.3f}"
                self.progress.update(self._asking, description="opened samples", note=self._gain)
                self.progress.update(self._asking, completed=event.n_opened, total=event.n_pool)
            case RunFinished():
                self._end_training()
            case _:
                super().show(event)

    def _end_training(self) -> None:
        """Replace the bar of the turns by a bar of the samples."""
        if self._turns is not None:
            self.progress.remove_task(self._turns)
            self._turns = None
            self._asking = self.progress.add_task("matching samples to open", total=None, note="")

    def _wait(self, agent: str, exchanged: str) -> None:
        if not self._gain:
            super()._wait(agent, exchanged)
            return
        self.progress.update(self._asking, note=f"{self._gain}; waiting for {plain(agent)}; {exchanged}")
