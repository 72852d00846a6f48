"""A pilot over messages: train on a part of the samples, then open others, a block at a time."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace

import numpy as np

from assistlearn.alignment.ids import Rows
from assistlearn.core.people import at
from assistlearn.core.votes import winners
from assistlearn.evaluation.metrics import losses
from assistlearn.evaluation.pilots import Weighing, drawn
from assistlearn.evaluation.words import Terms
from assistlearn.events import Event, EventLog, SamplesOpened
from assistlearn.initiator.folder import ALONE, RunFolder
from assistlearn.initiator.opening import in_order_of_ids
from assistlearn.initiator.prediction import AgentVotes, Prediction, decided, own_votes, predict, voters
from assistlearn.initiator.run import OpenRun, messages_of, open_run
from assistlearn.initiator.training import train
from assistlearn.protocol import MemoryTransport
from assistlearn.storage import private_folder, remove_tree
from assistlearn.types import Codes, Floats

PURPOSE = "a pilot: whether assistance is worth it"
"""What helpers are told where the initiator does not say what a pilot is for."""


def pilot(run: OpenRun, terms: Terms) -> Iterator[Event]:
    """Train, open samples and write the answer, from where the pilot was interrupted; yield the events.

    The labels of the samples that are opened never leave the initiator: they are no part of the run that is trained. A
    helper is asked for its votes on a block only if the answer still needs it.
    """
    parted = Parted.of(run, terms)
    if run.folder.result() is None:
        yield from train(parted.run)
    if run.folder.worth() is None:
        yield from _open(parted, terms)


@dataclass(frozen=True)
class Parted:
    """A run in which only the samples to train on have labels, and the other samples, which may be opened.

    Which samples are which is drawn in the order of their ids, not of the table. Helpers are told the seed. If a table
    were sorted by its labels, they could work out the labels of the samples that they are asked about.
    """

    run: OpenRun  # all labels but those to train on are hidden
    labels: Codes  # of each of the initiator's rows, as a position in the run's classes
    pool: Rows  # the rows that may be opened, in the order of opening
    n_training: int

    @classmethod
    def of(cls, run: OpenRun, terms: Terms) -> Parted:
        labels = run.table.labels
        labelled = np.flatnonzero(labels >= 0)
        labelled = labelled[in_order_of_ids(run.ids_at(labelled))]
        names = np.array([str(name) for name in run.settings.classes])
        training, pool = drawn(terms, names[labels[labelled]], run.settings.plan.seed, at(run.table.groups, labelled))
        hidden = np.full_like(labels, -1)
        hidden[labelled[training]] = labels[labelled[training]]
        parted = replace(run, table=replace(run.table, labels=hidden))
        return cls(parted, labels, labelled[pool], len(training))


def _open(parted: Parted, terms: Terms) -> Iterator[Event]:
    """Open samples until the questions are answered, and write down what was found.

    Where labels stay with the initiator, all samples are opened: the time of the stop would reveal labels.
    """
    run = parted.run
    all_of_them = run.settings.plan.make_method().keeps_labels
    helpers, kept = voters(run, parted.pool)
    pool = parted.pool[kept]
    alone = _losses(alone_on(run, pool), parted.labels[pool], terms)
    own = None if run.settings.label_only else own_votes(run, pool)
    weighing, opened = Weighing(terms, run.settings.helpers), run.folder.opened()
    for block in opened:  # before an interruption
        weighing.hear(block)
    while weighing.n_opened < len(pool) and (all_of_them or not weighing.answered):
        start, stop = weighing.n_opened, min(weighing.n_opened + terms.block, len(pool))
        votes = {each.helper: each.ask(start, stop) for each in helpers}
        if own is not None:
            mine = AgentVotes(own.known[start:stop], own.scores[start:stop], own.weight)
            votes = {run.settings.initiator: mine} | votes
        helped = _with_help(run, weighing, pool[start:stop], votes, parted.labels, terms)
        block = np.array([alone[start:stop], *helped])
        run.folder.write_opened(start // terms.block + 1, block)
        weighing.hear(block)
        look = weighing.gains()[0].path[-1]
        event = SamplesOpened(look.n_opened, len(pool), look.estimate, look.lower, look.upper)
        run.log.append(event)
        yield event
    n_bytes = dict.fromkeys(run.settings.helpers, 0)
    for entry in messages_of(run):
        n_bytes[entry.peer] += entry.bytes
    worth = weighing.worth(parted.n_training, len(pool), n_bytes, run.settings.label_only)
    run.folder.write_worth(worth.to_dict())


def _with_help(
    run: OpenRun, weighing: Weighing, rows: Rows, votes: Mapping[str, AgentVotes], labels: Codes, terms: Terms
) -> Iterator[Floats]:
    """Yield the losses on some samples for each set of helpers, as if the other helpers were absent."""
    for helpers in weighing.sets:
        there = {name: said for name, said in votes.items() if name == run.settings.initiator or name in helpers}
        yield _losses(decided(run, rows, there), labels[rows], terms)


def _losses(prediction: Prediction, labels: Codes, terms: Terms) -> Floats:
    return losses(terms.loss, labels, winners(prediction.scores), prediction.probabilities)


def alone_on(run: OpenRun, rows: Rows) -> Prediction:
    """Return what the initiator alone predicts for some rows, trained on the samples of a run.

    It trains a run of its own agent, without a message to anybody, with as many turns as all agents of the run have
    together. Nothing of this training is kept. An initiator that has labels alone predicts the shares of the classes.
    """
    if run.settings.label_only:
        return decided(run, rows, {})
    home = run.folder.path / ALONE
    remove_tree(home)  # left by an earlier try
    private_folder(home)
    try:
        single = _single(run)
        for _ in train(single):
            pass
        return predict(single, single.ids_at(rows), rows)
    finally:
        remove_tree(home)


def _single(run: OpenRun) -> OpenRun:
    settings = run.settings
    plan = replace(settings.plan, n_rounds=settings.plan.n_rounds * len(settings.agents))
    folder = RunFolder(run.folder.path / ALONE)
    folder.write_settings(replace(settings, agents=[settings.initiator], plan=plan), run.folder.permutation())
    holdings = replace(run.holdings, home=folder.path / "models")
    return open_run(folder, holdings, run.table, MemoryTransport({}), EventLog())
