"""``assistlearn audit``: what left this organisation, and whether the record of it is whole."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.table import Table

from assistlearn.cli.output import Json, counted, plain, say, say_json, say_table, size
from assistlearn.cli.told import told_in_words
from assistlearn.errors import SettingsError
from assistlearn.pages.messages_in_words import WORDS

if TYPE_CHECKING:
    from assistlearn.protocol.ledger import Entry
    from assistlearn.protocol.tally import Tally

COUNTED = ("runs", "turns", "ids", "votes", "bits")
"""What is counted for each initiator. The limits under ``[allow]`` have the same units."""


def audit(
    agent: Annotated[Path, typer.Argument(metavar="FILE", help="The agent's TOML file, or its ledger.")],
    run: Annotated[str, typer.Option(metavar="NAME", help="Only this run.", show_default="all runs")] = "",
    json: Json = False,
) -> None:
    """List what left this organisation, in words and bytes, and check that the ledger was not changed."""
    from assistlearn.protocol.ledger import followed, read
    from assistlearn.service.privacy.standing import told_at
    from assistlearn.service.privacy.told_book import ToldBook

    path = _ledger(agent)
    chain = followed(path)
    entries = [entry for entry in read(path) if not run or entry.run == run]
    facts = {"ledger": str(path), "whole": True, "entries": chain.number} | _summary(entries)
    facts |= {"totals": _totals(entries), "counted": {} if run else _counted(chain.tally)}
    facts["decisions"] = [entry.decision for entry in entries if entry.decision is not None]
    facts["rebuilt"] = [{"initiator": e.peer, "time": e.time} for e in entries if e.counts is not None]
    facts["told"] = [] if run else [asdict(each) for each in told_at(ToldBook(path.parent / "told"))]
    if json:
        say_json(facts)
    else:
        _show(facts, run)


def _ledger(agent: Path) -> Path:
    """Return the path of an agent's ledger; raise an error if it was removed, or lacks what other files show."""
    from assistlearn.agent_files import load_description
    from assistlearn.service.kept_counts import check_counts
    from assistlearn.service.store import ledger_of

    if agent.suffix == ".jsonl":
        if not agent.exists():
            raise SettingsError(f"There is no ledger {agent}. Check the path, or name the agent's TOML file.")
        return agent
    description = load_description(agent)
    path = ledger_of(description.models)
    check_counts(description.models, description.name)
    return path


def _summary(entries: Sequence[Entry]) -> dict[str, Any]:
    return {
        "runs": sorted({entry.run for entry in entries if entry.run}),
        "first": entries[0].time if entries else None,
        "last": entries[-1].time if entries else None,
    }


def _totals(entries: Sequence[Entry]) -> list[dict[str, Any]]:
    """Return the number of messages and bytes for each direction, peer and type. Types are in the order of a run."""
    sums: dict[tuple[str, str, str], list[int]] = {}
    for entry in entries:
        if entry.direction not in ("sent", "received", "refused"):
            continue
        total = sums.setdefault((entry.direction, entry.peer, entry.type), [0, 0])
        total[0] += 1
        total[1] += entry.bytes
    places = {type_: place for place, type_ in enumerate(WORDS)}
    return [
        {"direction": d, "peer": p, "type": t, "words": WORDS.get(t, "no message of a run"), "messages": n, "bytes": b}
        for (d, p, t), (n, b) in sorted(sums.items(), key=lambda sum: (*sum[0][:2], places.get(sum[0][2], 99)))
    ]


def _counted(tally: Tally) -> dict[str, dict[str, int]]:
    """Return what each other agent has asked for and been sent since the first entry, forgotten runs included."""
    return {peer: {unit: count.units.get(unit, 0) for unit in COUNTED} for peer, count in sorted(tally.peers.items())}


def _show(facts: dict[str, Any], run: str) -> None:
    if not facts["totals"]:
        say(f"No message{f' of run {plain(run)}' if run else ''} has left this organisation or come in.")
    else:
        say_table(_view(facts["totals"], "sent", "What left this organisation", "to"))
        say_table(_view(facts["totals"], "received", "What came in", "from"))
        if any(row["direction"] == "refused" for row in facts["totals"]):
            say_table(_view(facts["totals"], "refused", "What was refused unread", "from"))
        runs = ", ".join(map(plain, facts["runs"])) or "none"
        say(f"Runs: {runs}. From {_moment(facts['first'])} to {_moment(facts['last'])}, UTC.")
    for decision in facts["decisions"]:
        say(decision_in_words(decision))
    for rebuilt in facts["rebuilt"]:
        say(
            f"[yellow]The counts of {plain(rebuilt['initiator'])} were lost, and rebuilt[/] at "
            f"{_moment(rebuilt['time'])}, UTC (assistlearn recount)."
        )
    for peer, counts in facts["counted"].items():
        told = ", ".join(f"{n:,} {unit.removesuffix('s') if n == 1 else unit}" for unit, n in counts.items())
        say(f"Counted for {plain(peer)}, since the first run: {told}.")
    for told in facts["told"]:
        say(told_in_words(told))
    if facts["entries"]:
        entries = "1 entry" if facts["entries"] == 1 else f"{facts['entries']:,} entries"
        say(f"[green]The ledger is whole:[/] {entries}, none changed or removed. ({plain(facts['ledger'])})")


def decision_in_words(decision: dict[str, Any]) -> str:
    """Return a sentence that says what the owner has decided about a request for consent."""
    until = f", until {_moment(decision['until'])}" if decision["until"] else ""
    reason = f" ({plain(decision['reason'])})" if decision["reason"] else ""
    who, what = plain(decision["initiator"]), plain(decision["purpose"] or "no purpose")
    return (
        f"Decided by {plain(decision['by'])}, {_moment(decision['time'])}: request {plain(decision['request'])} of "
        f"{who} for {what} is {plain(decision['answer'])}{until}{reason}."
    )


def _moment(time: str) -> str:
    """Return a time of the ledger, to the second."""
    return time[:19].replace("T", " ")


def _view(totals: Sequence[dict[str, Any]], direction: str, title: str, towards: str) -> Table:
    rows = [row for row in totals if row["direction"] == direction]
    n_bytes, n_messages = sum(row["bytes"] for row in rows), sum(row["messages"] for row in rows)
    view = Table(towards, "what", title=f"{title}: {size(n_bytes)} in {counted(n_messages, 'message')}")
    view.title_justify = "left"
    view.add_column("messages", justify="right")
    view.add_column("bytes", justify="right")
    for row in rows:
        words = f"{row['type']}: {row['words']}"
        view.add_row(plain(row["peer"]), plain(words), f"{row['messages']:,}", f"{row['bytes']:,}")
    return view
