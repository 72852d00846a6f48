"""How many bytes a run has sent and received, according to the initiator's ledger."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from assistlearn.events import Event, TurnFinished
from assistlearn.protocol.ledger_of_run import entries_of
from assistlearn.protocol.messages import Problem, TurnTaken, type_of
from assistlearn.runs.open_run import OpenRun


def traffic_of(run: OpenRun, events: Sequence[Event]) -> dict[str, Any]:
    """Return the bytes of the run's messages with each helper, by type.

    Each helper also has the number of turns that it took, and of how many other models it had heard by its last turn.
    """
    turns = [event for event in events if isinstance(event, TurnFinished)]
    plan = run.settings.plan
    apart = plan.first_round(len(run.settings.classes)) == "apart"
    traffic: dict[str, Any] = {}
    for helper in run.settings.helpers:
        mine = [turn for turn in turns if turn.agent == helper]
        heard = mine[-1].turn if mine and (mine[-1].round > 1 or not apart) else 0
        others = [turn for turn in turns if turn.agent != helper and turn.contribution and turn.turn < heard]
        news = len(others) if plan.make_method().shares_state else 0
        traffic[helper] = {"sent": {}, "received": {}, "turns": len(mine), "news": news}
    for entry in entries_of(run.ledger_path, run.name):
        if entry.direction in ("sent", "received") and entry.peer in traffic:
            count = traffic[entry.peer][entry.direction]
            count[entry.type] = count.get(entry.type, 0) + entry.bytes
    return traffic


def received_answers(run: OpenRun) -> dict[str, set[str]]:
    """Return the digests of each agent's answers to turns in the ledger; none before the first turn is kept."""
    answers = {type_of(TurnTaken), type_of(Problem)}  # an agent may say why it sits a turn out
    digests: dict[str, set[str]] = {name: set() for name in run.settings.agents}
    for entry in entries_of(run.ledger_path, run.name) if run.folder.n_turns else ():
        if entry.direction == "received" and entry.type in answers and entry.peer in digests:
            digests[entry.peer].add(entry.digest)
    return digests
