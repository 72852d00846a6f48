"""What an owner decides and mends: ``requests``, ``approve``, ``reject``, ``recount``, ``forget`` and ``move``."""

from __future__ import annotations

import getpass
import os
from collections.abc import Mapping
from dataclasses import asdict
from datetime import date
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import msgspec
import typer

from assistlearn.cli.output import AgentFile, Json, agreed, answer, command, flag, plain, say, say_json
from assistlearn.errors import RequestsError, RunError, SettingsError
from assistlearn.evaluation.words import counted

if TYPE_CHECKING:
    from assistlearn.agent.consent import ConsentRequest, Inbox
    from assistlearn.agent.store import RunStore
    from assistlearn.protocol.ledger import Decision


# An owner's consent.


Number = Annotated[str, typer.Argument(metavar="REQUEST", help="The request's number, or its first characters.")]
By = Annotated[
    str | None,
    typer.Option("--by", metavar="NAME", help="Who decides, for the ledger.", show_default="the user of this machine"),
]
Yes = Annotated[bool, flag("--yes", "Do not ask for confirmation.", "-y")]

PROVED = {
    "certificate": "proved by the certificate of its site",
    "nothing": "nothing proves the name: a process on this machine says so",
}
"""What proves the name of the initiator that asks."""


def requests(agent: AgentFile, json: Json = False) -> None:
    """List who asks this agent's owner for consent, for what purpose, and what was answered."""
    found, damaged = desk_of(agent).requests()
    if json:
        say_json({"agent": str(agent), "requests": [asdict(each) for each in found], "damaged": damaged})
        if damaged:
            raise typer.Exit(2)
        return
    for each in found:
        show_request(each)
        if each.state == "waiting":
            say("  answer:  " + command("approve", agent, each.request))
            say("           " + command("reject", agent, each.request, "--reason", "..."))
    waiting = sum(each.state == "waiting" for each in found)
    say(f"{counted(waiting, 'request')} of {len(found)} {'waits' if waiting == 1 else 'wait'} for an answer.")
    if damaged:
        raise RequestsError(" ".join(damaged))


def desk_of(agent: Path) -> Inbox:
    from assistlearn.agent.consent import Inbox
    from assistlearn.agent.file import ANSWER_WITHIN, load_description

    description = load_description(agent)
    within = ANSWER_WITHIN if description.allow is None else description.allow.answer_within
    return Inbox(description.models, within)


def show_request(standing: ConsentRequest) -> None:
    """Print a request for people. Point out a text that mixes scripts: letters of several scripts may look alike."""
    from assistlearn.agent.consent import moment_in_words

    say(f"[bold]{standing.request}[/]  {_state(standing)}")
    say(f"  who:     {_spelled(standing.initiator)} ({PROVED[standing.proof]})")
    say(f"  purpose: {_spelled(standing.purpose) or '(none was stated)'}")
    much = f"up to {counted(standing.n_rounds, 'round')}, {counted(standing.n_samples, 'sample')}"
    run = f"run {plain(standing.run)}, method {plain(standing.method)}, {much}"
    say(f"  asked:   {moment_in_words(standing.since)}: {run}")


def _state(standing: ConsentRequest) -> str:
    from assistlearn.agent.consent import moment_in_words

    if standing.state == "waiting":
        return f"[yellow]waiting[/], expires {moment_in_words(standing.answer_until)}"
    if not standing.decided:
        return standing.state
    said = f"{standing.state} by {plain(standing.by)}, {moment_in_words(standing.decided)}"
    said += f", until {moment_in_words(standing.until)}" if standing.until else ""
    return said + (f": {plain(standing.reason)}" if standing.reason else "")


def _spelled(text: str) -> str:
    from assistlearn.protocol.codec import mixed_scripts

    mixed = mixed_scripts(text)
    return plain(text) + (f" [red](letters of several scripts: {plain(mixed)})[/]" if mixed else "")


def approve(
    agent: AgentFile,
    request: Number,
    until: Annotated[
        str | None,
        typer.Option(metavar="DATE", help="The last day (UTC): 2030-12-31.", show_default="for good"),
    ] = None,
    by: By = None,
    yes: Yes = False,
    json: Json = False,
) -> None:
    """Consent to runs of one initiator for one purpose. It holds at once; the ledger keeps who decided and when.

    The limits of [allow] and [privacy] hold for these runs as for all others. To take it back: assistlearn reject.
    """
    last = None if until is None else _day(until)
    desk = desk_of(agent)
    standing = desk.find(request)
    if not json:
        show_request(standing)
    agreed("Allow runs of this initiator for this purpose?", yes)
    _tell(agent, desk.approve(standing, by or _user(), last), json)


