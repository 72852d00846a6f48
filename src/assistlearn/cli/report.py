"""Commands that look at a result: ``show``, ``report`` and ``watch``."""

from __future__ import annotations

import os
import sys
import tempfile
import webbrowser
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, TypeVar

import typer
from rich.table import Table

from assistlearn.cli.output import (
    Force,
    Json,
    RunPath,
    check_target,
    command,
    needed_by_agents,
    needed_by_run,
    plain,
    say,
    say_json,
    say_table,
    table_of,
)
from assistlearn.cli.worth import show_pilot
from assistlearn.errors import SettingsError
from assistlearn.evaluation.words import (
    TITLES,
    VERDICTS,
    alone_in_words,
    combination_in_words,
    compared_in_words,
    counted,
    difference_in_words,
    figure,
    measured,
    shares_in_words,
    size,
)

if TYPE_CHECKING:
    from assistlearn.evaluation.metrics import Difference
    from assistlearn.evaluation.result import AgentRow, Confusion, Findings, Headline, SharedIn, ShareRow
    from assistlearn.events import RunGoesOn
    from assistlearn.initiator.folder import RunFolder
    from assistlearn.plan import Plan
    from assistlearn.report.story import View
    from assistlearn.web.live import Watched


E = TypeVar("E")

MOST_CLASSES = 12
"""With more classes, the table leaves out how often each class was predicted. ``--json`` has these counts."""

SHARED = {
    "accuracy": ("accuracy", "± 2 std. errors"),
    "loss": ("log loss lower by", "± 2 std. errors"),
}
LOST = {"accuracy": "accuracy lost without it", "loss": "loss higher without it"}


def show(
    run: RunPath,
    json: Json = False,
) -> None:
    """Show the result of a run: how good it is, who contributed what, why it stopped, what was exchanged."""
    from assistlearn.initiator.folder import RunFolder, terms_of

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
    from assistlearn.initiator.folder import log_is_whole

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
    from assistlearn.report.story import state_of, story_of

    return story_of(folder, ledger=False, most_rows=sys.maxsize).view(state_of(folder))


def show_result(folder: RunFolder) -> None:
    from assistlearn.events import StopReason
    from assistlearn.initiator.folder import log_is_whole

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
    from assistlearn.report.story import changes_in_words

    if (before := goes_on_of(folder)) is not None:
        for words in changes_in_words(before):
            say(plain(words))


def goes_on_of(folder: RunFolder) -> RunGoesOn | None:
    """Return what has changed since the run that this one goes on from; None where it goes on from no other."""
    from assistlearn.events import RunGoesOn

    return _last(folder, RunGoesOn)


def _probabilities(plan: Plan, result: dict[str, Any]) -> str:
    from assistlearn.evaluation.calibration import ScoreCalibration, in_words

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
    from assistlearn.events import LabelsTold

    told = _last(folder, LabelsTold)
    return None if told is None else asdict(told)


def _last(folder: RunFolder, kind: type[E]) -> E | None:
    from assistlearn.events import read

    found = [recorded.event for recorded in read(folder.events) if isinstance(recorded.event, kind)]
    return found[-1] if found else None


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
    title = "What each round gained on unseen samples, and what it cost"
    table = table_of(["round"], ["loss so far", "standard error", "bits per sample"], title)
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
    numbers = ["models", "sum of weights", "best model in training"]
    view = table_of(["agent"], numbers, "What each agent contributed")
    for row in agents:
        best = "-" if row.best is None else f"{row.best:.1%}"
        view.add_row(plain(row.agent), str(row.models), f"{row.weight:.3f}", best)
    return view


def _traffic(view: View) -> Table:
    numbers = ["sent", "received", "bits per sample: answer", "news of a turn"]
    table = table_of(["with"], numbers, "What was exchanged in training")
    for row in view.trained_with:
        bits = figure(row.answer_bits, 2), figure(row.news_bits, 2)
        table.add_row(plain(row.helper), size(row.sent), size(row.received), *bits)
    return table


# What the hold-out samples show: figures with help and alone, who helped, and who did harm.


def show_report(view: View, classes: Sequence[Any], rounds: str) -> None:
    found, answer, subject = view.findings, view.answer, view.subject
    assert answer is not None
    samples = counted(answer.n_samples, "hold-out sample")
    said = _answer(answer, subject.label_only)
    say(f"On {samples}, whose labels helpers were not told, after {rounds}: {said}")
    say_table(_metrics(found, subject.label_only))
    for helper in found.worse:
        left_out = helper in found.left_out
        done = "its votes were left out" if left_out else 'its votes count, because worse_agent is "keep"'
        say(
            f"[yellow]{plain(helper)} makes the result worse on these samples, by more than chance explains:[/] {done}."
        )
    if found.shares:
        say_table(_shares(found))
        if not subject.label_only:
            say(plain(_narrow(shares_in_words(found, subject.initiator))))
    if found.confusion is not None:
        say_table(_classes(found.confusion, classes))


