"""``assistlearn show``: a run's result: contributions, stop reason, accuracy, bytes."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.table import Table

from assistlearn.cli.holdout_report import show_report
from assistlearn.cli.output import Json, counted, plain, say, say_json, say_table, size
from assistlearn.cli.worth_report import show_pilot
from assistlearn.evaluation.figures_in_words import combination_in_words, figure
from assistlearn.pages.going_on_words import changes_in_words

if TYPE_CHECKING:
    from assistlearn.evaluation.result import AgentRow
    from assistlearn.events import RunGoesOn
    from assistlearn.pages.view import View
    from assistlearn.plan import Plan
    from assistlearn.runs.folder import RunFolder


def show(
    run: Annotated[Path, typer.Argument(metavar="RUN", help="The folder of the run.")],
    json: Json = False,
) -> None:
    """Show the result of a run: how good it is, who contributed what, why it stopped, what was exchanged."""
    from assistlearn.runs.folder import RunFolder
    from assistlearn.runs.pilot_terms import terms_of

    folder = RunFolder(run)
    is_pilot = terms_of(folder.settings()) is not None
    if json:
        found = {"worth": folder.worth()} if is_pilot else {}
        say_json({"folder": str(run), "settings": folder.settings().to_dict()} | outcome(folder) | found)
    elif is_pilot:
        show_pilot(folder)
    else:
        show_result(folder)


def outcome(folder: RunFolder) -> dict[str, Any]:
    """Return how a run went, as plain values: how far it is, its result, and its accuracy by round."""
    from assistlearn.runs.releases_of_run import log_is_whole

    result, view = folder.result(), told(folder)
    return {
        "finished": result is not None,
        "turns": folder.n_turns,
        "log_is_whole": result is None or log_is_whole(folder),
        "holdout_accuracy": accuracy_by_round(view),
        "labels": labels_told(folder),
        "sat_out": sat_out(folder),
        "goes_on": None if (before := goes_on_of(folder)) is None else asdict(before),
        "combination": None if result is None else result.get("combination"),
        "evaluation": None if result is None else result.get("evaluation"),
        "unchecked": view.unchecked or None,
        "answer": None if view.answer is None else asdict(view.answer),
        "agents": [asdict(row) for row in view.agents],
        "rounds": [asdict(row) for row in view.rounds],
        "accuracy_of_own_votes": view.accuracy_of_own_votes,
        "result": result,
    }


def told(folder: RunFolder) -> View:
    """Return what a run says, by its events and its result, with a row for every round."""
    from assistlearn.pages.run_story import state_of, story_of

    return story_of(folder, ledger=False, most_rows=sys.maxsize).view(state_of(folder))


def show_result(folder: RunFolder) -> None:
    """Print a run's result for people."""
    from assistlearn.events import StopReason
    from assistlearn.runs.releases_of_run import log_is_whole

    settings, result = folder.settings(), folder.result()
    if result is None:
        from assistlearn.reach.opening import resuming

        say(f"Run [bold]{plain(settings.run)}[/] is not finished: {counted(folder.n_turns, 'turn')} taken.")
        if folder.lost_result:
            say("[yellow]It was finished once:[/] its result.json is lost. Go on to make it again.")
        say("Go on with it: " + plain(resuming(folder)))
        return
    rounds, reason = counted(result["n_rounds"], "round"), StopReason[result["stop_reason"]]
    samples = counted(result["n_samples"], "sample")
    what = f"Run [bold]{plain(settings.run)}[/] ({plain(settings.plan.method)}) on {samples}"
    view = told(folder)
    made = max((row.round for row in view.rounds), default=0)
    counting = f"{result['n_rounds']} of {made} rounds count" if made > result["n_rounds"] else rounds
    say(f"{what}: {counting}; it stopped because: {reason}.")
    if not log_is_whole(folder):
        say(f"[yellow]{plain(folder.events)} lacks the end of the run:[/] rounds and turns may be missing here.")
    _show_goes_on(folder)
    for agent, left in result.get("left", {}).items():
        say(f"[yellow]The run went on without {plain(agent)} from turn {left['turn']} on:[/] {plain(left['reason'])}")
    for agent, turns in sat_out(folder).items():
        which = f"{counted(turns['turns'], 'turn')} out, the first of them turn {turns['first']}"
        say(f"[yellow]{plain(agent)} sat {which}:[/] {plain(turns['why'])}")
    if settings.label_only:
        say(f"{plain(settings.initiator)} has labels but no columns: it took no turns, and the helpers' votes count.")
    say_table(_contributions([row for row in view.agents if row.agent in settings.turn_takers]))
    best = next((row.accuracy for row in view.rounds if row.round == max(result["n_rounds"], 1)), None)
    if view.answer is not None:
        show_report(view, settings.classes, rounds)
    elif best is not None:
        say(f"Accuracy of all together on the hold-out samples, after {rounds}: [bold]{best:.1%}[/]")
    elif settings.plan.holdout is not None:
        say(f"[yellow]The accuracy on the hold-out samples is not known:[/] it is not in {plain(folder.events)}.")
    else:
        say(f"[yellow]{plain(view.unchecked)}[/]")
    _show_labels(folder)
    say(f"Probabilities: {_probabilities(settings.plan, result)}.")
    _show_combination(view, result)
    say_table(_traffic(view))


