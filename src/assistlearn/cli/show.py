"""``assistlearn show``: a run's result: contributions, stop reason, accuracy, bytes."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.table import Table

from assistlearn.cli.output import Json, counted, plain, say, say_json, say_table, size

if TYPE_CHECKING:
    from assistlearn.runs.folder import RunFolder


def show(
    run: Annotated[Path, typer.Argument(metavar="RUN", help="The run's folder.")],
    json: Json = False,
) -> None:
    """Show a run: who contributed what, why it stopped, how good it is, and how many bytes it took."""
    from assistlearn.runs.folder import RunFolder

    folder = RunFolder(run)
    if json:
        say_json({"folder": str(run), "settings": folder.settings().to_dict()} | outcome(folder))
    else:
        show_result(folder)


def outcome(folder: RunFolder) -> dict[str, Any]:
    """Return how a run went, as plain values: how far it is, its result, and its accuracy by round."""
    result = folder.result()
    return {
        "finished": result is not None,
        "turns": folder.n_turns,
        "holdout_accuracy": accuracy_by_round(folder),
        "result": result,
    }


def show_result(folder: RunFolder) -> None:
    """Print a run's result for people."""
    from assistlearn.events import StopReason
    from assistlearn.reach.opening import resuming

    settings, result = folder.settings(), folder.result()
    if result is None:
        say(f"Run [bold]{plain(settings.run)}[/] is not finished: {counted(folder.n_turns, 'turn')} taken.")
        say("Go on with it: " + plain(resuming(folder)))
        return
    rounds, reason = counted(result["n_rounds"], "round"), StopReason[result["stop_reason"]]
    samples = counted(result["n_samples"], "sample")
    what = f"Run [bold]{plain(settings.run)}[/] ({plain(settings.plan.method)}) on {samples}"
    say(f"{what}: {rounds}; it stopped because: {reason}.")
    for agent, left in result.get("left", {}).items():
        say(f"[yellow]{plain(agent)} was gone from turn {left['turn']} on:[/] {plain(left['reason'])}")
    say_table(_contributions(settings.agents, result))
    best = dict(enumerate(accuracy_by_round(folder), start=1)).get(max(result["n_rounds"], 1))
    if best is not None:
        say(f"Accuracy of all together on the hold-out samples, after {rounds}: [bold]{best:.1%}[/]")
    elif settings.plan.holdout is not None:
        say(f"[yellow]The accuracy on the hold-out samples is not known:[/] it is not in {plain(folder.events)}.")
    else:
        how = "simulate --holdout 0.2; in a task: holdout = 0.2 under [training]"
        say(f"There are no hold-out samples to tell the accuracy of all together ({plain(how)}).")
    say_table(_traffic(result))


def accuracy_by_round(folder: RunFolder) -> list[float | None]:
    """Return the accuracy on the hold-out samples after each round, if there are any; None where the log lacks it."""
    from assistlearn.events import RoundFinished, read

    rounds = [recorded.event for recorded in read(folder.events) if isinstance(recorded.event, RoundFinished)]
    known = {event.round: event.holdout_accuracy for event in rounds if event.holdout_accuracy is not None}
    return [known.get(round) for round in range(1, max(known, default=0) + 1)]


def _contributions(agents: list[str], result: dict[str, Any]) -> Table:
    view = Table("agent", title="What each agent contributed", title_justify="left")
    for title in ("models", "sum of weights", "best model in training"):
        view.add_column(title, justify="right")
    for agent in agents:
        own = [c for c in result["contributions"] if c["agent"] == agent]
        best = f"{max(c['accuracy'] for c in own):.1%}" if own else "-"
        view.add_row(plain(agent), str(len(own)), f"{sum(c['model_weight'] for c in own):.3f}", best)
    return view


def _traffic(result: dict[str, Any]) -> Table:
    view = Table("with", title="What was exchanged in training", title_justify="left")
    for title in ("sent", "received", "bits per sample: answer", "news of a turn"):
        view.add_column(title, justify="right")
    for agent, counts in result["traffic"].items():
        sent = sum(counts["sent"].values())
        received = sum(counts["received"].values())
        view.add_row(plain(agent), size(sent), size(received), *_bits(result, counts))
    return view


def _bits(result: dict[str, Any], counts: dict[str, Any]) -> tuple[str, str]:
    """Return the bits of an answer per sample, and those of the news of one other agent's turn per sample."""
    turns, n = counts["turns"], result["n_samples"]
    if not turns:
        return "-", "-"
    answers = 8 * counts["received"].get("turn-taken", 0) / (turns * n)
    heard = counts["news"]
    news = f"{8 * counts['sent'].get('take-turn', 0) / (heard * n):.2f}" if heard else "-"
    return f"{answers:.2f}", news
