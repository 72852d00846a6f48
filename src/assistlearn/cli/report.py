"""Commands that look at a result: ``show``, ``report`` and ``watch``."""

from __future__ import annotations

import os
import sys
import tempfile
import webbrowser
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from assistlearn.cli import output
from assistlearn.cli.output import Json, command, flag, plain, say, say_json, show_table
from assistlearn.cli.worth import show_pilot
from assistlearn.errors import SettingsError
from assistlearn.evaluation import words as w

if TYPE_CHECKING:
    from assistlearn.evaluation.metrics import Difference
    from assistlearn.evaluation.result import AgentRow, Confusion, Findings, Headline, SharedIn, ShareRow
    from assistlearn.initiator.folder import RunFolder
    from assistlearn.report.story import View
    from assistlearn.web.live import Watched


MOST_CLASSES = 12
"""With more classes, the table leaves out how often each class was predicted. ``--json`` has these counts."""

SHARED = {
    "accuracy": ("accuracy", "± 2 std. errors"),
    "loss": ("log loss lower by", "± 2 std. errors"),
}
LOST = {"accuracy": "accuracy lost without it", "loss": "loss higher without it"}


def show(run: output.RunPath, json: Json = False) -> None:
    """Show the result of a run: how good it is, who contributed what, why it stopped, what was exchanged."""
    from assistlearn.initiator.folder import RunFolder, terms_of

    folder = RunFolder(run)
    is_pilot = terms_of(folder.settings()) is not None
    found = {"worth": folder.worth()} if is_pilot else {}
    if json:
        say_json({"folder": str(run), "settings": folder.settings().to_dict()} | outcome(folder) | found)
    elif is_pilot:
        show_pilot(folder)
    else:
        show_result(folder)


def outcome(folder: RunFolder) -> dict[str, Any]:
    from assistlearn.initiator.folder import log_is_whole

    result, view = folder.result(), viewed(folder)
    known = {row.round: row.accuracy for row in view.rounds if row.accuracy is not None}
    return {
        "finished": result is not None,
        "turns": folder.n_turns,
        "log_is_whole": result is None or log_is_whole(folder),
        "holdout_accuracy": [known.get(round) for round in range(1, max(known, default=0) + 1)],
        **logged(folder),
        "combination": None if result is None else result.get("combination"),
        "evaluation": None if result is None else result.get("evaluation"),
        "unchecked": view.unchecked or None,
        "answer": None if view.answer is None else asdict(view.answer),
        "agents": [asdict(row) for row in view.agents],
        "rounds": [asdict(row) for row in view.rounds],
        "accuracy_of_own_votes": view.accuracy_of_own_votes,
        "result": result,
    }


def viewed(folder: RunFolder) -> View:
    """Return what a run says, by its events and its result, with a row for every round."""
    from assistlearn.report.story import state_of, story_of

    return story_of(folder, ledger=False, most_rows=sys.maxsize).view(state_of(folder))


def logged(folder: RunFolder) -> dict[str, Any]:
    """Return what only the log of a run says; None for what has not happened.

    ``labels``: what helpers were told of the labels, if they were not told the true ones. ``sat_out``: for each agent
    that sat turns out and said why, how many, the first, and why it sat out the last. ``goes_on``: what has changed
    since the earlier run.
    """
    from assistlearn.events import LabelsTold, RunGoesOn, TurnFinished, read

    labels: dict[str, Any] | None = None
    goes_on: dict[str, Any] | None = None
    sat_out: dict[str, dict[str, Any]] = {}
    for recorded in read(folder.events):
        match recorded.event:
            case LabelsTold() as event:
                labels = asdict(event)
            case RunGoesOn() as event:
                goes_on = asdict(event)
            case TurnFinished(why=why, agent=agent, turn=turn) if why:
                before = sat_out.get(agent, {"turns": 0, "first": turn})
                sat_out[agent] = before | {"turns": before["turns"] + 1, "why": why}
    return {"labels": labels, "sat_out": sat_out, "goes_on": goes_on}


def show_result(folder: RunFolder) -> None:
    settings, result = folder.settings(), folder.result()
    if result is None:
        from assistlearn.reach.opening import resuming

        say(f"Run [bold]{plain(settings.run)}[/] is not finished: {w.counted(folder.n_turns, 'turn')} taken.")
        if folder.lost_result:
            say("[yellow]It was finished once:[/] its result.json is lost. Go on to make it again.")
        say("Go on with it: " + plain(resuming(folder)))
    else:
        _show_finished(folder, result)