def reject(
    agent: AgentFile,
    request: Number,
    reason: Annotated[str, typer.Option(metavar="TEXT", help="Why. The initiator is told.")],
    by: By = None,
    yes: Yes = False,
    json: Json = False,
) -> None:
    """Refuse a request, or take a consent back. It holds at once; the ledger keeps who decided, when and why."""
    desk = desk_of(agent)
    standing = desk.find(request)
    if not json:
        show_request(standing)
    agreed("Take the consent back?" if standing.state == "approved" else "Refuse it?", yes)
    _tell(agent, desk.reject(standing, by or _user(), reason), json)


def _tell(agent: Path, decision: Decision, as_json: bool) -> None:
    words = f"Request {decision.request} is {decision.answer}, by {plain(decision.by)}. It is in the ledger."
    answer(as_json, {"agent": str(agent)} | msgspec.structs.asdict(decision), words)


def _day(text: str) -> date:
    try:
        return date.fromisoformat(text)
    except ValueError:
        raise SettingsError(f"--until {text!r} is not a date. Write it like this: --until 2030-12-31") from None


def _user() -> str:
    try:
        return getpass.getuser()
    except (OSError, KeyError, ImportError):
        return f"user {os.getuid()}" if hasattr(os, "getuid") else "an unknown user"


# ``assistlearn recount``: rebuild counts of what was asked and told, where the ledger or ``told/`` was lost.


def recount(agent: AgentFile, yes: Yes = False, json: Json = False) -> None:
    """Rebuild the counts of an agent whose ledger or folder told/ was lost. Better restore a backup."""
    from assistlearn.agent.file import load_description
    from assistlearn.agent.limits import recount as rebuild
    from assistlearn.agent.limits import what_is_lost

    description = load_description(agent)
    lost = what_is_lost(description.models, description.name)
    facts: dict[str, Any] = {"agent": description.name, "lost": lost}
    facts |= {"rebuilt": [], "new_ledger": False, "put_aside": []}
    if lost is not None:
        question = "Rebuild the counts from what is left? What nothing shows counts as if all had been spent."
        agreed(f"{lost}\n{question}", yes)
        rebuilt, new_ledger, moved = rebuild(description.models, description.name)
        facts |= {"rebuilt": rebuilt, "new_ledger": new_ledger, "put_aside": [str(path) for path in moved]}
    if json:
        say_json(facts)
        return
    say(plain(lost or "Nothing is missing: the ledger, told/ and the runs agree. Nothing was changed."))
    for each in facts["rebuilt"]:
        units = ", ".join(f"{n:,} {unit}" for unit, n in sorted(each["units"].items())) or "nothing"
        known = "nothing says how much, so all counts as spent" if each["all_spent"] else units
        people = " Every person counts as the one who was told most about." if each["people"] else ""
        say(f"Counted for {plain(each['initiator'])} from now on: {known}.{people}")
    for path in facts["put_aside"]:
        say(f"Put aside: {plain(path)}")
    if facts["new_ledger"]:
        say(plain("A new ledger has begun. It has no consent: initiators that [allow] does not name ask again."))


# ``assistlearn forget``: remove a run's models.


def forget(
    run: Annotated[
        str, typer.Argument(metavar="RUN", help="The folder of the run; with --agent, the name of the run.")
    ],
    agent: Annotated[
        list[Path] | None,
        typer.Option(
            metavar="FILE",
            help="Forget only at the agent of this file, and ask no other agent. May be given several times.",
        ),
    ] = None,
    yes: Yes = False,
    dry_run: Annotated[bool, flag("--dry-run", "Say what would be removed, and remove nothing.")] = False,
    json: Json = False,
) -> None:
    """Remove the models and records of a run at every agent, or at some. Ledgers stay, as a proof that it existed.

    You are asked first. Where nobody can be asked, nothing is removed without --yes.
    """
    from assistlearn.initiator.folder import RunFolder

    stores = _stores(agent, run) if agent else {}
    names = list(stores) or RunFolder(Path(run)).settings().agents
    places = [store.folder for store in stores.values()] or [Path(run)]
    if dry_run:
        would = f"Nothing is removed. These agents would remove their models and records: {plain(', '.join(names))}"
        facts = {"run": run, "would_ask": names, "folders": [str(place) for place in places]}
        answer(json, facts, would, *(f"With them would go {plain(place)}" for place in places))
        return
    listed = ", ".join(names)
    agreed(f"Remove the models and records of run {run} at {listed}? Nothing brings them back.", yes)
    removed, absent, others = _at_some(stores, run) if agent else _everywhere(Path(run))
    on = "which went on from this run, still has some of its models.[/] Forget that run, too."
    answer(
        json,
        {"run": run, "removed": removed, "absent": absent, "lives_on": others},
        *(f"{plain(name)}: {counted(count, 'model')} removed" for name, count in removed.items()),
        *(f"[yellow]{plain(name)} still has the run:[/] {plain(why)}" for name, why in absent.items()),
        *(f"[yellow]Run {plain(other)}, {on}" for other in others),
    )
    if absent:
        raise typer.Exit(3)


