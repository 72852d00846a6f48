"""What an agent has released in each run and of each limit, and an attack on its own transcript."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from assistlearn.agent.agent import Task
from assistlearn.agent.limits import OwnerLimits, use_of
from assistlearn.agent.loading import Holdings
from assistlearn.agent.privacy import PrivacyKeeper
from assistlearn.agent.run import AgentRun
from assistlearn.agent.store import RunStore, runs_at
from assistlearn.alignment.ids import Rows
from assistlearn.core.ignorance import NEGLIGIBLE
from assistlearn.core.state import votes_of
from assistlearn.errors import RunError
from assistlearn.evaluation.attacks import (
    SHARES,
    attribute_inferences,
    beside,
    of_labels,
    said_of_classes,
    target_of,
)
from assistlearn.learners.model import packages_of
from assistlearn.protocol import messages as m
from assistlearn.protocol.arrays import unpack_bits, unpack_reward
from assistlearn.protocol.codec import ReleasedBits, added_up, decode, releases_in, type_of, votes
from assistlearn.protocol.ledger import Entry, counted, entries_of, read
from assistlearn.types import Codes, Floats

TELLING = (type_of(m.TurnTaken), type_of(m.Scores))


@dataclass(frozen=True)
class RunReleases:
    """What was released in one run, one for each kind of release.

    ``method`` is empty if training never began. ``n_samples`` and ``n_holdout`` are how many of the agent's people were
    trained on, and held out. ``epsilon`` is that of the labels that the agent was told; None if they were the true
    ones.
    """

    run: str
    initiator: str
    method: str
    n_samples: int
    n_holdout: int
    releases: tuple[ReleasedBits, ...]
    epsilon: float | None = None


def runs_as_helper(home: Path, own_name: str, run: str = "") -> list[str]:
    """Return remembered runs, or only ``run``; not those that the agent has led itself."""
    known = [name for name in runs_at(home) if RunStore.at(home, name).opened()["initiator"] != own_name]
    if run and run not in known:
        raise RunError(
            f"Agent {own_name!r} has helped in no run {run!r}. The runs it remembers: {', '.join(known) or 'none'}."
        )
    return [run] if run else known


def releases_of(home: Path, run: str, entries: Sequence[Entry]) -> RunReleases:
    store = RunStore.at(home, run)
    initiator, begin = str(store.opened()["initiator"]), store.task()
    if begin is None:
        return RunReleases(run, initiator, "", 0, 0, ())
    task = decode(begin)
    assert isinstance(task, m.Begin)
    rows = store.rows()
    held = np.zeros(task.n_samples, dtype=bool) if rows is None else rows >= 0
    aside = np.zeros_like(held) if task.holdout is None else unpack_bits(task.holdout, task.n_samples)
    replies = [decode(past.reply) for past in store.past_turns()]
    told = added_up(
        each for reply in replies if isinstance(reply, m.TurnTaken) for each in releases_in(reply, task.n_classes)
    )
    counted = [entry for entry in entries if entry.direction == "received" and entry.type == type_of(m.Predict)]
    n_votes = sum(entry.amount or 0 for entry in counted)
    if n_votes:
        sent = [entry.bytes for entry in entries if entry.direction == "sent" and entry.type == type_of(m.Scores)]
        bits = Task.of(task, None, 0.0).method.vote_bits(task.n_classes)
        told.append(votes(bits, task.n_classes, len(sent), sum(sent), n_votes))
    n_samples, n_holdout = int(np.count_nonzero(held & ~aside)), int(np.count_nonzero(held & aside))
    return RunReleases(run, initiator, task.method, n_samples, n_holdout, tuple(told), task.epsilon)


def forgotten_runs(ledger: Path, remembered: Sequence[str]) -> dict[str, int]:
    """Return the runs that only the ledger still knows, each with the bits that told something."""
    bits: dict[str, int] = {}
    for entry in read(ledger):
        if entry.direction == "sent" and entry.type in TELLING and entry.run not in remembered:
            bits[entry.run] = bits.get(entry.run, 0) + 8 * entry.bytes
    return bits


# An initiator has what was released in all its runs, so the runs are put side by side. The initiator's own columns are
# not known here. An attacker that has them guesses better.


@dataclass(frozen=True, eq=False)
class OwnTranscript:
    """What was told about an agent's people; ``rows`` are theirs in its table.

    ``left_out`` are runs whose rows are those of an earlier table. ``labels``, of shape (n_people, any), are NaN for
    people who were not in a run. ``told``, of the same shape, is what was released, turn by turn, and the votes if any
    were sent.
    """

    runs: tuple[str, ...]
    left_out: tuple[str, ...]
    rows: Rows
    labels: Floats
    told: Floats
    with_votes: bool


def transcript_of(own: Holdings, runs: Sequence[str]) -> OwnTranscript:
    stores = {run: RunStore.at(own.home, run, packages_of(own.estimator)) for run in runs}
    begun = {run: store for run, store in stores.items() if store.task() is not None and store.rows() is not None}
    used = {run: store for run, store in begun.items() if store.fingerprint() == own.fingerprint}
    if not used:
        raise RunError(_nothing(own.name, runs, changed=bool(begun)))
    n_rows = len(own.ids)
    labels, told, with_votes = [], [], False
    for store in used.values():
        task, at, codes = _task_of(store)
        labels.append(_placed(of_labels(codes, task.n_classes), at, n_rows))
        for past in store.past_turns():
            reply = decode(past.whole)
            if isinstance(reply, m.TurnTaken) and reply.model_weight > NEGLIGIBLE:
                reward = unpack_reward(reply.reward, codes, task.n_classes)
                told.append(_placed(said_of_classes(reward, codes, task.n_classes), at, n_rows))
        voted = _votes(own, store, task, at)
        with_votes |= voted is not None
        told += [] if voted is None else [_placed(voted, at, n_rows)]
    rows = np.flatnonzero(np.isfinite(np.column_stack(labels)).any(axis=1))
    return OwnTranscript(
        tuple(used),
        tuple(run for run in begun if run not in used),
        rows,
        beside([one[rows] for one in labels], len(rows)),
        beside([one[rows] for one in told], len(rows)),
        with_votes,
    )


def _task_of(store: RunStore) -> tuple[Task, Rows, Codes]:
    begin = store.task()
    assert begin is not None
    message = decode(begin)
    assert isinstance(message, m.Begin)
    task = Task.of(message, store.rows(), 0.0)
    assert task.rows is not None
    return task, task.rows[~task.aside], task.training_codes


def _votes(own: Holdings, store: RunStore, task: Task, rows: Rows) -> Floats | None:
    """Return the votes of the kept models on all training samples; None if votes were never sent.

    The agent does not keep which samples were asked for, so all are counted. If the owner randomises votes, these
    are randomised in the same way.
    """
    entries = entries_of(own.home / "ledger.jsonl", store.folder.name)
    if not any(entry.direction == "sent" and entry.type == type_of(m.Scores) for entry in entries):
        return None
    run, held = AgentRun(own, store).loaded(), rows >= 0
    said = run.votes(rows, None if run.privacy is None else run.privacy.voting(rows, task))
    votes = np.full((len(held), task.n_classes), np.nan)
    votes[held] = votes_of(task.method.released_votes(said, run.agent.total_weight))
    return votes


def _placed(numbers: Floats, rows: Rows, n_rows: int) -> Floats:
    """Put the numbers of samples into the agent's rows; all other rows are NaN."""
    out: Floats = np.full((n_rows, numbers.shape[1]), np.nan)
    out[rows[rows >= 0]] = numbers[rows >= 0]
    return out


