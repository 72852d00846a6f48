"""How far a pilot is: first its training, then the samples that are opened."""

from __future__ import annotations

from assistlearn.cli.output import plain
from assistlearn.cli.progress import TrainingBar
from assistlearn.events import Event, RunFinished, SamplesOpened


class WorthBar(TrainingBar):
    """Turns while it is trained; then opened samples, with the gain and its limits."""

    _gain = ""

    def show(self, event: Event) -> None:
        """Show what has happened."""
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
        """Put a bar for the samples in the place of that of the turns."""
        if self._turns is not None:
            self.progress.remove_task(self._turns)
            self._turns = None
            self._asking = self.progress.add_task("matching samples to open", total=None, note="")

    def _wait(self, agent: str, exchanged: str) -> None:
        if not self._gain:
            super()._wait(agent, exchanged)
            return
        self.progress.update(self._asking, note=f"{self._gain}; waiting for {plain(agent)}; {exchanged}")