def _everywhere(path: Path) -> tuple[dict[str, int], dict[str, str], list[str]]:
    """Ask all agents to forget a run. Its folder is removed only when all have, so that one can try again."""
    from assistlearn.agent.store import runs_with_models_of
    from assistlearn.cli.progress import Bar
    from assistlearn.initiator import opening as forgetting
    from assistlearn.initiator.folder import RunFolder
    from assistlearn.reach.opening import opened_run

    folder = RunFolder(path)
    log = folder.log()
    with Bar(quiet=False) as bar:
        log.listen(bar.show)
        with opened_run(folder, training=False, alone=True, log=log) as (run, _):
            forgotten = forgetting.forget(run)
            others = runs_with_models_of(run.holdings.home, run.name)
    return forgotten.removed, forgotten.absent, others


def _stores(files: list[Path], run: str) -> dict[str, RunStore]:
    from assistlearn.agent.file import load_description
    from assistlearn.agent.store import RunStore, run_folder, runs_at

    found = {}
    for file in files:
        description = load_description(file)
        memory = RunStore(run_folder(description.models, run))
        if not memory.folder.is_dir():  # a folder without opened.json may hold files, too
            known = ", ".join(runs_at(description.models)) or "none"
            raise RunError(f"Agent {description.name!r} knows no run {run!r}. The runs it knows: {known}.")
        found[description.name] = memory
    return found


def _at_some(stores: Mapping[str, RunStore], run: str) -> tuple[dict[str, int], dict[str, str], list[str]]:
    from assistlearn.agent.store import runs_with_models_of

    others = {other for store in stores.values() for other in runs_with_models_of(store.folder.parents[1], run)}
    removed, absent = {}, {}
    for name, memory in stores.items():
        try:
            removed[name] = memory.forget()
        except RunError as error:  # a part of it is still there
            absent[name] = str(error)
    return removed, absent, sorted(others)


# ``assistlearn move``: tell a run where its agents' files are now.


def move(
    run: Annotated[Path, typer.Argument(metavar="RUN", help="The folder of the run, where it is now.")],
    agent: Annotated[
        list[Path] | None,
        typer.Option(metavar="FILE", help="An agent file, where it is now. May be given several times."),
    ] = None,
    site: Annotated[Path | None, typer.Option(metavar="KIT", help="Over a network: the initiator's site kit.")] = None,
    admin: Annotated[
        Path | None, typer.Option(metavar="KIT", help="Over a network: the initiator's admin kit.")
    ] = None,
    json: Json = False,
) -> None:
    """Tell a run where its agent files are now. You do not need it if you move a project as a whole."""
    from assistlearn.agent.file import load_description
    from assistlearn.initiator.folder import RunFolder

    folder = RunFolder(run)
    settings = folder.settings()
    files = {load_description(file).name: str(file.resolve()) for file in agent or []}
    strangers = sorted(files.keys() - settings.files.keys())
    if strangers:
        raise SettingsError(
            f"{plain(strangers[0])!r} has no file in this run. Those that have: {', '.join(settings.files)}."
        )
    kits = {name: str(kit.resolve()) for name, kit in (("site", site), ("admin", admin)) if kit is not None}
    if kits and "kits" not in settings.places:
        raise SettingsError(f"{run} is no run over a network: it has no kits.")
    folder.move(files, kits)
    now = folder.settings().files
    missing = [name for name, path in now.items() if not Path(path).exists()]
    next_ = ["Name what is missing: " + command("move", run, "--agent", "FILE")] if missing else []
    answer(
        json,
        {"run": settings.run, "files": now, "missing": missing},
        *(
            f"{plain(name)}: {plain(path)}{' [yellow]is not there[/]' * (name in missing)}"
            for name, path in now.items()
        ),
        *next_,
    )
