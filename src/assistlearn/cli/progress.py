"""Show how far a command is: a bar on standard error, if that is a terminal."""

from __future__ import annotations

from typing import TYPE_CHECKING, Self

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, Task, TaskID, TextColumn, TimeRemainingColumn
from rich.text import Text

from assistlearn import events as e
from assistlearn.cli.output import complaints, plain
from assistlearn.evaluation.words import TITLES, size
from assistlearn.report.story import changes_in_words

if TYPE_CHECKING:
    from assistlearn.initiator.folder import RunSettings


class _Words(TextColumn):
    """Words in which names stay as they are: rich makes an emoji of a name such as ``:x:``."""

    def render(self, task: Task) -> Text:
        return Text.from_markup(self.text_format.format(task=task), style=self.style, emoji=False)


class Bar:
    """Counts pieces of work; or samples, for one agent after the other, while they are matched or votes are asked for.

    It shows the agent that must answer, and how many bytes were exchanged so far.
    """

    def __init__(
        self, quiet: bool, console: Console | None = None, words: str = "starting the agents", total: int | None = None
    ) -> None:
        console = console or complaints()
        self._quiet = quiet
        self._bytes = 0
        self.progress = Progress(
            _Words("{task.description}"),
            BarColumn(bar_width=20),
            MofNCompleteColumn(),
            TimeRemainingColumn(),
            _Words("{task.fields[note]}"),
            console=console,
            transient=True,
            disable=quiet or not console.is_terminal,
        )
        self._work = self.progress.add_task(words, total=total, note="")

    def __enter__(self) -> Self:
        self.progress.start()
        return self

    def __exit__(self, *error: object) -> None:
        self.progress.stop()

    def count(self, words: str) -> None:
        self.progress.update(self._work, advance=1, description=plain(words))

    def show(self, event: e.Event) -> None:
        match event:
            case e.SamplesDone():
                words = f"samples with {plain(event.agent)}"
                self.progress.update(self._work, description=words, completed=event.done, total=event.total)
            case e.Asked() | e.Answered():
                self._bytes += event.bytes
                if isinstance(event, e.Asked):
                    self._wait(plain(event.agent), f"{size(self._bytes)} exchanged")
            case e.JobStarted():
                self.say(f"A job was started with {', '.join(event.sites)}.")
            case e.LabelsTold():
                self.say(_labels(event))
            case e.RunGoesOn():
                for words in changes_in_words(event):
                    self.say(words)
            case e.TroubleMet():
                self.say(event.words)

    def _wait(self, agent: str, exchanged: str) -> None:
        self.progress.update(self._work, description=f"waiting for {agent}", note=exchanged, completed=0, total=None)

    def say(self, words: str) -> None:
        """Print a line above the bar, or on standard error where there is none."""
        if not self._quiet:
            self.progress.console.print(plain(words))


class TrainingBar(Bar):
    """A bar that first counts samples and then turns, and shows how good each model is, and all together."""

    def __init__(self, settings: RunSettings, quiet: bool, console: Console | None = None) -> None:
        super().__init__(quiet, console)
        self._metric = settings.plan.metric
        self._n_rounds = settings.plan.most_rounds
        self._n_turns = settings.plan.most_rounds * len(settings.turn_takers)
        self._turns: TaskID | None = None
        self._together = ""
        self._said = ""
        self._waiting = ""
        self._explained: set[str] = set()

    def show(self, event: e.Event) -> None:
        match event:
            case e.RoundFinished(metric=float(measured)) if self._metric != "accuracy":
                self._together = f"; together {TITLES[self._metric]} {measured:.3f} on the hold-out samples"
            case e.RoundFinished(holdout_accuracy=float(accuracy)):
                self._together = f"; together {accuracy:.1%} on the hold-out samples"
            case e.RoundFinished(loss=float(loss)):
                self._together = f"; loss of the combination {loss:.3f}"
            case e.AgentLeft():
                self.say(f"The run goes on without {event.agent} from turn {event.turn} on. {event.reason}")
            case e.RunGoesOn():  # rounds that are taken again come before the rounds of the plan
                again = max(event.again.values(), default=0)
                self._n_turns += again * (self._n_turns // self._n_rounds)
                self._n_rounds += again
                super().show(event)
            case e.AloneBegan():
                words = "training alone, to compare"
                self.progress.update(self._turning(), description=words, note="", completed=0, total=None)
            case e.TurnFinished():
                self._show_turn(event)
            case _:
                super().show(event)

    def _show_turn(self, turn: e.TurnFinished) -> None:
        agent = plain(turn.agent)
        if turn.why and turn.agent not in self._explained:
            self._explained.add(turn.agent)
            self.say(f"{turn.agent} sits out turn {turn.turn}, and may sit out others. {turn.why}")
        made = turn.contribution
        self._said = f"{agent} sat out" if made is None else f"{agent} right on {made.accuracy:.1%}"
        self._said += self._together
        words = f"round {turn.round} of {self._n_rounds}"
        self.progress.update(self._turning(), advance=1, description=words, note=self._said + self._waiting)

    def _turning(self) -> TaskID:
        """Return the bar of the turns; the first call puts it in the place of the bar of the samples."""
        if self._turns is None:
            self.progress.remove_task(self._work)
            self._turns = self.progress.add_task("", total=self._n_turns, note="")
        return self._turns

    def _wait(self, agent: str, exchanged: str) -> None:
        if self._turns is None:
            super()._wait(agent, exchanged)
        else:
            self._waiting = f"; waiting for {agent}; {exchanged}"
            self.progress.update(self._turns, note=self._said + self._waiting)


class WorthBar(TrainingBar):
    """A bar that counts the turns of training, and then the opened samples, with the gain and its limits."""

    _gain = ""

    def show(self, event: e.Event) -> None:
        match event:
            case e.SamplesOpened():
                self._gain = f"gain {event.gain:+.3f}, {event.lower:+.3f} to {event.upper:+.3f}"
                self.progress.update(self._work, description="opened samples", note=self._gain)
                self.progress.update(self._work, completed=event.n_opened, total=event.n_pool)
            case e.RunFinished() if self._turns is not None:
                self.progress.remove_task(self._turns)
                self._turns = None
                self._work = self.progress.add_task("matching samples to open", total=None, note="")
            case _:
                super().show(event)

    def _wait(self, agent: str, exchanged: str) -> None:
        if self._gain:
            self.progress.update(self._work, note=f"{self._gain}; waiting for {agent}; {exchanged}")
        else:
            super()._wait(agent, exchanged)


def _labels(event: e.LabelsTold) -> str:
    from assistlearn.methods.label_private import caution

    words = (
        f"Helpers are told labels changed at random, epsilon {event.epsilon:g}. {event.n_drawn:,} of "
        f"{event.n_samples:,} were drawn now; the others are as in earlier runs."
    )
    if event.n_changed:
        words += f" The labels of {event.n_changed:,} of them have changed since, of which helpers do not hear."
    if event.n_true:
        words += (
            f" Of {event.n_true:,} people helpers know the true label from another run: that protects them no more."
        )
    return f"{words} {caution(event.epsilon)}".strip()
