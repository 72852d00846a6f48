"""Train a run and report it, wherever its agents are."""

from __future__ import annotations

from typing import TYPE_CHECKING

from assistlearn.cli.output import command, counted, plain, say, say_json
from assistlearn.errors import InterruptedRunError

if TYPE_CHECKING:
    from assistlearn.runs.folder import RunFolder


def train_run(folder: RunFolder, quiet: bool, timeout: float, asks_first: bool = False) -> None:
    """Train a run, unless it is finished; a bar shows the events of the run.

    Parameters
    ----------
    folder : RunFolder
        The run.
    quiet : bool
        Show nothing.
    timeout : float
        Seconds to wait for an answer of an agent on this machine.
    asks_first : bool, default=False
        Whether helpers are asked for their owners' consent before the run is opened anywhere.
    """
    from assistlearn.cli.progress import TrainingBar
    from assistlearn.reach.opening import resuming, train

    if folder.result() is not None:
        return
    log = folder.log()
    try:
        with TrainingBar(folder.settings(), quiet) as bar:
            log.listen(bar.show)
            for _ in train(folder, log, timeout, asks_first):
                pass
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
    say(f"The run is in {plain(folder.path)}.")
    say("Next, predict: " + command("predict", folder.path, "--out", "predictions.csv"))
