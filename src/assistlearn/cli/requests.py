"""``assistlearn requests``: who asks for an owner's consent, and what was answered."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from assistlearn.cli.output import Json, command, counted, plain, say, say_json
from assistlearn.errors import RequestsError

if TYPE_CHECKING:
    from assistlearn.service.owners_desk import OwnersDesk, RequestStanding

AgentFile = Annotated[Path, typer.Argument(metavar="FILE", help="The agent's TOML file.")]

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


def desk_of(agent: Path) -> OwnersDesk:
    """Return the desk of an agent's owner, which finds and answers requests."""
    from assistlearn.agent_files import load_description
    from assistlearn.agent_files.allowance import ANSWER_WITHIN
    from assistlearn.service.owners_desk import OwnersDesk

    description = load_description(agent)
    within = ANSWER_WITHIN if description.allow is None else description.allow.answer_within
    return OwnersDesk(description.models, within)


def show_request(standing: RequestStanding) -> None:
    """Print a request for people. Point out a text that mixes scripts: letters of several scripts may look alike."""
    from assistlearn.service.permission import moment_in_words

    say(f"[bold]{standing.request}[/]  {_state(standing)}")
    say(f"  who:     {_spelled(standing.initiator)} ({PROVED[standing.proof]})")
    say(f"  purpose: {_spelled(standing.purpose) or '(none was stated)'}")
    much = f"up to {counted(standing.n_rounds, 'round')}, {counted(standing.n_samples, 'sample')}"
    run = f"run {plain(standing.run)}, method {plain(standing.method)}, {much}"
    say(f"  asked:   {moment_in_words(standing.since)}: {run}")


def _state(standing: RequestStanding) -> str:
    from assistlearn.service.permission import moment_in_words

    if standing.state == "waiting":
        return f"[yellow]waiting[/], expires {moment_in_words(standing.answer_until)}"
    if not standing.decided:
        return standing.state
    said = f"{standing.state} by {plain(standing.by)}, {moment_in_words(standing.decided)}"
    said += f", until {moment_in_words(standing.until)}" if standing.until else ""
    return said + (f": {plain(standing.reason)}" if standing.reason else "")


def _spelled(text: str) -> str:
    from assistlearn.protocol.words import mixed_scripts

    mixed = mixed_scripts(text)
    return plain(text) + (f" [red](letters of several scripts: {plain(mixed)})[/]" if mixed else "")