def _show_goes_on(folder: RunFolder) -> None:
    """Say what has changed since the run that this one goes on from, if there is one."""
    before = goes_on_of(folder)
    for words in [] if before is None else changes_in_words(before):
        say(plain(words))


def goes_on_of(folder: RunFolder) -> RunGoesOn | None:
    """Return what has changed since the run that this one goes on from; None where it goes on from no other."""
    from assistlearn.events import RunGoesOn, read

    told = [recorded.event for recorded in read(folder.events) if isinstance(recorded.event, RunGoesOn)]
    return told[-1] if told else None


def _probabilities(plan: Plan, result: dict[str, Any]) -> str:
    """Return in words whether and how the probabilities were calibrated."""
    from assistlearn.evaluation.score_calibration import ScoreCalibration, in_words

    calibration = ScoreCalibration.from_json(result.get("calibration"))
    return in_words(calibration, wanted=plan.calibrates, learned=result.get("combination") is not None)


def _show_labels(folder: RunFolder) -> None:
    """Print what helpers were told about the labels, if the true labels stayed with the initiator."""
    from assistlearn.methods.label_private import caution, spent_in_words

    told = labels_told(folder)
    if told is None:
        return
    say(
        f"The true labels stayed here: helpers got labels changed at random, epsilon [bold]{told['epsilon']:g}[/]. "
        f"{spent_in_words(told['most_spent'], told['n_true'])}"
    )
    if told["n_changed"]:
        say(f"The labels of {told['n_changed']:,} people have changed since they were told first. Helpers do not know.")
    if caution(told["epsilon"]):
        say(f"[yellow]{plain(caution(told['epsilon']))}[/]")


def labels_told(folder: RunFolder) -> dict[str, Any] | None:
    """Return what helpers were told of the labels; None where they were told the true ones, or nothing yet."""
    from assistlearn.events import LabelsTold, read

    told = [recorded.event for recorded in read(folder.events) if isinstance(recorded.event, LabelsTold)]
    return asdict(told[-1]) if told else None


def _show_combination(view: View, result: dict[str, Any]) -> None:
    """Print how the votes are combined, and what each round gained and cost, if the combination was learned."""
    learned = result.get("combination")
    if learned is None:
        return
    losses = ", ".join(f"{plain(kind)} {loss:.3f}" for kind, loss in learned["losses"].items())
    what = combination_in_words(learned["kind"], view.subject.label_only)
    say(f"How the votes are combined: [bold]{what}[/]. Loss on unseen samples: {learned['loss']:.3f}.")
    say(f"Chosen in three folds, by these losses: {losses}.")
    if learned["skipped"]:
        say(f"Trees were not tried: {plain(learned['skipped'].removesuffix('.'))}.")
    table = Table("round", title="What each round gained on unseen samples, and what it cost", title_justify="left")
    for title in ("loss so far", "standard error", "bits per sample"):
        table.add_column(title, justify="right")
    for row in view.rounds:
        if row.loss is not None:
            kept = " (not kept)" if row.kept is False else ""
            table.add_row(f"{row.round}{kept}", figure(row.loss, 4), figure(row.error, 4), figure(row.bits, 1))
    say_table(table)


def accuracy_by_round(view: View) -> list[float | None]:
    """Return the accuracy on the hold-out samples after each round, if there are any; None where the log lacks it."""
    known = {row.round: row.accuracy for row in view.rounds if row.accuracy is not None}
    return [known.get(round) for round in range(1, max(known, default=0) + 1)]


def sat_out(folder: RunFolder) -> dict[str, dict[str, Any]]:
    """Return, for each agent that sat turns out and said why: how many, the first, and why it sat out the last."""
    from assistlearn.events import TurnFinished, read

    out: dict[str, dict[str, Any]] = {}
    for event in (recorded.event for recorded in read(folder.events)):
        if isinstance(event, TurnFinished) and event.why:
            before = out.get(event.agent, {"turns": 0, "first": event.turn})
            out[event.agent] = before | {"turns": before["turns"] + 1, "why": event.why}
    return out


def _contributions(agents: Sequence[AgentRow]) -> Table:
    view = Table("agent", title="What each agent contributed", title_justify="left")
    for title in ("models", "sum of weights", "best model in training"):
        view.add_column(title, justify="right")
    for row in agents:
        best = "-" if row.best is None else f"{row.best:.1%}"
        view.add_row(plain(row.agent), str(row.models), f"{row.weight:.3f}", best)
    return view


def _traffic(view: View) -> Table:
    table = Table("with", title="What was exchanged in training", title_justify="left")
    for title in ("sent", "received", "bits per sample: answer", "news of a turn"):
        table.add_column(title, justify="right")
    for row in view.trained_with:
        bits = figure(row.answer_bits, 2), figure(row.news_bits, 2)
        table.add_row(plain(row.helper), size(row.sent), size(row.received), *bits)
    return table
