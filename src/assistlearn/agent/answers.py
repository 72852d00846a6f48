"""How an agent answers each kind of request: what it asks for, and the reply.

To add a request of your own, call ``register(Exchange(...))`` at every agent; then the agents understand its messages.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple, TypeAlias

import numpy as np

from assistlearn.agent.holdings import Holdings, moved_columns
from assistlearn.agent.run import AgentRun, known_before
from assistlearn.agent.store import EarlierTurns, RunStore, note_problem
from assistlearn.agent.task import Task
from assistlearn.alignment import HashHelper, Helper, Minimum, PsiHelper, ids_asked
from assistlearn.errors import AssistLearnError, CannotGoOnError, OutOfOrderError, ProtocolError, RefusedError, RunError
from assistlearn.learners.model import packages_of
from assistlearn.protocol import codec
from assistlearn.protocol import messages as m
from assistlearn.protocol.arrays import pack_bits, pack_levels, unpack_bits
from assistlearn.protocol.codec import Encoded, decode
from assistlearn.protocol.messages import Message
from assistlearn.storage import REMEDY


class Demand(NamedTuple):
    amount: int
    turn: int | None = None


Reply: TypeAlias = Message | Encoded


@dataclass(frozen=True)
class Exchange:
    """One type of request, and how it is answered in any run.

    ``reply`` is the answer other than a ``Problem``. ``demand`` returns what a request asks for, before any work; None
    if that is nothing that is counted. It raises if the request cannot be answered at all, so that it is not counted.
    """

    request: type[Message]
    reply: type[Message]
    answer: Callable[[AgentRun, Any, bytes], Reply]
    demand: Callable[[AgentRun, Any], Demand | None] = lambda run, message: None
    needs_open_run: bool = True
    needs_permission: bool = True


_EXCHANGES: dict[type[Message], Exchange] = {}


def register(exchange: Exchange) -> None:
    codec.learn(exchange.request, exchange.reply)
    _EXCHANGES[exchange.request] = exchange


def exchange_of(message: Message) -> Exchange | None:
    return _EXCHANGES.get(type(message))


# Opening a run: who asks, what for, and how samples will be matched.


def _open_demand(run: AgentRun, message: m.Open) -> Demand:
    if run.store.exists and run.store.opened() != _facts(message):
        raise OutOfOrderError(
            f"Run {message.run!r} was opened here before, with other settings. Use another name for a new run."
        )
    return Demand(0 if run.store.exists else 1)


def _open(run: AgentRun, message: m.Open, request: bytes) -> m.Opened:
    if not run.store.exists:
        run.store.open(_facts(message))
    return m.Opened(run=message.run, agent=run.own.name, n_rows=len(run.own.ids))


def _facts(message: m.Open) -> dict[str, Any]:
    return {name: getattr(message, name) for name in ("run", "initiator", "purpose", "alignment", "overlap")}


register(Exchange(m.Open, m.Opened, _open, _open_demand, needs_open_run=False))


# Matching samples: in two steps, for training or for prediction. Training is refused, and nothing is told, where the
# agent holds too few of the samples.


def _align_demand(run: AgentRun, message: m.Align) -> Demand | None:
    if message.purpose == "train" and run.store.task() is not None:
        raise OutOfOrderError("Training has begun: its samples cannot be aligned again.")
    if message.step != 1:
        return None
    n_ids = ids_asked(message.data, run.store.opened()["alignment"])
    if run.own.limits is not None:
        run.own.limits.check_samples(n_ids)
    _check_people(run, message, n_ids)
    return Demand(n_ids)


def _align(run: AgentRun, message: m.Align, request: bytes) -> m.Aligned:
    if message.step == 1:
        helper = helper_of(run.own, run.store.opened()["alignment"], message.purpose)
        data = helper.answer(message.data)
        _check_people(run, message, helper.n_found)
        run.aligning[message.purpose] = helper
    else:
        if message.purpose not in run.aligning:
            raise OutOfOrderError("No alignment is under way here. Start it again.")
        helper = run.aligning[message.purpose]
        data = helper.agree(message.data)
        _check_people(run, message, int(np.count_nonzero(helper.rows >= 0)))
        _, held = run.own.held()
        rows = helper.rows if held is None else np.append(held, -1)[helper.rows]  # -1 stays
        run.place(rows, message.purpose)
    return m.Aligned(run=message.run, step=message.step, data=data)


def _check_people(run: AgentRun, message: m.Align, n_people: int | None) -> None:
    if message.purpose != "train" or n_people is None:
        return
    if run.own.limits is not None:
        run.own.limits.check_people(n_people)
    if run.own.privacy is not None:
        run.own.privacy.check_people(n_people)


def helper_of(own: Holdings, alignment: str, purpose: str) -> Helper:
    """Return the helper's side of an alignment. It counts the rows of the people whom the agent holds."""
    ids, _ = own.held()
    minimum = Minimum(0, 0.0) if purpose == "predict" else None
    if alignment == "psi":
        return PsiHelper(ids, minimum=minimum)
    if own.secret is None:
        raise RefusedError(
            f"Agent {own.name!r} has no secret for alignment by keyed hashes. Name one in its file (secret = ...), or "
            "align by psi."
        )
    return HashHelper(ids, own.secret, minimum)


