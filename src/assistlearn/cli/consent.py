"""An owner's consent: ``requests``, ``approve`` and ``reject``."""

from __future__ import annotations

import getpass
import os
from dataclasses import asdict
from datetime import date
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from assistlearn.cli.output import AgentFile, Json, agreed, command, plain, say, say_json
from assistlearn.errors import RequestsError, SettingsError
from assistlearn.evaluation.words import counted

if TYPE_CHECKING:
    from assistlearn.agent.consent import ConsentRequest, Inbox
    from assistlearn.protocol.ledger import Decision


Number = Annotated[str, typer.Argument(metavar="REQUEST", help="The request's number, or its first characters.")]
By = Annotated[
    str | None,
    typer.Option("--by", metavar="NAME", help="Who decides, for the ledger.", show_default="the user of this machine"),
]
Yes = Annotated[bool, typer.Option("--yes", "-y", metavar="", help="Do not ask for confirmation.")]

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
    if as_json:
        say_json({"agent": str(agent)} | decision.to_dict())
    else:
        say(f"Request {decision.request} is {decision.answer}, by {plain(decision.by)}. It is in the ledger.")


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
