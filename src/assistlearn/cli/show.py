"""``assistlearn show``: a run's result: contributions, stop reason, accuracy, bytes."""

from __future__ import annotations

import json as json_format
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.table import Table as View

from assistlearn.cli.output import Json, console, say_json, size
from assistlearn.deployment.run_folder import RunFolder
from assistlearn.session import StopReason


def show(
    run: Annotated[Path, typer.Argument(help="The run's folder.")],
    json: Json = False,
) -> None:
    """Show a run: who contributed what, why it stopped, how good it is, and how many bytes it took."""
    folder = RunFolder(run)
    folder.settings()
    if json:
        say_json({"settings": vars(folder.settings()), "result": folder.result(), "rounds": accuracy_by_round(folder)})
        return
    show_result(folder)


def show_result(folder: RunFolder) -> None:
    """Print a run's result for people."""
    out, settings, result = console(), folder.settings(), folder.result()
    if result is None:
        out.print(f"Run [bold]{settings.run}[/] is not finished: {_turns(folder)} turns are done.")
        out.print(f"Go on with it: assistlearn simulate --resume {folder.path}")
        return
    reason = StopReason[result["stop_reason"]]
    out.print(f"Run [bold]{settings.run}[/] ({settings.method}): {result['n_rounds']} rounds; {reason}.")
    out.print(_contributions(settings.agents, result))
    accuracy = accuracy_by_round(folder)
    if accuracy:
        best = accuracy[result["n_rounds"] - 1]
        out.print(f"accuracy on the hold-out samples after {result['n_rounds']} rounds: {best:.1%}")
    out.print(_traffic(result))


def accuracy_by_round(folder: RunFolder) -> list[float]:
    """Return the accuracy on the hold-out samples after each round, if there are any."""
    path = folder.path / "events.jsonl"
    if not path.exists():
        return []
    events = [json_format.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
    found = [event["holdout_accuracy"] for event in events if event["event"] == "RoundFinished"]
    return [accuracy for accuracy in found if accuracy is not None]


def _contributions(agents: list[str], result: dict[str, Any]) -> View:
    view = View("agent", "models", "sum of weights", "best accuracy of a model alone")
    for agent in agents:
        own = [c for c in result["contributions"] if c["agent"] == agent]
        best = f"{max(c['accuracy'] for c in own):.1%}" if own else "-"
        view.add_row(agent, str(len(own)), f"{sum(c['model_weight'] for c in own):.3f}", best)
    return view


def _traffic(result: dict[str, Any]) -> View:
    view = View("with", "sent", "received", "bits per sample and turn: answers", "news")
    for agent, counts in result["traffic"].items():
        sent = sum(counts["sent"].values())
        received = sum(counts["received"].values())
        view.add_row(agent, size(sent), size(received), *_bits(result, counts))
    return view


def _bits(result: dict[str, Any], counts: dict[str, Any]) -> tuple[str, str]:
    """Return the bits of an answer per sample, and those of the news of one other agent's turn per sample."""
    turns, n = counts["turns"], result["n_samples"]
    if not turns:
        return "-", "-"
    answers = 8 * counts["received"].get("turn-taken", 0) / (turns * n)
    heard = counts["news"]
    news = f"{8 * counts['sent'].get('take-turn', 0) / (heard * n):.3f}" if heard else "-"
    return f"{answers:.3f}", news


def _turns(folder: RunFolder) -> int:
    return len(list((folder.path / "turns").glob("*.msg")))
