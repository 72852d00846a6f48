"""What an agent has released in each run, by its own files: in runs that it remembers and in forgotten ones."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from assistlearn.core.ignorance import Bools
from assistlearn.errors import RunError
from assistlearn.protocol import messages as m
from assistlearn.protocol.arrays import unpack_bits
from assistlearn.protocol.codec import decode
from assistlearn.protocol.ledger import Entry, read
from assistlearn.protocol.messages import type_of
from assistlearn.protocol.releases import ReleasedBits, added_up, releases_in, votes
from assistlearn.service.store import RunStore, run_folder, runs_at
from assistlearn.service.task import Task

TELLING = (type_of(m.TurnTaken), type_of(m.Scores))
"""The types of replies that say something about samples."""


@dataclass(frozen=True)
class RunReleases:
    """What was released in one run.

    Attributes
    ----------
    run, initiator, method : str
        The run, its initiator and its method; no method if training never began.
    n_samples, n_holdout : int
        How many of the agent's people were trained on, and how many were held out.
    releases : tuple of ReleasedBits
        What was released, one for each kind of release.
    epsilon : float or None
        The epsilon of the labels that the agent was told; None if they were the true ones.
    """

    run: str
    initiator: str
    method: str
    n_samples: int
    n_holdout: int
    releases: tuple[ReleasedBits, ...]
    epsilon: float | None = None


def runs_as_helper(home: Path, own_name: str, run: str = "") -> list[str]:
    """Return the runs that an agent remembers and has helped in, or only the one that is named.

    Parameters
    ----------
    home : path
        Where the agent keeps its runs.
    own_name : str
        The agent's name. Runs in which it is the initiator are left out.
    run : str, optional
        The name of the only run that is wanted; ``RunError`` is raised if the agent has not helped in it.
    """
    known = [name for name in runs_at(home) if _store(home, name).opened()["initiator"] != own_name]
    if run and run not in known:
        raise RunError(
            f"Agent {own_name!r} has helped in no run {run!r}. The runs it remembers: {', '.join(known) or 'none'}."
        )
    return [run] if run else known


def releases_of(home: Path, run: str, entries: Sequence[Entry]) -> RunReleases:
    """Return what was released in a run that the agent remembers.

    Parameters
    ----------
    home : path
        Where the agent keeps its runs.
    run : str
        The run's name.
    entries : sequence of Entry
        The entries of this run in the agent's ledger.
    """
    store = _store(home, run)
    initiator, begin = str(store.opened()["initiator"]), store.task()
    if begin is None:
        return RunReleases(run, initiator, "", 0, 0, ())
    task = decode(begin)
    assert isinstance(task, m.Begin)
    rows = store.rows()
    held = np.zeros(task.n_samples, dtype=bool) if rows is None else rows >= 0
    aside = np.zeros_like(held) if task.holdout is None else unpack_bits(task.holdout, task.n_samples)
    told = added_up(_told_in_turns(store, task.n_classes))
    counted = [entry for entry in entries if entry.direction == "received" and entry.type == type_of(m.Predict)]
    n_votes = sum(entry.amount or 0 for entry in counted)
    if n_votes:
        sent = [entry.bytes for entry in entries if entry.direction == "sent" and entry.type == type_of(m.Scores)]
        bits = Task.of(task, None, 0.0).method.vote_bits(task.n_classes)
        told.append(votes(bits, task.n_classes, len(sent), sum(sent), n_votes))
    return RunReleases(run, initiator, task.method, *_counts(held, aside), tuple(told), task.epsilon)


def forgotten_runs(ledger: Path, remembered: Sequence[str]) -> dict[str, int]:
    """Return the runs that only the ledger still knows, each with the bits of its replies that told something."""
    bits: dict[str, int] = {}
    for entry in read(ledger):
        if entry.direction == "sent" and entry.type in TELLING and entry.run not in remembered:
            bits[entry.run] = bits.get(entry.run, 0) + 8 * entry.bytes
    return bits


def _counts(held: Bools, aside: Bools) -> tuple[int, int]:
    """Return how many of the people that the agent holds are trained on, and how many are held out."""
    return int(np.count_nonzero(held & ~aside)), int(np.count_nonzero(held & aside))


def _told_in_turns(store: RunStore, n_classes: int) -> Iterator[ReleasedBits]:
    for past in store.past_turns():
        reply = decode(past.reply)
        if isinstance(reply, m.TurnTaken):
            yield from releases_in(reply, n_classes)


def _store(home: Path, run: str) -> RunStore:
    return RunStore(run_folder(home, run))