def _show_finished(folder: RunFolder, result: dict[str, Any]) -> None:
    from assistlearn.initiator.folder import log_is_whole

    settings, view, log = folder.settings(), viewed(folder), logged(folder)
    rounds, samples = w.counted(result["n_rounds"], "round"), w.counted(result["n_samples"], "sample")
    made = max((row.round for row in view.rounds), default=0)
    counting = rounds if made <= result["n_rounds"] else f"{result['n_rounds']} of {made} rounds count"
    what = f"Run [bold]{plain(settings.run)}[/] ({plain(settings.plan.method)}) on {samples}"
    say(f"{what}: {counting}; it stopped because: {view.stop_reason}.")
    if not log_is_whole(folder):
        say(f"[yellow]{plain(folder.events)} lacks the end of the run:[/] rounds and turns may be missing here.")
    for words in view.goes_on:
        say(plain(words))
    _show_absences(result.get("left", {}), log["sat_out"])
    if settings.label_only:
        say(f"{plain(settings.initiator)} has labels but no columns: it took no turns, and the helpers' votes count.")
    _show_contributions([row for row in view.agents if row.agent in settings.turn_takers])
    if view.answer is not None:
        show_report(view, settings.classes, rounds)
    elif (best := {row.round: row.accuracy for row in view.rounds}.get(max(result["n_rounds"], 1))) is not None:
        say(f"Accuracy of all together on the hold-out samples, after {rounds}: [bold]{best:.1%}[/]")
    elif settings.plan.holdout is not None:
        say(f"[yellow]The accuracy on the hold-out samples is not known:[/] it is not in {plain(folder.events)}.")
    else:
        say(f"[yellow]{plain(view.unchecked)}[/]")
    if log["labels"] is not None:
        _show_labels(log["labels"])
    say(f"Probabilities: {view.calibration}.")
    if result.get("combination") is not None:
        _show_combination(view, result["combination"])
    _show_traffic(view)


def _show_absences(left: Mapping[str, dict[str, Any]], sat_out: Mapping[str, dict[str, Any]]) -> None:
    for agent, at in left.items():
        say(f"[yellow]The run went on without {plain(agent)} from turn {at['turn']} on:[/] {plain(at['reason'])}")
    for agent, turns in sat_out.items():
        which = f"{w.counted(turns['turns'], 'turn')} out, the first of them turn {turns['first']}"
        say(f"[yellow]{plain(agent)} sat {which}:[/] {plain(turns['why'])}")


def _show_labels(labels: dict[str, Any]) -> None:
    from assistlearn.methods.label_private import caution, spent_in_words

    say(
        f"The true labels stayed here: helpers got labels changed at random, epsilon [bold]{labels['epsilon']:g}[/]. "
        f"{spent_in_words(labels['most_spent'], labels['n_true'])}"
    )
    if labels["n_changed"]:
        changed = f"The labels of {labels['n_changed']:,} people have changed since they were told first."
        say(f"{changed} Helpers do not know.")
    if caution(labels["epsilon"]):
        say(f"[yellow]{plain(caution(labels['epsilon']))}[/]")


def _show_combination(view: View, learned: dict[str, Any]) -> None:
    """Print how the votes are combined, and what each round gained and cost."""
    losses = ", ".join(f"{plain(kind)} {loss:.3f}" for kind, loss in learned["losses"].items())
    what = w.combination_in_words(learned["kind"], view.subject.label_only)
    say(f"How the votes are combined: [bold]{what}[/]. Loss on unseen samples: {learned['loss']:.3f}.")
    say(f"Chosen in three folds, by these losses: {losses}.")
    if learned["skipped"]:
        say(f"Trees were not tried: {plain(learned['skipped'].removesuffix('.'))}.")
    rows = (
        (f"{row.round}{' (not kept)' * (row.kept is False)}", w.figure(row.loss, 4), w.figure(row.error, 4), bits)
        for row in view.rounds
        for bits in [w.figure(row.bits, 1)]
        if row.loss is not None
    )
    title = "What each round gained on unseen samples, and what it cost"
    show_table(title, ["round"], ["loss so far", "standard error", "bits per sample"], rows)


def _show_contributions(agents: Sequence[AgentRow]) -> None:
    rows = ((row.agent, row.models, f"{row.weight:.3f}", _share(row.best)) for row in agents)
    numbers = ["models", "sum of weights", "best model in training"]
    show_table("What each agent contributed", ["agent"], numbers, rows)


def _show_traffic(view: View) -> None:
    rows = (
        (row.helper, w.size(row.sent), w.size(row.received), w.figure(row.answer_bits, 2), w.figure(row.news_bits, 2))
        for row in view.trained_with
    )
    numbers = ["sent", "received", "bits per sample: answer", "news of a turn"]
    show_table("What was exchanged in training", ["with"], numbers, rows)


# What the hold-out samples show: figures with help and alone, who helped, and who did harm.