def _answer(answer: Headline, label_only: bool) -> str:
    if answer.assisted is None:
        return plain(f"{VERDICTS[answer.verdict]} {difference_in_words(answer)}")
    by_labels = f" ({alone_in_words(answer.what)})" if label_only else ""
    with_help, alone = (_narrow(measured(answer, value)) for value in (answer.assisted, answer.alone))
    verdict = VERDICTS[answer.verdict]
    verdict = f"[yellow]{verdict}[/]" if answer.verdict == "worse" else verdict
    words = f"{answer.what} [bold]{with_help}[/] with help, {alone} alone{by_labels}. {verdict}"
    return f"{words} {_narrow(difference_in_words(answer))}".rstrip()


def _narrow(words: str) -> str:
    """Return words as a terminal shows them: without blanks before the sign for a percentage."""
    return words.replace("\N{NO-BREAK SPACE}%", "%")


def _metrics(found: Findings, label_only: bool) -> Table:
    view = table_of([""], ["with help", "alone", "difference", "95 % interval"], compared_in_words(label_only))
    for each in found.metrics:
        between = each.difference
        difference = ("-", "-") if between is None else (f"{between.value:+.3f}", _interval(between))
        view.add_row(TITLES.get(each.name, each.name), _figure(each.assisted), _figure(each.alone), *difference)
    return view


def _shares(found: Findings) -> Table:
    of = found.shared_in
    other: SharedIn = "loss" if of == "accuracy" else "accuracy"
    title = "Who helped: how much of the result is due to each helper's votes"
    view = table_of(["helper"], [*SHARED[of], *SHARED[other], LOST[of]], title)
    for row in found.shares:
        lost = row.lost_without if of == "accuracy" else row.loss_without
        view.add_row(plain(row.helper), *_share_of(row, of), *_share_of(row, other), f"{lost or 0.0:+.3f}")
    if found.together is not None:
        view.add_section()
        view.add_row("all helpers' votes", *_share_of(found.together, of), *_share_of(found.together, other), "")
    return view


def _share_of(row: ShareRow, of: SharedIn) -> tuple[str, str]:
    return f"{row.share(of):+.3f}", f"{2 * row.error(of):.3f}"


def _classes(found: Confusion, classes: Sequence[Any]) -> Table:
    """Return a table of the true classes: which classes were predicted for them, and how often the right one."""
    few = len(classes) <= MOST_CLASSES
    numbers = [*(map(plain, classes) if few else ()), "found", "found alone"]
    view = table_of(["true class"], numbers, "Which class was predicted")
    for name, counts, right, alone in zip(classes, found.counts, found.found, found.found_alone, strict=True):
        view.add_row(plain(name), *([f"{count:g}" for count in counts] if few else []), _share(right), _share(alone))
    return view


def _figure(value: float | None) -> str:
    return "-" if value is None else f"{value:.3f}"


def _share(value: float | None) -> str:
    return "-" if value is None else f"{value:.1%}"


def _interval(between: Difference) -> str:
    return f"{between.low:+.3f} to {between.high:+.3f}"


# ``assistlearn report``: a run, or a helper's part in all its runs, as a page that can be opened, printed and sent.


def report(
    run: Annotated[Path, typer.Argument(metavar="RUN", help="The folder of the run; or, at a helper, its agent file.")],
    out: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="The file to write.", show_default="beside RUN, as RUN.html"),
    ] = None,
    open_: Annotated[bool, typer.Option("--open", metavar="", help="Open the page in the browser.")] = False,
    class_names: Annotated[
        bool, typer.Option("--class-names/--no-class-names", help="Show the classes by name, or by number.")
    ] = True,
    force: Force = False,
    json: Json = False,
) -> None:
    """Write a page about a run, to look at, print and send. The answer comes first, then all figures."""
    from assistlearn.report.page import is_page, keep_page

    facts, draw, lacks = _of_helper(run) if run.suffix == ".toml" else _of_run(run, class_names)
    path = out if out is not None or (json and not open_) else _beside(run)
    if path is not None and not is_page(path):
        needed = needed_by_agents([run]) if run.suffix == ".toml" else needed_by_run(run)
        check_target(path, needed, force=force, quiet=json)
    n_bytes = 0 if path is None else keep_page(path, draw(), force=True)
    if json:
        say_json({"page": None if path is None else str(path), "bytes": n_bytes, "lacking": lacks} | facts)
    elif path is not None:
        say(f"The page: {plain(path)} ({size(n_bytes)}).")
        for words in lacks:
            say(f"[yellow]Note:[/] {plain(words)}")
        if not open_:
            place = () if out is None else ("--out", path)
            say(f"Open it in any browser, or: {command('report', run, *place, '--open')}")
    if open_ and path is not None and not webbrowser.open(path.resolve().as_uri()):
        raise SettingsError(f"There is no browser to open {path} with. Open it by hand; the page is written.")