def _nothing(name: str, runs: Sequence[str], changed: bool) -> str:
    named = ", ".join(runs)
    if changed:
        return (
            f"Agent {name!r}: its table has changed since these runs, so it is not known which rows they were about: "
            f"{named}. Restore the old table to try the attack."
        )
    return (
        f"Agent {name!r} was given no task in these runs, and released nothing that could be attacked: "
        f"{named or 'none'}."
    )


SEEDS = (0, 1, 2)


def attack(
    features: pl.DataFrame,
    transcript: OwnTranscript,
    shares: Sequence[float] = SHARES,
    seeds: Sequence[int] = SEEDS,
) -> Iterator[dict[str, Any]]:
    """Yield of each column how well an attacker who knows it for ``shares`` of the samples guesses the rest.

    ``what`` says what is guessed: nothing where all values are the same. ``inferred`` has the results, without shares
    of too few samples.
    """
    for column in features[transcript.rows].iter_columns():
        target = target_of(column.to_numpy())
        tried = []
        if target is not None:
            for share in shares:
                tried += attribute_inferences(target, transcript.labels, [transcript.told], share, seeds)
        inferred = [asdict(one) for one in tried]
        yield {"column": column.name, "what": "" if target is None else target.what, "inferred": inferred}


def limits_at(own: Holdings, now: datetime) -> list[dict[str, Any]]:
    """Return what is spent and left of each limit of an agent: see :func:`~assistlearn.agent.limits.use_of`."""
    allowed = [] if own.limits is None else list(_allowed(own, own.limits, now))
    names = dict.fromkeys(each["initiator"] for each in allowed if each["initiator"] is not None)
    return allowed + ([] if own.privacy is None else list(_private(own.privacy, names)))


def _allowed(own: Holdings, limits: OwnerLimits, now: datetime) -> Iterator[dict[str, Any]]:
    tally, day = counted(own.home / "ledger.jsonl"), now.date().isoformat()
    for initiator in dict.fromkeys([*limits.initiators, *tally.consented(now)]):
        yield from limits.used(initiator, tally.of(initiator), day)
    for name, most in limits.of_one_run().items():
        yield use_of(f"allow.{name}", None, "in one run", most)


def _private(keeper: PrivacyKeeper, initiators: Iterable[str]) -> Iterator[dict[str, Any]]:
    rules = keeper.rules
    for initiator in dict.fromkeys([*initiators, *keeper.book.initiators()]):
        told = keeper.book.of(initiator)
        for key, counts, most, values in (
            ("max_bits_per_sample", "bits of one person, in all", rules.max_bits_per_sample, told.bits),
            ("max_predictions", "predictions of one person, in all", rules.max_predictions, told.votes),
            ("max_epsilon", "epsilon of one person, in all", rules.max_epsilon, told.epsilon()),
        ):
            if most is not None:
                spent = float(np.max(values, initial=0))
                yield use_of(f"privacy.{key}", initiator, counts, most, spent, max(most - spent, 0.0))
    for key, counts, said in (
        ("max_rounds", "turns that tell something of samples, in one run", rules.max_rounds),
        ("min_samples", "people of each class at the least, in one run", rules.min_samples),
        ("methods", "which methods", rules.methods),
        ("randomise", "epsilon of one answer", rules.randomise),
    ):
        if said is not None:
            yield use_of(f"privacy.{key}", None, counts, said)