def show_report(view: View, classes: Sequence[Any], rounds: str) -> None:
    found, answer, label_only = view, view.answer, view.subject.label_only
    assert answer is not None
    samples = w.counted(answer.n_samples, "hold-out sample")
    said = _answer(answer, label_only)
    say(f"On {samples}, whose labels helpers were not told, after {rounds}: {said}")
    rows = (
        (w.TITLES.get(each.name, each.name), _figure(each.assisted), _figure(each.alone), *_between(each.difference))
        for each in found.metrics
    )
    show_table(w.compared_in_words(label_only), [""], ["with help", "alone", "difference", "95 % interval"], rows)
    for helper in found.worse:
        left_out = helper in found.left_out
        done = "its votes were left out" if left_out else 'its votes count, because worse_agent is "keep"'
        say(
            f"[yellow]{plain(helper)} makes the result worse on these samples, by more than chance explains:[/] {done}."
        )
    if found.shares:
        _show_shares(found)
        if not label_only:
            say(plain(_narrow(w.shares_in_words(found, view.subject.initiator))))
    if found.confusion is not None:
        _show_classes(found.confusion, classes)


def _answer(answer: Headline, label_only: bool) -> str:
    if answer.assisted is None:
        return plain(f"{w.VERDICTS[answer.verdict]} {w.difference_in_words(answer)}")
    by_labels = f" ({w.alone_in_words(answer.what)})" if label_only else ""
    with_help, alone = (_narrow(w.measured(answer, value)) for value in (answer.assisted, answer.alone))
    verdict = w.VERDICTS[answer.verdict]
    verdict = f"[yellow]{verdict}[/]" if answer.verdict == "worse" else verdict
    words = f"{answer.what} [bold]{with_help}[/] with help, {alone} alone{by_labels}. {verdict}"
    return f"{words} {_narrow(w.difference_in_words(answer))}".rstrip()


def _narrow(words: str) -> str:
    """Return words as a terminal shows them: without blanks before the sign for a percentage."""
    return words.replace("\N{NO-BREAK SPACE}%", "%")


def _show_shares(found: Findings) -> None:
    of = found.shared_in
    other: SharedIn = "loss" if of == "accuracy" else "accuracy"

    def shares(row: ShareRow) -> Iterator[str]:
        for each in (of, other):
            yield from (f"{row.share(each):+.3f}", f"{2 * row.error(each):.3f}")

    lost = "lost_without" if of == "accuracy" else "loss_without"
    rows: list[Sequence[object] | None] = [
        (row.helper, *shares(row), f"{getattr(row, lost) or 0.0:+.3f}") for row in found.shares
    ]
    if found.together is not None:
        rows += [None, ("all helpers' votes", *shares(found.together), "")]
    title = "Who helped: how much of the result is due to each helper's votes"
    show_table(title, ["helper"], [*SHARED[of], *SHARED[other], LOST[of]], rows)


def _show_classes(found: Confusion, classes: Sequence[Any]) -> None:
    """Print for each true class which classes were predicted, and how often the right one."""
    few = classes if len(classes) <= MOST_CLASSES else ()
    rows = (
        (name, *(f"{count:g}" for count in counts[: len(few)]), _share(right), _share(alone))
        for name, counts, right, alone in zip(classes, found.counts, found.found, found.found_alone, strict=True)
    )
    show_table("Which class was predicted", ["true class"], [*few, "found", "found alone"], rows)


def _figure(value: float | None) -> str:
    return "-" if value is None else f"{value:.3f}"


def _share(value: float | None) -> str:
    return "-" if value is None else f"{value:.1%}"


def _between(difference: Difference | None) -> tuple[str, str]:
    if difference is None:
        return "-", "-"
    return f"{difference.value:+.3f}", f"{difference.low:+.3f} to {difference.high:+.3f}"


# ``assistlearn report``: a run, or a helper's part in all its runs, as a page that can be opened, printed and sent.


def report(
    run: Annotated[Path, typer.Argument(metavar="RUN", help="The folder of the run; or, at a helper, its agent file.")],
    out: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="The file to write.", show_default="beside RUN, as RUN.html"),
    ] = None,
    open_: Annotated[bool, flag("--open", "Open the page in the browser.")] = False,
    class_names: Annotated[
        bool, typer.Option("--class-names/--no-class-names", help="Show the classes by name, or by number.")
    ] = True,
    force: output.Force = False,
    json: Json = False,
) -> None:
    """Write a page about a run, to look at, print and send. The answer comes first, then all figures."""
    from assistlearn.report.page import is_page, keep_page

    facts, draw, lacks = _of_helper(run) if run.suffix == ".toml" else _of_run(run, class_names)
    path = out if out is not None or (json and not open_) else _beside(run)
    if path is not None and not is_page(path):
        needed = output.needed_by_agents([run]) if run.suffix == ".toml" else output.needed_by_run(run)
        output.check_target(path, needed, force=force, quiet=json)
    n_bytes = 0 if path is None else keep_page(path, draw(), force=True)
    if json:
        say_json({"page": None if path is None else str(path), "bytes": n_bytes, "lacking": lacks} | facts)
    elif path is not None:
        say(f"The page: {plain(path)} ({w.size(n_bytes)}).")
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
