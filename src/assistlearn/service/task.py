"""One run at one agent: from the opening to the last prediction, rebuilt from its memory after a crash."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from assistlearn.agents.agent import ABSTAINS, Agent, Answer, KeptModel, Turn
from assistlearn.core import SoftReward
from assistlearn.core.starting import start_state
from assistlearn.core.votes import Codes
from assistlearn.errors import OutOfOrderError, ProtocolError
from assistlearn.learners import Honesty
from assistlearn.learners.seeding import MAX_SEED
from assistlearn.learners.weighting import take_rows
from assistlearn.protocol import messages as m
from assistlearn.protocol.arrays import (
    MAX_CLASSES,
    ClassCodes,
    Levels,
    pack_bits,
    pack_codes,
    pack_levels,
    pack_numbers,
    unpack_bits,
    unpack_codes,
    unpack_numbers,
)
from assistlearn.protocol.codec import decode, encode
from assistlearn.protocol.rewards import pack_reward
from assistlearn.service.replica import Replica
from assistlearn.service.store import PastTurn, RunStore

MAX_PREDICTED = 1_000_000
"""How many samples' votes go into one message."""

MAX_SCORES = 100_000_000
"""How many numbers these votes are at the most: samples times classes."""

MAX_FOLDS = 100
"""How many folds an agent can be asked to fit in one turn."""