register(Exchange(m.Align, m.Aligned, _align, _align_demand))


# Training: the task, turns, and the end.


def _begin_demand(run: AgentRun, message: m.Begin) -> None:
    """Refuse a task of too many samples or too few people; and a new one for which ``[privacy]`` allows no turn."""
    rows, limits = run.store.rows(), run.own.limits
    if limits is not None:
        limits.check_samples(message.n_samples)
        if rows is not None and len(rows) == message.n_samples:  # else the task is not valid, as the reply will say
            held = rows >= 0
            if message.holdout is not None:
                held &= ~unpack_bits(message.holdout, len(rows))
            limits.check_people(int(np.count_nonzero(held)))
    if run.privacy is not None and rows is not None and run.store.task() is None:
        run.privacy.check_task(Task.of(message, rows, run.own.min_effective))


def _begin(run: AgentRun, message: m.Begin, request: bytes) -> m.Ready:
    ready = run.loaded().begin(message, request)
    run.aligning.pop("train", None)
    return ready


def _turn_demand(run: AgentRun, message: m.TakeTurn) -> Demand:
    done = run.store.has_turn(message.turn)
    if run.privacy is not None and not done:
        task = run.loaded().task
        if task is not None and task.rows is not None:
            run.privacy.check_turn(message.turn, run.n_told, task, run.told_rows(message))
    return Demand(0 if done else 1, message.turn)


def _take_turn(run: AgentRun, message: m.TakeTurn, request: bytes) -> Reply:
    return run.loaded().take_turn(message, request)


register(Exchange(m.Begin, m.Ready, _begin, _begin_demand))
register(Exchange(m.TakeTurn, m.TurnTaken, _take_turn, _turn_demand))
register(Exchange(m.TakeAgain, m.TurnTaken, _take_turn, _turn_demand))
register(Exchange(m.End, m.Ended, lambda run, message, request: run.loaded().end(message)))


# Going on from an earlier run: an agent copies those of its earlier turns that will be taken again.


SAME = ("method", "n_classes", "loss", "score_bits", "epsilon")


def _recall(run: AgentRun, message: m.Recall, request: bytes) -> Reply:
    packages = packages_of(run.own.estimator)
    copied = EarlierTurns(run.store, packages)
    before = copied.answered(request)
    if before is not None:
        return Encoded(decode(before), before)
    if copied.recall() is not None:
        raise OutOfOrderError(f"Run {message.run!r} already goes on from another run here, or with other turns.")
    task = run.loaded().task
    if task is None or run.n_turns:
        raise OutOfOrderError(f"Run {message.run!r} has not begun here, or its first turn has already been taken.")
    earlier = RunStore.at(run.own.home, message.earlier, packages)
    try:
        _check_earlier(run, earlier)
        copied.copy(earlier, message.turns)
        known_before(copied, task, message)
    except (CannotGoOnError, ProtocolError) as error:
        return m.Recalled(run=message.run, turns=[], why=str(error), table_changed=True)
    except AssistLearnError as error:  # the message may name files: only the owner may read it
        note_problem(run.own.home, f"Run {message.run!r} cannot go on from {message.earlier!r}: {error}")
        why = f"what it kept of run {message.earlier!r} was changed, damaged or lost; its owner finds which file "
        return m.Recalled(run=message.run, turns=[], why=why + "in problems.log", table_changed=True)
    changed = earlier.fingerprint() != run.own.fingerprint
    reply = Encoded.of(m.Recalled(run=message.run, turns=list(message.turns), why="", table_changed=changed))
    copied.close(request, reply.content)
    run.unload()
    return reply


