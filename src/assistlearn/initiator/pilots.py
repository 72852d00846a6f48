"""A pilot over messages: train on a part of the samples, then open others, a block at a time."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from functools import partial

import numpy as np

from assistlearn.alignment.ids import Rows
from assistlearn.core import votes
from assistlearn.core.people import at
from assistlearn.evaluation.metrics import losses
from assistlearn.evaluation.pilots import Weighing, drawn
from assistlearn.evaluation.words import Terms
from assistlearn.events import Event, SamplesOpened
from assistlearn.initiator.opening import to_train_on
from assistlearn.initiator.prediction import AgentVotes, decided, own_votes, voters, votes_in_part
from assistlearn.initiator.run import OpenRun, messages_of, own_numbers
from assistlearn.initiator.training import own_agent, own_samples, task_of, train
from assistlearn.learners.model import take_rows
from assistlearn.session.judging import Deciding, Votes
from assistlearn.session.setup import train_alone
from assistlearn.types import Codes, Floats

PURPOSE = "a pilot: whether assistance is worth it"
"""What helpers are told where the initiator does not say what a pilot is for."""


def pilot(run: OpenRun, terms: Terms) -> Iterator[Event]:
    """Train, open samples and write the answer, from where the pilot was interrupted; yield the events.

    The labels of the samples that are opened never leave the initiator: they are no part of the run that is trained. A
    helper is asked for its votes on a block only if the answer still needs it.
    """
    parted, pool, n_training = divided(run, terms)
    if run.folder.result() is None:
        yield from train(parted)
    if run.folder.worth() is None:
        yield from _open(parted, run.table.labels, pool, n_training, terms)


def divided(run: OpenRun, terms: Terms) -> tuple[OpenRun, Rows, int]:
    """Return the run in which only the rows to train on have labels, the rows that may be opened, and how many train.

    Which samples are which is drawn in the order of their ids, not of the table. Helpers are told the seed. If a table
    were sorted by its labels, they could work out the labels of the samples that they are asked about.
    """
    labels, labelled = run.table.labels, to_train_on(run, by_ids=True)
    names = np.array([str(name) for name in run.settings.classes])
    training, pool = drawn(terms, names[labels[labelled]], run.settings.plan.seed, at(run.table.groups, labelled))
    hidden = np.full_like(labels, -1)
    hidden[labelled[training]] = labels[labelled[training]]
    return replace(run, table=replace(run.table, labels=hidden)), labelled[pool], len(training)


def _open(run: OpenRun, labels: Codes, pool: Rows, n_training: int, terms: Terms) -> Iterator[Event]:
    """Open samples until the questions are answered, and write down what was found.

    Where labels stay with the initiator, all samples are opened: the time of the stop would reveal labels.
    """
    all_of_them = run.settings.plan.make_method().keeps_labels
    helpers, kept = voters(run, pool)
    pool = pool[kept]
    alone = _losses(*alone_on(run, pool), labels[pool], terms)
    own = None if run.settings.label_only else own_votes(run, pool)
    weighing, opened = Weighing(terms, run.settings.helpers), run.folder.opened()
    for block in opened:  # before an interruption
        weighing.hear(block)
    while weighing.n_opened < len(pool) and (all_of_them or not weighing.answered):
        start, stop = weighing.n_opened, min(weighing.n_opened + terms.block, len(pool))
        said = {each.helper: votes_in_part(run, each, kept, start, stop) for each in helpers}
        if own is not None:
            mine = AgentVotes(own.known[start:stop], own.scores[start:stop], own.weight)
            said = {run.settings.initiator: mine} | said
        helped = _with_help(run, weighing, pool[start:stop], said, labels, terms)
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
    worth = weighing.worth(n_training, len(pool), n_bytes, run.settings.label_only)
    run.folder.write_worth(worth.to_dict())


def _with_help(
    run: OpenRun, weighing: Weighing, rows: Rows, said: Mapping[str, AgentVotes], labels: Codes, terms: Terms
) -> Iterator[Floats]:
    """Yield the losses on some samples for each set of helpers, as if the other helpers were absent."""
    for helpers in weighing.sets:
        there = {name: each for name, each in said.items() if name == run.settings.initiator or name in helpers}
        prediction = decided(run, rows, there)
        yield _losses(prediction.scores, prediction.probabilities, labels[rows], terms)


def _losses(scores: Floats, probabilities: Floats, labels: Codes, terms: Terms) -> Floats:
    return losses(terms.loss, labels, votes.winners(scores), probabilities)


def alone_on(run: OpenRun, rows: Rows) -> tuple[Floats, Floats]:
    """Return the scores and probabilities of what the initiator alone predicts for some rows.

    It is trained on the samples that have labels, without a message to anybody, with as many turns as all agents of the
    run have together. Nothing of this training is kept. An initiator that has labels alone predicts the shares of the
    classes.
    """
    if run.settings.label_only:
        prediction = decided(run, rows, {})
        return prediction.scores, prediction.probabilities
    training, plan, agent = to_train_on(run), run.settings.plan, own_agent(run)
    task, n_models = task_of(run, training), plan.n_rounds * len(run.settings.agents)
    made, session, n_rounds = train_alone(task, agent, partial(own_samples, run, training), n_models)
    learned = None if session.combining is None else session.combining.final
    deciding = Deciding(
        plan.make_method(), made.class_shares, learned, made.calibration(session, n_rounds), made.task.order
    )
    scores = agent.scores(take_rows(run.holdings.features, rows), len(rows), task.n_classes, made.methods[agent.name])
    own = None if learned is None else own_numbers(run, rows)
    decision = deciding.about({agent.name: Votes(scores, agent.total_weight)}, len(rows), own)
    return decision.total, decision.probabilities
