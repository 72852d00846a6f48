"""``assistlearn show``: a run's result: contributions, stop reason, accuracy, bytes."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.table import Table

from assistlearn.cli.holdout_report import show_report
from assistlearn.cli.output import Json, counted, plain, say, say_json, say_table, size
from assistlearn.cli.worth_report import show_pilot
from assistlearn.pages.figures_in_words import combination_in_words, figure
from assistlearn.pages.going_on_words import changes_in_words

if TYPE_CHECKING:
    from assistlearn.events import RunGoesOn
    from assistlearn.plan import Plan
    from assistlearn.runs.folder import RunFolder
    from assistlearn.runs.round_prices import RoundPrice


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

    result = folder.result()
    return {
        "finished": result is not None,
        "turns": folder.n_turns,
        "log_is_whole": result is None or log_is_whole(folder),
        "holdout_accuracy": accuracy_by_round(folder),
        "labels": labels_told(folder),
        "sat_out": sat_out(folder),
        "goes_on": None if (before := goes_on_of(folder)) is None else asdict(before),
        "combination": None if result is None else result.get("combination"),
        "evaluation": None if result is None else result.get("evaluation"),
        "rounds": [] if result is None else [asdict(price) for price in _prices(folder, result)],
        "result": result,
    }


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
    made = _rounds_made(folder)
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
    say_table(_contributions(settings.turn_takers, result))
    best = dict(enumerate(accuracy_by_round(folder), start=1)).get(max(result["n_rounds"], 1))
    if result.get("evaluation") is not None:
        show_report(result["evaluation"], settings.classes, rounds)
    elif best is not None:  # a run of an older release
        say(f"Accuracy of all together on the hold-out samples, after {rounds}: [bold]{best:.1%}[/]")
    elif settings.plan.holdout is not None:
        say(f"[yellow]The accuracy on the hold-out samples is not known:[/] it is not in {plain(folder.events)}.")
    else:
        how = "simulate --holdout 0.2; in a task: holdout = 0.2 under [training]"
        say(f"The accuracy was not measured, because no samples were held out ({plain(how)}).")
    _show_labels(folder)
    say(f"Probabilities: {_probabilities(settings.plan, result)}.")
    _show_combination(folder, result)
    say_table(_traffic(result))


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
    from assistlearn.methods.label_private import caution

    told = labels_told(folder)
    if told is None:
        return
    say(
        f"The true labels stayed here: helpers got labels changed at random, epsilon [bold]{told['epsilon']:g}[/]. "
        f"All runs so far gave away at most epsilon {told['most_spent']:g} about any one person's "
        f"{plain(repr(told['label']))}."
    )
    if caution(told["epsilon"]):
        say(f"[yellow]{plain(caution(told['epsilon']))}[/]")


def labels_told(folder: RunFolder) -> dict[str, Any] | None:
    """Return what helpers were told of the labels; None where they were told the true ones, or nothing yet."""
    from assistlearn.events import LabelsTold, read

    told = [recorded.event for recorded in read(folder.events) if isinstance(recorded.event, LabelsTold)]
    return asdict(told[-1]) if told else None


def _show_combination(folder: RunFolder, result: dict[str, Any]) -> None:
    """Print how the votes are combined, and what each round gained and cost, if the combination was learned."""
    learned = result.get("combination")
    if learned is None:
        return
    losses = ", ".join(f"{plain(kind)} {loss:.3f}" for kind, loss in learned["losses"].items())
    what = combination_in_words(learned["kind"], folder.settings().label_only)
    say(f"How the votes are combined: [bold]{what}[/]. Loss on unseen samples: {losses}.")
    if learned["skipped"]:
        say(f"Trees were not tried: {plain(learned['skipped'].removesuffix('.'))}.")
    view = Table("round", title="What each round gained on unseen samples, and what it cost", title_justify="left")
    for title in ("loss so far", "standard error", "bits per sample"):
        view.add_column(title, justify="right")
    for price in _prices(folder, result):
        kept = "" if price.round <= result["n_rounds"] else " (not kept)"
        view.add_row(f"{price.round}{kept}", f"{price.loss:.4f}", figure(price.error, 4), f"{price.bits:.1f}")
    say_table(view)


def _prices(folder: RunFolder, result: dict[str, Any]) -> list[RoundPrice]:
    from assistlearn.runs.round_prices import round_prices

    return round_prices(folder, result["n_samples"])


def accuracy_by_round(folder: RunFolder) -> list[float | None]:
    """Return the accuracy on the hold-out samples after each round, if there are any; None where the log lacks it."""
    from assistlearn.events import RoundFinished, read

    rounds = [recorded.event for recorded in read(folder.events) if isinstance(recorded.event, RoundFinished)]
    known = {event.round: event.holdout_accuracy for event in rounds if event.holdout_accuracy is not None}
    return [known.get(round) for round in range(1, max(known, default=0) + 1)]


def _rounds_made(folder: RunFolder) -> int:
    """Return how many rounds were made; the result may be of fewer."""
    from assistlearn.events import RoundFinished, read

    events = (recorded.event for recorded in read(folder.events))
    return max((event.round for event in events if isinstance(event, RoundFinished)), default=0)


def sat_out(folder: RunFolder) -> dict[str, dict[str, Any]]:
    """Return, for each agent that sat turns out and said why: how many, the first, and why it sat out the last."""
    from assistlearn.events import TurnFinished, read

    out: dict[str, dict[str, Any]] = {}
    for event in (recorded.event for recorded in read(folder.events)):
        if isinstance(event, TurnFinished) and event.why:
            before = out.get(event.agent, {"turns": 0, "first": event.turn})
            out[event.agent] = before | {"turns": before["turns"] + 1, "why": event.why}
    return out


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
    told = sum(counts["sent"].get(type_, 0) for type_ in ("take-turn", "take-again"))
    news = f"{8 * told / (heard * n):.2f}" if heard else "-"
    return f"{answers:.2f}", news
