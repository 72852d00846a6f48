"""Train a run and report it, wherever its agents are."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

from assistlearn.cli.output import command, counted, plain, say, say_json
from assistlearn.errors import InterruptedRunError

if TYPE_CHECKING:
    from assistlearn.cli.progress import Training
    from assistlearn.runs.folder import RunFolder
    from assistlearn.session import Event


def train_run(folder: RunFolder, events: Callable[[Training], Iterator[Event]], quiet: bool) -> None:
    """Train, unless the run is finished.

    Parameters
    ----------
    folder : RunFolder
        The run.
    events : callable
        Trains and yields what happens, given the bar that is to be told how far it is.
    quiet : bool
        Show nothing.
    """
    from assistlearn.cli.progress import Training
    from assistlearn.runs.simulation import resuming

    if folder.result() is not None:
        return
    try:
        with Training(folder.settings(), quiet) as bar:
            for event in events(bar):
                bar.show(event)
    except KeyboardInterrupt:
        interrupted = InterruptedRunError(
            f"Interrupted after {counted(folder.n_turns, 'turn')}. The run is kept in {folder.path}."
        )
        interrupted.add_note(f"Go on with it: {resuming(folder)}")
        raise interrupted from None


def report_run(folder: RunFolder, as_json: bool) -> None:
    """Print a run's result, and what to do next."""
    from assistlearn.cli.show import outcome, show_result

    if as_json:
        say_json({"folder": str(folder.path), "run": folder.settings().run} | outcome(folder))
        return
    show_result(folder)
    say(f"The run lives in {plain(folder.path)}.")
    say("Next, predict: " + command("predict", folder.path, "--out", "predictions.csv"))
