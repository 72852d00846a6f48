"""How an agent answers each kind of request."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from typing import Any, ClassVar, NamedTuple

import numpy as np

from assistlearn.agent.holdings import Holdings, moved_columns
from assistlearn.agent.run import RunHere, known_before
from assistlearn.agent.store import EarlierTurns, RunStore, note_problem, run_folder
from assistlearn.agent.task import Task
from assistlearn.alignment import HashHelper, Helper, Minimum, PsiHelper, ids_asked
from assistlearn.alignment.ids import Rows
from assistlearn.errors import AssistLearnError, CannotGoOnError, OutOfOrderError, ProtocolError, RefusedError, RunError
from assistlearn.learners.model import packages_of
from assistlearn.protocol import codec
from assistlearn.protocol import messages as m
from assistlearn.protocol.arrays import pack_bits, unpack_bits
from assistlearn.protocol.codec import Encoded, decode
from assistlearn.protocol.messages import Message
from assistlearn.protocol.scores import pack_levels
from assistlearn.storage.files import REMEDY

# Whether an agent's turns of an earlier run may be taken again: same initiator, same kind of task, same columns.


SAME = ("method", "n_classes", "loss", "score_bits", "epsilon")
"""The settings that must not change, so that earlier answers mean the same now."""


def check_earlier(run: RunHere, earlier: RunStore) -> None:
    """Raise ``CannotGoOnError`` where turns of an earlier run may not be taken again.

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
    _check_task(run, earlier)
    _check_table(run.own, earlier)


def _check_task(run: RunHere, earlier: RunStore) -> None:
    before, now = earlier.task(), run.store.task()
    if before is None or now is None:
        raise RunError(f"{earlier.folder / 'begin.msg'} is missing. {REMEDY}")
    tasks = decode(before), decode(now)
    other = [key for key in SAME if getattr(tasks[0], key) != getattr(tasks[1], key)]
    if other:
        raise CannotGoOnError(f"run {earlier.folder.name!r} had another value of {other[0]}")


def _check_table(own: Holdings, earlier: RunStore) -> None:
    """Refuse models for columns that are no longer there, or that have moved far."""
    if _columns(earlier.schema()) != _columns(own.schema):
        raise CannotGoOnError("the columns of its table are not those that its models were fitted to")
    words = moved_columns(own, earlier)
    if words and not own.accepts_moved_columns:
        told = f"Run {earlier.folder.name!r}: the table has changed, as if units had changed:"
        note_problem(own.home, "\n".join([told, *words]))
        raise CannotGoOnError(f"{len(words)} of its columns have moved far since then, as if their units had changed")


def _columns(schema: Mapping[str, Any] | None) -> list[tuple[str, str]]:
    """Return the names and kinds of the columns."""
    return [] if schema is None else [(column["name"], column["kind"]) for column in schema["columns"]]


# What an exchange is: some requests, and how an agent answers them.


class Demand(NamedTuple):
    """How much a request asks for of what is counted, and in which turn, if it asks for a turn."""

    amount: int
    turn: int | None = None


class Exchange(ABC):
    """Answers some types of requests, for any run.

    Attributes
    ----------
    requests, replies : tuple of message types
        The messages that it answers, and its answers other than a ``Problem``.
    needs_open_run : bool
        Whether the run must have been opened here before.
    needs_permission : bool
        Whether the agent's owner must still allow the run.
    """

    requests: ClassVar[tuple[type[Message], ...]] = ()
    replies: ClassVar[tuple[type[Message], ...]] = ()
    needs_open_run: ClassVar[bool] = True
    needs_permission: ClassVar[bool] = True

    def demand(self, run: RunHere, message: Any) -> Demand | None:
        """Return what a request asks for, before any work; None if it asks for nothing that is counted.

        Raise if the request cannot be answered at all, so that it is not counted.
        """
        return None

    @abstractmethod
    def answer(self, run: RunHere, message: Any, request: bytes) -> Message | Encoded:
        """Return the reply to a request of one of its types; ``request`` are the bytes it came in."""


# Matching samples: in two steps, for training or for prediction.


class Aligning(Exchange):
    """``Align`` and ``Aligned``."""

    requests = (m.Align,)
    replies = (m.Aligned,)

    def demand(self, run: RunHere, message: Any) -> Demand | None:
        """Return how many ids the first step asks about; raise before any work if they are too many or too few."""
        if message.purpose == "train" and run.store.task() is not None:
            raise OutOfOrderError("Training has begun: its samples cannot be aligned again.")
        if message.step != 1:
            return None
        n_ids = ids_asked(message.data, run.store.opened()["alignment"])
        if run.own.limits is not None:
            run.own.limits.check_samples(n_ids)
        _check_people(run, message, n_ids)
        return Demand(n_ids)

    def answer(self, run: RunHere, message: Any, request: bytes) -> m.Aligned:
        """Do a step of the alignment; raise, and tell nothing, if there are too few people to train on."""
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
            run.place(_in_the_table(run.own, helper.rows), message.purpose)
        return m.Aligned(run=message.run, step=message.step, data=data)