class Task:
    """An agent's part in one run.

    Parameters
    ----------
    name : str
        The agent's name.
    estimator : classifier
        Its learner.
    features : table
        Its private table, all rows.
    memory : RunStore
        Where it remembers the run.
    """

    def __init__(self, name: str, estimator: Any, features: Any, memory: RunStore) -> None:
        self._agent = Agent(name, estimator)
        self._estimator = estimator
        self._features = features
        self._memory = memory
        self._begin: m.Begin | None = None
        self._replica: Replica | None = None
        self._rows: Any = None
        self._models_of: dict[int, int] = {}
        self._replies: dict[int, bytes] = {}

    @classmethod
    def recalled(cls, name: str, estimator: Any, features: Any, memory: RunStore) -> Task:
        """Return the task as the agent remembers it."""
        task = cls(name, estimator, features, memory)
        begin = memory.task()
        if begin is None:
            return task
        message = decode(begin)
        assert isinstance(message, m.Begin)
        task._begin = message
        ended = memory.ended()
        if ended is None:
            task._prepare(message)
        for turn in memory.past_turns():
            task._recall(turn, replay=ended is None)
        if ended is not None:
            task._agent.end(ended)
        return task

    def begin(self, message: m.Begin, request: bytes) -> m.Ready:
        """Take the task: labels, weights, hold-out samples. Asked again with the same task, answer the same."""
        before = self._memory.task()
        if before is not None and before != request:
            raise OutOfOrderError(f"Run {message.run!r} has begun here already, with another task.")
        if before is None or self._begin is None:
            self._prepare(message)
            self._begin = message
            self._memory.keep_task(request)
        rows = self._memory.rows()
        return m.Ready(run=message.run, n_held=int(np.count_nonzero(rows >= 0)) if rows is not None else 0)

    def take_turn(self, message: m.TakeTurn, request: bytes) -> m.TurnTaken | m.Problem:
        """Take a turn; asked for one that is done already, give the same answer again."""
        if message.turn in self._replies:
            reply = decode(self._replies[message.turn])
            assert isinstance(reply, m.TurnTaken)
            return reply
        begin, replica = self._ready(message.run)
        if self._memory.ended() is not None:
            raise OutOfOrderError(
                f"Training of run {message.run!r} has ended here; turn {message.turn} comes too late."
            )
        _check_seed(message.seed)
        if message.since != replica.known and message.state is None:
            text = f"This agent knows the run up to turn {replica.known}, not {message.since}."
            return m.Problem(run=message.run, kind="behind", text=text, known=replica.known)
        replica.catch_up(message)
        answer = self._agent.take_turn(Turn(message.turn, message.round, message.seed), replica.state)
        reply = _turn_taken(message, answer, begin)
        kept = None if answer.verdict.useless else self._agent.models[-1]
        self._memory.keep_turn(message.turn, request, encode(reply), kept.model if kept else None, self._agent.honest)
        self._note(message.turn, message.round, encode(reply), answer)
        return reply

    def end(self, message: m.End) -> m.Ended:
        """Cut back to the rounds that count, and let go of the training rows."""
        if self._begin is None:
            raise OutOfOrderError(f"Run {message.run!r} has not begun here; it cannot end.")
        if message.n_rounds < 0:
            raise ProtocolError(f"A result cannot be made of {message.n_rounds} rounds.")
        ended = self._memory.ended()
        if ended is not None and ended != message.n_rounds:
            raise OutOfOrderError(f"Run {message.run!r} has ended here after round {ended}, not {message.n_rounds}.")
        if ended is None:
            last = math.inf if message.last_turn is None else message.last_turn
            counts = [turn <= last and round <= message.n_rounds for turn, round in self._models_of.items()]
            self._memory.end(
                message.n_rounds, [turn for turn, kept in zip(self._models_of, counts, strict=True) if not kept]
            )
            self._agent.models[:] = [model for model, kept in zip(self._agent.models, counts, strict=True) if kept]
            self._agent.end(message.n_rounds)
            self._replica = None
        return m.Ended(run=message.run, n_models=len(self._agent.models))

    def predict(self, message: m.Predict, rows: Any) -> m.Scores:
        """Return the votes on the samples that the agent holds, of those asked for."""
        if self._begin is None or self._memory.ended() is None:
            raise OutOfOrderError(f"Run {message.run!r} is not finished here; there is nothing to predict with.")
        most = min(MAX_PREDICTED, MAX_SCORES // self._begin.n_classes)
        if not 0 <= message.start <= message.stop <= len(rows) or message.stop - message.start > most:
            raise ProtocolError(
                f"Samples {message.start} to {message.stop} were asked for; {len(rows)} are aligned, and at most "
                f"{most:,} are answered at once."
            )
        asked = rows[message.start : message.stop]
        held = asked >= 0
        scores = np.zeros((0, self._begin.n_classes))
        if held.any():
            table = take_rows(self._features, asked[held])
            scores = self._agent.scores(table, int(held.sum()), self._begin.n_classes)
        total = self._agent.total_weight
        return m.Scores(run=message.run, known=pack_bits(held), scores=pack_numbers(scores), total_weight=total)

    def _prepare(self, begin: m.Begin) -> None:
        """Check the task and hand the agent its training rows."""
        rows = self._memory.rows()
        if rows is None:
            raise OutOfOrderError(f"Run {begin.run!r}: the samples are not aligned yet.")
        n = begin.n_samples
        if len(rows) != n or not 2 <= begin.n_classes < MAX_CLASSES:
            raise ProtocolError(f"{len(rows)} samples are aligned; the task has {n}, and {begin.n_classes} classes.")
        _check_settings(begin)
        codes = unpack_codes(begin.labels, n, begin.n_classes)
        aside = np.zeros(n, bool) if begin.holdout is None else unpack_bits(begin.holdout, n)
        train = np.flatnonzero(~aside)
        if len(train) == 0:
            raise ProtocolError("Every sample is held out: there is nothing to train on.")
        weights = None if begin.weights is None else unpack_numbers(begin.weights, n)[train]
        if weights is not None and ((weights < 0.0).any() or not (weights > 0.0).any()):
            raise ProtocolError("Initial weights must not be negative, nor all zero.")
        state = start_state(
            begin.method,
            len(train),
            begin.n_classes,
            weights,
            loss=begin.loss,
            shrinkage=begin.shrinkage,
            score_bits=begin.score_bits,
        )
        self._replica = Replica(state, len(train), _score_bits(begin))
        self._agent = Agent(self._agent.name, self._estimator, Honesty(begin.reward, begin.cv))
        held = rows[train] >= 0
        held_out = rows[np.flatnonzero(aside)]
        self._agent.begin(
            take_rows(self._features, rows[train][held]),
            codes[train],
            begin.seed,
            holdout=take_rows(self._features, held_out[held_out >= 0]) if aside.any() else None,
            held=None if held.all() else held,
            holdout_held=None if (held_out >= 0).all() else held_out >= 0,
        )

    def _recall(self, past: PastTurn, replay: bool) -> None:
        """Take up a turn that was done before a crash: its model, and its effect on the state."""
        request, reply = decode(past.request), decode(past.reply)
        assert isinstance(request, m.TakeTurn)
        assert isinstance(reply, m.TurnTaken)
        if replay:
            assert self._replica is not None
            self._replica.catch_up(request)
            self._replica.remember(past.number, reply.reward)
            if past.honest:
                self._agent.become_honest()
        if past.model is not None:
            model = self._memory.model(past.model)
            self._agent.models.append(KeptModel(request.round, reply.model_weight, model))
            self._models_of[past.number] = request.round
        self._replies[past.number] = past.reply

    def _note(self, turn: int, round: int, reply: bytes, answer: Answer) -> None:
        assert self._replica is not None
        self._replies[turn] = reply
        self._replica.remember(turn, pack_reward(answer.reward, self._replica.score_bits))
        if not answer.verdict.useless:
            self._models_of[turn] = round

    def _ready(self, run: str) -> tuple[m.Begin, Replica]:
        if self._begin is None or self._replica is None:
            raise OutOfOrderError(f"Run {run!r} has not begun here.")
        return self._begin, self._replica


def _check_settings(begin: m.Begin) -> None:
    """Refuse settings that no run can have."""
    _check_seed(begin.seed)
    if not 2 <= begin.cv <= MAX_FOLDS:
        raise ProtocolError(f"Honest rewards take 2 to {MAX_FOLDS} folds, not {begin.cv}.")
    if not 0.0 < begin.shrinkage <= 1.0:
        raise ProtocolError(f"The shrinkage lies between 0 and 1, and is not {begin.shrinkage}.")


def _check_seed(seed: int) -> None:
    """Refuse what no learner takes as its seed."""
    if not 0 <= seed <= MAX_SEED:
        raise ProtocolError(f"A seed lies between 0 and {MAX_SEED}, and is not {seed}.")


def _turn_taken(message: m.TakeTurn, answer: Answer, begin: m.Begin) -> m.TurnTaken:
    verdict = answer.verdict
    return m.TurnTaken(
        run=message.run,
        turn=message.turn,
        reward=pack_reward(answer.reward, _score_bits(begin)),
        model_weight=verdict.model_weight,
        mean_reward=verdict.mean_reward,
        perfect=verdict.perfect,
        holdout=None if answer.holdout is None else _pack_holdout(answer.holdout, begin),
    )


def _pack_holdout(answers: Codes | SoftReward, begin: m.Begin) -> ClassCodes | Levels:
    """Return the answers for the hold-out samples; an abstention travels as one code more than there are classes."""
    if isinstance(answers, SoftReward):
        return pack_levels(answers.levels, begin.score_bits, answers.scale)
    return pack_codes(np.where(answers == ABSTAINS, begin.n_classes, answers), begin.n_classes + 1)


def _score_bits(begin: m.Begin) -> int | None:
    return begin.score_bits if begin.method == "soft" else None
