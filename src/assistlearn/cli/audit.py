"""``assistlearn audit``: what left this organisation, and whether the record of it is whole."""

from __future__ import annotations

from collections import defaultdict
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.table import Table as View

from assistlearn.cli.output import Json, console, say_json, size
from assistlearn.errors import LedgerError
from assistlearn.protocol.ledger import read, verify
from assistlearn.tables import load_description

WORDS = {
    "open": "a question whether to work together: a name and a purpose",
    "opened": "the agent's name and the number of its samples",
    "align": "ids of samples, hashed or encrypted, to find the common ones",
    "aligned": "which samples are common, hashed or encrypted",
    "begin": "the labels as numbers, and how to train",
    "ready": "how many samples are held",
    "take-turn": "where others' models were right, and their weights",
    "turn-taken": "where the new model is right, and its weight",
    "end": "that training is over",
    "ended": "how many models are kept",
    "predict": "which samples to vote on",
    "scores": "votes: one score per class for each sample asked for",
    "forget": "a request to remove a run",
    "forgotten": "that it is removed",
    "problem": "why a request was refused",
    "unreadable": "bytes that are no message",
}


def audit(
    agent: Annotated[Path, typer.Argument(help="The agent's TOML file, or its ledger.")],
    run: Annotated[str, typer.Option(help="Only this run.")] = "",
    json: Json = False,
) -> None:
    """Print what left this organisation, in words and bytes, and verify that the ledger is whole."""
    path = agent if agent.suffix == ".jsonl" else load_description(agent).models / "ledger.jsonl"
    if not path.exists():
        raise LedgerError(
            f"{path} is not there: this agent has not exchanged any message yet, or its ledger was removed."
        )
    count = verify(path)
    totals = _totals(path, run)
    if json:
        say_json({"ledger": str(path), "entries": count, "whole": True, "totals": totals})
        return
    out = console()
    for direction, title in (("sent", "What left this organisation"), ("received", "What came in")):
        view = View(
            "to" if direction == "sent" else "from", "what", "messages", "bytes", title=title, title_justify="left"
        )
        for row in totals:
            if row["direction"] == direction:
                view.add_row(row["peer"], f"{row['type']}: {row['words']}", str(row["messages"]), size(row["bytes"]))
        out.print(view)
    out.print(f"[green]The ledger is whole:[/] {count:,} entries, none changed or removed. ({path})")


def _totals(path: Path, run: str) -> list[dict[str, Any]]:
    sums: dict[tuple[str, str, str], list[int]] = defaultdict(lambda: [0, 0])
    for entry in read(path):
        if not run or entry.run == run:
            total = sums[(entry.direction, entry.peer, entry.type)]
            total[0] += 1
            total[1] += entry.bytes
    return [
        {"direction": d, "peer": p, "type": t, "words": WORDS.get(t, "?"), "messages": n, "bytes": b}
        for (d, p, t), (n, b) in sorted(sums.items())
    ]