def _check_people(run: RunHere, message: m.Align, n_people: int | None) -> None:
    """Refuse training if the agent holds too few of the samples; ``n_people`` is None if it is not known yet."""
    if message.purpose != "train" or n_people is None:
        return
    if run.own.limits is not None:
        run.own.limits.check_people(n_people)
    if run.own.privacy is not None:
        run.own.privacy.check_people(n_people)


def _in_the_table(own: Holdings, rows: Rows) -> Rows:
    """Return the rows of the table from those among the people whom the agent holds; -1 stays."""
    _, held = own.held()
    return rows if held is None else np.append(held, -1)[rows]


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


# Forgetting: an agent removes everything that it keeps of a run, except the entries of its ledger.


class Forgetting(Exchange):
    """``Forget`` and ``Forgotten``; it needs nobody's permission."""

    requests = (m.Forget,)
    replies = (m.Forgotten,)
    needs_permission = False

    def demand(self, run: RunHere, message: Any) -> Demand:
        """Return a demand of nothing. If the run is opened again after this, it counts as another run."""
        return Demand(0)

    def answer(self, run: RunHere, message: Any, request: bytes) -> m.Forgotten:
        """Remove the run; return how many models there were."""
        return m.Forgotten(run=message.run, n_models=run.store.forget())


# Opening a run: who asks, what for, and how samples will be matched.


class Opening(Exchange):
    """``Open`` and ``Opened``."""

    requests = (m.Open,)
    replies = (m.Opened,)
    needs_open_run = False

    def demand(self, run: RunHere, message: Any) -> Demand:
        """Return a demand of one run, or of none if the run is already open here."""
        if run.store.exists and run.store.opened() != _facts(message):
            raise OutOfOrderError(
                f"Run {message.run!r} was opened here before, with other settings. Use another name for a new run."
            )
        return Demand(0 if run.store.exists else 1)

    def answer(self, run: RunHere, message: Any, request: bytes) -> m.Opened:
        """Remember the run. If it was opened before with the same facts, answer the same."""
        if not run.store.exists:
            run.store.open(_facts(message))
        return m.Opened(run=message.run, agent=run.own.name, n_rows=len(run.own.ids))


def _facts(message: m.Open) -> dict[str, Any]:
    return {name: getattr(message, name) for name in ("run", "initiator", "purpose", "alignment", "overlap")}


# Prediction: an agent's votes on samples that were aligned for it.


MAX_PREDICTED = 1_000_000
"""The most samples whose votes go into one message."""

MAX_SCORES = 100_000_000
"""The most numbers in these votes: samples times classes."""