def _beside(run: Path) -> Path:
    """Return the default path of a page: beside the run or agent file, relative to the current folder if possible."""
    place = run.resolve()
    page = place.with_suffix(".html") if place.suffix == ".toml" else place.with_name(f"{place.name}.html")
    here = Path.cwd()
    return page.relative_to(here) if not run.is_absolute() and page.is_relative_to(here) else page


def _of_run(run: Path, class_names: bool) -> tuple[dict[str, Any], Callable[[], str], list[str]]:
    from assistlearn.initiator.folder import RunFolder
    from assistlearn.report.run import run_page, without_class_names
    from assistlearn.report.story import lacking, view_of

    folder = RunFolder(run)
    view = view_of(folder)
    view = view if class_names else without_class_names(view)
    return view.to_dict(), partial(run_page, view), lacking(folder)


def _of_helper(file: Path) -> tuple[dict[str, Any], Callable[[], str], list[str]]:
    from assistlearn.agent.file import load_description
    from assistlearn.report.helper import helper_page, helper_view

    view = helper_view(load_description(file))
    return view.to_dict(), partial(helper_page, view), []


# ``assistlearn watch``: the page of a run, or of an agent, live in a browser.


def watch(
    what: Annotated[
        Path, typer.Argument(metavar="RUN", help="The folder of the run, which need not exist yet; or an agent file.")
    ],
    port: Annotated[
        int, typer.Option(min=0, max=65535, help="The port on this machine.", show_default="any free one")
    ] = 0,
    open_: Annotated[bool, typer.Option("--open/--no-open", help="Open the page in a browser.")] = True,
    json: Json = False,
) -> None:
    """Watch a run, or an agent that helps others, live in a browser. Stop with Ctrl-C.

    Only this machine reaches the page, and only those who know its address: the address holds a token.
    """
    from assistlearn.web import require_web

    require_web("assistlearn watch")
    from assistlearn.web.live import run_watch
    from assistlearn.web.server import LOOPBACK, listening, new_token, port_of

    (watched, is_there), token = _watched(what), new_token()
    with listening(port) as listens:
        address = f"http://{LOOPBACK}:{port_of(listens)}/{token}/"
        if json:
            say_json({"address": address, "port": port_of(listens), "watching": str(what)})
        else:
            say(f"Watch {plain(what)} at {address}")
            waits = "" if is_there else "There is no run in it yet; the page shows it as soon as it begins. "
            say(f"{waits}Stop with Ctrl-C.")
        sys.stdout.flush()
        with _browser(address, open_ and not json):
            run_watch(watched, listens, token)
    if not json:
        say("Stopped.")


def _watched(what: Path) -> tuple[Watched, bool]:
    """Return what is to be watched, and whether it is there already."""
    if what.is_file() or what.suffix == ".toml":
        from assistlearn.web.live import LiveAgent

        return LiveAgent(what), True
    from assistlearn.initiator.folder import RunFolder
    from assistlearn.web.live import LiveRun

    return LiveRun(what), RunFolder(what).exists


@contextmanager
def _browser(address: str, wanted: bool) -> Iterator[None]:
    """Open the page in a browser if there is a screen. A file that only the user can read holds the address.

    Everybody on this machine could read the address, and the token in it, on the browser's command line.
    """
    has_screen = sys.platform == "darwin" or os.environ.get("DISPLAY") or os.environ.get("WAYLAND_DISPLAY")
    if not wanted or not has_screen:
        yield
        return
    with tempfile.NamedTemporaryFile("w", prefix="assistlearn-watch-", suffix=".html", encoding="utf-8") as file:
        file.write(
            f'<!doctype html><meta http-equiv="refresh" content="0; url={address}"><a href="{address}">Watch</a>'
        )
        file.flush()
        webbrowser.open(Path(file.name).as_uri())
        yield