def _check_earlier(run: AgentRun, earlier: RunStore) -> None:
    """Raise ``CannotGoOnError`` unless it is the same initiator, the same kind of task and the same columns.

    The error does not reveal whether there is a run with this name of another initiator.
    """
    name, initiator = earlier.folder.name, run.store.opened()["initiator"]
    if not earlier.exists or earlier.opened()["initiator"] != initiator:
        raise CannotGoOnError(f"it knows no run {name!r} of {initiator!r}; if there was one, it was forgotten")
    if earlier.ended() is None:
        raise CannotGoOnError(f"run {name!r} is not finished here")
    try:
        run.permits(m.Open(**earlier.opened()))
    except RefusedError as error:
        raise CannotGoOnError(f"its owner no longer allows run {name!r}: {error}") from None
    before, now = earlier.task(), run.store.task()
    if before is None or now is None:
        raise RunError(f"{earlier.folder / 'begin.msg'} is missing. {REMEDY}")
    then, present = decode(before), decode(now)
    other = [key for key in SAME if getattr(then, key) != getattr(present, key)]
    if other:
        raise CannotGoOnError(f"run {name!r} had another value of {other[0]}")
    if _columns(earlier.schema()) != _columns(run.own.schema):
        raise CannotGoOnError("the columns of its table are not those that its models were fitted to")
    words = moved_columns(run.own, earlier)
    if words and not run.own.accepts_moved_columns:
        told = f"Run {name!r}: the table has changed, as if units had changed:"
        note_problem(run.own.home, "\n".join([told, *words]))
        raise CannotGoOnError(f"{len(words)} of its columns have moved far since then, as if their units had changed")


def _columns(schema: Mapping[str, Any] | None) -> list[tuple[str, str]]:
    return [] if schema is None else [(column["name"], column["kind"]) for column in schema["columns"]]


register(Exchange(m.Recall, m.Recalled, _recall))


# Prediction: an agent's votes on samples that were aligned for it.


MAX_PREDICTED = 1_000_000

MAX_SCORES = 100_000_000
"""Samples times classes in these votes."""


def _predict_demand(run: AgentRun, message: m.Predict) -> Demand:
    rows = run.rows_to_predict
    if rows is None:
        raise OutOfOrderError("The samples to predict are not aligned yet.")
    task = run.loaded().task
    if task is None or not run.finished:
        raise OutOfOrderError(f"Run {message.run!r} is not finished here; there is nothing to predict with.")
    most = min(MAX_PREDICTED, MAX_SCORES // task.n_classes)
    if not 0 <= message.start <= message.stop <= len(rows) or message.stop - message.start > most:
        raise ProtocolError(
            f"Samples {message.start} to {message.stop} were asked for; {len(rows)} are aligned, and at most "
            f"{most:,} are answered at once."
        )
    if run.privacy is not None:
        run.privacy.check_votes(rows[message.start : message.stop], len(run.agent.models), task)
    again = run.voted_on == (message.start, message.stop)
    return Demand(0 if again else message.stop - message.start)


def _predict(run: AgentRun, message: m.Predict, request: bytes) -> m.Scores:
    task, rows = run.loaded().task, run.rows_to_predict
    assert task is not None
    assert rows is not None
    asked = rows[message.start : message.stop]
    votes = run.votes(asked, None if run.privacy is None else run.privacy.voting(asked, task))
    said = task.method.released_votes(votes, run.agent.total_weight)
    if run.privacy is not None:  # counted before it is told
        run.privacy.count_votes(asked, len(run.agent.models), task)
    run.voted_on = (message.start, message.stop)
    return m.Scores(
        run=message.run,
        known=pack_bits(asked >= 0),
        scores=pack_levels(said.levels, said.bits, said.scale),
        total_weight=run.agent.total_weight,
    )


register(Exchange(m.Predict, m.Scores, _predict, _predict_demand))


# Forgetting removes everything that an agent keeps of a run, except the entries of its ledger. It needs nobody's
# permission. It is recorded as a demand of nothing: a run that is opened again after this counts as another run.


def _forget(run: AgentRun, message: m.Forget, request: bytes) -> m.Forgotten:
    return m.Forgotten(run=message.run, n_models=run.store.forget())


register(Exchange(m.Forget, m.Forgotten, _forget, lambda run, message: Demand(0), needs_permission=False))