class Predicting(Exchange):
    """``Predict`` and ``Scores``."""

    requests = (m.Predict,)
    replies = (m.Scores,)

    def demand(self, run: RunHere, message: Any) -> Demand:
        """Return how many samples are to be voted on; none if the last answer had the same votes."""
        rows = run.rows_to_predict
        if rows is None:
            raise OutOfOrderError("The samples to predict are not aligned yet.")
        part = run.part()
        if not part.finished:
            raise OutOfOrderError(f"Run {message.run!r} is not finished here; there is nothing to predict with.")
        most = min(MAX_PREDICTED, MAX_SCORES // part.n_classes)
        if not 0 <= message.start <= message.stop <= len(rows) or message.stop - message.start > most:
            raise ProtocolError(
                f"Samples {message.start} to {message.stop} were asked for; {len(rows)} are aligned, and at most "
                f"{most:,} are answered at once."
            )
        if run.privacy is not None and part.task is not None:
            run.privacy.check_votes(rows[message.start : message.stop], len(part.agent.models), part.task)
        again = run.voted_on == (message.start, message.stop)
        return Demand(0 if again else message.stop - message.start)

    def answer(self, run: RunHere, message: Any, request: bytes) -> m.Scores:
        """Return the votes on the samples that the agent holds, of those asked for."""
        part = run.part()
        assert run.rows_to_predict is not None
        asked = run.rows_to_predict[message.start : message.stop]
        held = asked >= 0
        assert part.task is not None
        votes = part.votes(asked, None if run.privacy is None else run.privacy.voting(asked, part.task))
        said = part.task.method.released_votes(votes, part.agent.total_weight)
        if run.privacy is not None:
            run.privacy.count_votes(asked, len(part.agent.models), part.task)
        run.voted_on = (message.start, message.stop)
        return m.Scores(
            run=message.run,
            known=pack_bits(held),
            scores=pack_levels(said.levels, said.bits, said.scale),
            total_weight=part.agent.total_weight,
        )


# Going on from an earlier run: an agent copies those of its earlier turns that will be taken again.


class Recalling(Exchange):
    """``Recall`` and ``Recalled``."""

    requests = (m.Recall,)
    replies = (m.Recalled,)

    def answer(self, run: RunHere, message: Any, request: bytes) -> m.Message | Encoded:
        """Copy the turns that can be taken again. The same request again gets the same answer."""
        packages = packages_of(run.own.estimator)
        kept = EarlierTurns(run.store, packages)
        before = kept.answered(request)
        if before is not None:
            return Encoded(decode(before), before)
        if kept.recall() is not None:
            raise OutOfOrderError(f"Run {message.run!r} already goes on from another run here, or with other turns.")
        task = run.part().task
        if task is None or run.part().n_turns:
            raise OutOfOrderError(f"Run {message.run!r} has not begun here, or its first turn has already been taken.")
        earlier = RunStore(run_folder(run.own.home, message.earlier), packages)
        try:
            check_earlier(run, earlier)
            kept.copy(earlier, message.turns)
            known_before(kept, task, message)
        except (CannotGoOnError, ProtocolError) as error:
            return m.Recalled(run=message.run, turns=[], why=str(error), table_changed=True)
        except AssistLearnError as error:  # the message may name files: only the owner may read it
            note_problem(run.own.home, f"Run {message.run!r} cannot go on from {message.earlier!r}: {error}")
            why = f"what it kept of run {message.earlier!r} was changed, damaged or lost; its owner finds which file "
            return m.Recalled(run=message.run, turns=[], why=why + "in problems.log", table_changed=True)
        changed = earlier.fingerprint() != run.own.fingerprint
        reply = Encoded.of(m.Recalled(run=message.run, turns=list(message.turns), why="", table_changed=changed))
        kept.close(request, reply.content)
        run.drop_part()
        return reply


# Training: the task, turns, and the end.


class Training(Exchange):
    """``Begin``, ``TakeTurn``, ``TakeAgain`` and ``End``, and their answers."""

    requests = (m.Begin, m.TakeTurn, m.TakeAgain, m.End)
    replies = (m.Ready, m.TurnTaken, m.Ended)

    def demand(self, run: RunHere, message: Any) -> Demand | None:
        """Return a demand of one turn, or of none if it is already done; check the size and privacy of a task."""
        if isinstance(message, m.Begin):
            _check_size(run, message)
            _check_privacy(run, message)
        if isinstance(message, m.TakeTurn):
            done = run.store.has_turn(message.turn)
            task = None if run.privacy is None or done else run.part().task
            if run.privacy is not None and task is not None and task.rows is not None:
                run.privacy.check_turn(message.turn, run.part().n_told, task, run.part().told_rows(message))
            return Demand(0 if done else 1, message.turn)
        return None

    def answer(self, run: RunHere, message: Any, request: bytes) -> m.Message | Encoded:
        """Accept the task, take a turn, or end training."""
        if isinstance(message, m.Begin):
            return self._begin(run, message, request)
        if isinstance(message, m.TakeTurn):
            return run.part().take_turn(message, request)
        return run.part().end(message)

    def _begin(self, run: RunHere, message: m.Begin, request: bytes) -> m.Ready:
        ready = run.part().begin(message, request)
        run.aligning.pop("train", None)
        return ready


def _check_privacy(run: RunHere, message: m.Begin) -> None:
    """Refuse a new task for which the rules of ``[privacy]`` allow no turn; a task that was accepted goes on."""
    rows = run.store.rows()
    if run.privacy is not None and rows is not None and run.store.task() is None:
        run.privacy.check_task(Task.of(message, rows, run.own.min_effective))


def _check_size(run: RunHere, message: m.Begin) -> None:
    """Refuse a task of too many samples, or with too few people that the agent would train on."""
    if run.own.limits is None:
        return
    run.own.limits.check_samples(message.n_samples)
    rows = run.store.rows()
    if rows is None or len(rows) != message.n_samples:
        return  # this is not a valid task, as the reply will say
    held = rows >= 0
    if message.holdout is not None:
        held &= ~unpack_bits(message.holdout, len(rows))
    run.own.limits.check_people(int(np.count_nonzero(held)))


# The exchanges: what an agent can be asked, one exchange per file, and the registry that finds the one for a request.
#
# To add your own exchange, write a class that inherits from :class:`~assistlearn.agent.answers.Exchange`,
# and call ``register(YourExchange())`` at every agent. From then on the agents understand its messages.


_EXCHANGES: dict[type[Message], Exchange] = {}


def register(exchange: Exchange) -> None:
    """Make the messages of an exchange known, and let it answer its requests."""
    codec.learn(*exchange.requests, *exchange.replies)
    _EXCHANGES.update(dict.fromkeys(exchange.requests, exchange))


for each in (Opening(), Aligning(), Recalling(), Training(), Predicting(), Forgetting()):
    register(each)


def exchange_of(message: Message) -> Exchange | None:
    """Return the exchange that answers a message; None for one that is no request."""
    return _EXCHANGES.get(type(message))
