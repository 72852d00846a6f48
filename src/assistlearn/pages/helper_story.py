"""Gather what an agent's own store and ledger know about the runs in which it has helped."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

from assistlearn.agent_files import AgentDescription
from assistlearn.core.weight import NEGLIGIBLE
from assistlearn.pages.exchanged import Exchanged
from assistlearn.pages.helper_view import HelpedRun, HelperView, ToldOf
from assistlearn.pages.view import Released
from assistlearn.protocol import messages as m
from assistlearn.protocol.codec import decode
from assistlearn.protocol.entries import Entry
from assistlearn.protocol.ledger import followed, read
from assistlearn.protocol.ledger_of_run import entries_of
from assistlearn.protocol.messages import type_of
from assistlearn.protocol.tally import Tally
from assistlearn.service.own_releases import forgotten_runs, releases_of, runs_as_helper
from assistlearn.service.privacy.standing import told_at
from assistlearn.service.privacy.told_book import ToldBook
from assistlearn.service.store import RunStore, ledger_of, run_folder

FIRST = (type_of(m.Open), type_of(m.Propose))
"""The types of message with which an initiator begins a run."""


def helper_view(agent: AgentDescription) -> HelperView:
    """Return what an agent knows about its help, from its own files; raise ``LedgerError`` for a damaged ledger.

    Parameters
    ----------
    agent : AgentDescription
        The description in the agent file.
    """
    home, path = agent.models, ledger_of(agent.models)
    chain = followed(path)
    names = runs_as_helper(home, agent.name)
    runs = [_run(home, name, entries_of(path, name)) for name in names]
    exchanged, own, refused = _others_messages(path)
    told = told_at(ToldBook(home / "told"))
    return HelperView(
        agent.name,
        tuple(sorted(runs, key=lambda run: run.first)),
        {run: bits for run, bits in forgotten_runs(path, names).items() if run not in own},
        exchanged.exchanges(exchanged.names, {}, None),
        _counted(chain.tally),
        tuple(ToldOf(each.initiator, each.people, each.bits, each.predictions, each.epsilon) for each in told),
        refused,
        chain.number,
    )


def _others_messages(path: Path) -> tuple[Exchanged, set[str], int]:
    """Return the messages of others' runs, the names of the agent's own runs, and how many messages were refused.

    A ledger can be long, so it is read only once, and its entries are not kept in memory.
    """
    exchanged, own, refused = Exchanged(), set(), 0
    for entry in read(path):
        if entry.direction == "sent" and entry.type in FIRST:
            own.add(entry.run)
        if entry.direction == "refused":
            refused += 1
        elif entry.direction in ("sent", "received") and entry.run not in own:
            exchanged.count(entry.peer, entry.direction, entry.type, entry.bytes)
    return exchanged, own, refused


def _run(home: Path, name: str, entries: Sequence[Entry]) -> HelpedRun:
    store, found = RunStore(run_folder(home, name)), releases_of(home, name, entries)
    times = [entry.time[:16].replace("T", " ") for entry in entries] or [""]
    asked = [entry for entry in entries if entry.direction == "received" and entry.type == type_of(m.Predict)]
    return HelpedRun(
        name,
        found.initiator,
        found.method,
        times[0],
        times[-1],
        found.n_samples,
        found.n_holdout,
        tuple(_weights(store)),
        store.ended() is not None,
        sum(entry.amount or 0 for entry in asked),
        tuple(Released(each.kind, each.about, each.times, each.said, each.sent) for each in found.releases),
        found.epsilon,
    )


def _weights(store: RunStore) -> Iterator[float | None]:
    """Yield the model weight of each turn, as the agent itself has told it; None where it had no model."""
    for past in store.past_turns():
        reply = decode(past.reply)
        if isinstance(reply, m.TurnTaken):
            yield reply.model_weight if reply.model_weight > NEGLIGIBLE else None


def _counted(tally: Tally) -> dict[str, dict[str, int]]:
    return {peer: dict(count.units) for peer, count in sorted(tally.peers.items()) if count.units}
