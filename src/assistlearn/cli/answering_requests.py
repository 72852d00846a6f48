"""``assistlearn approve`` and ``assistlearn reject``: an owner's answer to a request for consent."""

from __future__ import annotations

import getpass
import os
from datetime import date
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from assistlearn.cli.confirming import agreed
from assistlearn.cli.output import Json, plain, say, say_json
from assistlearn.cli.requests import AgentFile, desk_of, show_request
from assistlearn.errors import SettingsError

if TYPE_CHECKING:
    from assistlearn.protocol.decision import Decision

Number = Annotated[str, typer.Argument(metavar="REQUEST", help="The request's number, or its first characters.")]
By = Annotated[
    str | None,
    typer.Option("--by", metavar="NAME", help="Who decides, for the ledger.", show_default="the user of this machine"),
]
Yes = Annotated[bool, typer.Option("--yes", "-y", metavar="", help="Do not ask for confirmation.")]


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
    """Return the user of this machine, by name or else by number."""
    try:
        return getpass.getuser()
    except (OSError, KeyError, ImportError):
        return f"user {os.getuid()}" if hasattr(os, "getuid") else "an unknown user"
