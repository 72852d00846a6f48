"""An agent's part in one run, from the task to the last model. After a crash it is rebuilt from what was stored."""

from __future__ import annotations

import math
from dataclasses import replace
from functools import cached_property
from typing import Any

import numpy as np

from assistlearn.agents import Agent, Answer, KeptModel, Retelling, Retold, Turn
from assistlearn.alignment.matching import Rows
from assistlearn.core import Verdict
from assistlearn.core.ignorance import Floats
from assistlearn.errors import OutOfOrderError, ProtocolError
from assistlearn.learners.models_on_disk import packages_of
from assistlearn.learners.seeding import MAX_RUN_SEED, MAX_SEED, TurnSeeds
from assistlearn.learners.weighting import take_rows
from assistlearn.methods.verdicts import Standpoint
from assistlearn.protocol import messages as m
from assistlearn.protocol.codec import Encoded, decode
from assistlearn.protocol.rewards import pack_holdout, pack_reward
from assistlearn.service.earlier_turns import EarlierTurns
from assistlearn.service.holdings import Holdings
from assistlearn.service.moved_columns import check_columns
from assistlearn.service.privacy.run_privacy import RunPrivacy
from assistlearn.service.proof import MOST_MODELS
from assistlearn.service.replica import OwnTurn, Replica
from assistlearn.service.store import Again, PastTurn, RunStore
from assistlearn.service.stored_messages import check_with_ledger
from assistlearn.service.taking_again import TakingAgain
from assistlearn.service.task import Task, aligned_rows


class Part:
    """An agent's part in one run.

    Parameters
    ----------
    own : Holdings
        What the agent has.
    store : RunStore
        Where the agent keeps the run.

    Attributes
    ----------
    agent : Agent
        The agent, with the models that it keeps.
    """

    def __init__(self, own: Holdings, store: RunStore) -> None:
        self.agent = Agent(own.name, own.estimator)
        self._own = own
        self._store = store
        self._privacy = None if own.privacy is None else RunPrivacy(own.privacy, store, own.fingerprint)
        self._task: Task | None = None
        self._replica: Replica | None = None
        self._features: Any = None
        self._seeds: TurnSeeds | None = None
        self._retelling: Retelling | None = None
        self._models_of: dict[int, int] = {}
        self._said_nothing: set[int] = set()
        self._replies: dict[int, Encoded] = {}

    @classmethod
    def recalled(cls, own: Holdings, store: RunStore) -> Part:
        """Return the part, rebuilt from the agent's store."""
        part = cls(own, store)
        begin = store.task()
        if begin is None:
            return part
        check_with_ledger(store, own.home / "ledger.jsonl")
        message = decode(begin)
        assert isinstance(message, m.Begin)
        ended = store.ended()
        part._take(message, prepare=ended is None)
        for turn in store.past_turns():
            part._recall(turn, replay=ended is None)
        if ended is not None:
            part.agent.end(ended)
        return part

    @property
    def finished(self) -> bool:
        """Whether training is over here."""
        return self._task is not None and self._store.ended() is not None

    @property
    def n_classes(self) -> int:
        """The number of classes of the task."""
        assert self._task is not None
        return self._task.n_classes

    @property
    def task(self) -> Task | None:
        """The task, if there is one."""
        return self._task

    @property
    def n_told(self) -> int:
        """How many turns have told something about samples: those whose model is kept.

        A turn that was taken again does not count if it told nothing new.
        """
        return len(self._models_of.keys() - self._said_nothing)

    @property
    def n_turns(self) -> int:
        """How many turns are done."""
        return len(self._replies)

    @cached_property
    def _again(self) -> TakingAgain:
        """The turns of the earlier run that this one goes on from."""
        assert self._task is not None
        if self._kept.recall() is None:
            raise OutOfOrderError("This run does not go on from an earlier run here.")
        return TakingAgain.of(self._kept, self._task, self.features(), self._retelling)

    @property
    def _kept(self) -> EarlierTurns:
        return EarlierTurns(self._store, packages_of(self._own.estimator))

    def told_rows(self, message: m.TakeTurn) -> Rows:
        """Return the agent's row of each sample about which a turn tells something; -1 for the others."""
        assert self._task is not None
        rows = self._again.told_rows if isinstance(message, m.TakeAgain) else self._task.rows
        return aligned_rows(rows, message.run)

    def features(self) -> Any:
        """Return the agent's features with the columns that its models were trained with."""
        if self._features is None:
            check_columns(self._own, self._store)
            self._features = self._own.features_as(self._store.schema())
        return self._features

    def votes(self, rows: Rows, told: Retold | None = None) -> Floats:
        """Return the votes on the samples that the agent holds (not -1 in ``rows``); ``told`` may change answers."""
        held = rows[rows >= 0]
        if not len(held):
            return np.zeros((0, self.n_classes))
        assert self._task is not None
        return self.agent.scores(take_rows(self.features(), held), len(held), self.n_classes, self._task.method, told)

    def begin(self, message: m.Begin, request: bytes) -> m.Ready:
        """Accept the task, and prepare for it. The same request again gets the same answer."""
        _check_seeds(message)
        before = self._store.task()
        if before is not None and before != request:
            raise OutOfOrderError(f"Run {message.run!r} has begun here already, with another task.")
        if before is None or self._task is None:
            self._take(message, prepare=True)
            if self._own.columns is not None:
                self._store.keep_columns(self._own.columns())
        if before is None:
            self._store.keep_task(request)
        rows = self._store.rows()
        return m.Ready(run=message.run, n_held=int(np.count_nonzero(rows >= 0)) if rows is not None else 0)

    def take_turn(self, message: m.TakeTurn, request: bytes) -> Encoded | m.Problem:
        """Take a turn; asked for one that is done already, give the same answer again."""
        if message.turn in self._replies:
            return self._replies[message.turn]
        task, replica = self._ready(message.run)
        assert self._seeds is not None
        if self._store.ended() is not None:
            raise OutOfOrderError(
                f"Training of run {message.run!r} has ended here; turn {message.turn} comes too late."
            )
        if message.round > task.method.most_rounds:
            raise OutOfOrderError(
                f"Round {message.round} is not possible: with the method of run {message.run!r} there are at most "
                f"{task.method.most_rounds} rounds."
            )
        if message.since != replica.known or replica.lacks(message):
            text = f"This agent knows the run up to turn {replica.known}, not {message.since}."
            return m.Problem(run=message.run, kind="behind", text=text, known=replica.known)
        replica.catch_up(message, task.check_spread)
        apart = replica.takes_apart(message.round)
        turn = Turn(message.turn, message.round, self._seeds.of(message.turn), apart)
        answer = self._answer(turn, task, replica, message)
        whole = _turn_taken(message, answer, task)
        kept = None if answer.verdict.useless else self.agent.models[-1]
        encoded, again = Encoded.of(whole), None
        if isinstance(message, m.TakeAgain):
            encoded, again = Encoded.of(self._again.known.part(whole)), Again(_origin(kept), encoded.content)
        model = None if kept is None else kept.model
        self._store.keep_turn(message.turn, request, encoded.content, model, self.agent.honest, again)
        self._replies[message.turn] = encoded
        fitted = not isinstance(message, m.TakeAgain)
        replica.remember(OwnTurn(message.turn, message.round, whole.reward, whole.model_weight, fitted))
        if kept is not None:
            self._keep(message)
        return encoded

    def _keep(self, message: m.TakeTurn) -> None:
        """Note that the model of a turn is kept."""
        self._models_of[message.turn] = message.round
        if isinstance(message, m.TakeAgain) and not (self.told_rows(message) >= 0).any():
            self._said_nothing.add(message.turn)

    def _answer(self, turn: Turn, task: Task, replica: Replica, message: m.TakeTurn) -> Answer:
        """Fit a model and return the answer; keep the model unless it is useless or lacks the proof that is needed.

        In a turn that is taken again, it is the model of the earlier run that is asked, and nothing is fitted.
        """
        if self._own.proof and len(self.agent.models) >= MOST_MODELS:
            return task.silence()
        if isinstance(message, m.TakeAgain):
            answer = self._taken_again(turn, task, replica, message.earlier)
        else:
            answer = self.agent.take_turn(turn, replica.state, task.method, keep=False)
        proved = not self._own.proof or task.proves(answer, replica.state)
        told = answer if proved else task.silence()
        if self._privacy is not None:
            self._privacy.count_turn(turn, told, task, self.told_rows(message))
        if proved:
            self.agent.keep_candidate()
        return told

    def _taken_again(self, turn: Turn, task: Task, replica: Replica, number: int) -> Answer:
        """Let the model of an earlier turn answer, under the present ignorance."""
        again = self._again
        if not self._kept.has(number):
            raise OutOfOrderError(f"Turn {number} of the earlier run cannot be taken again here.")
        earlier = self._kept.turn(number)
        if earlier.honest:
            self.agent.become_honest()
        said = Answer(again.reward(turn, earlier), Verdict(0.0, 0.0, False), again.holdout_answer(turn, earlier))
        kept = KeptModel(turn.round, 0.0, earlier.model, earlier.origin)
        return self.agent.take_again(turn, replica.state, task.method, kept, said)

    def end(self, message: m.End) -> m.Ended:
        """Keep only the models of the rounds that count, and free the training rows."""
        if self._task is None:
            raise OutOfOrderError(f"Run {message.run!r} has not begun here; it cannot end.")
        if message.n_rounds < 0:
            raise ProtocolError(f"A result cannot be made of {message.n_rounds} rounds.")
        ended = self._store.ended()
        if ended is not None and ended != message.n_rounds:
            raise OutOfOrderError(f"Run {message.run!r} has ended here after round {ended}, not {message.n_rounds}.")
        if ended is None:
            self._cut_back(message.n_rounds, math.inf if message.last_turn is None else message.last_turn)
        return m.Ended(run=message.run, n_models=len(self.agent.models))

    def _cut_back(self, n_rounds: int, last_turn: float) -> None:
        counts = [turn <= last_turn and round <= n_rounds for turn, round in self._models_of.items()]
        surplus = [turn for turn, kept in zip(self._models_of, counts, strict=True) if not kept]
        self._store.end(n_rounds, surplus)
        self.agent.models[:] = [model for model, kept in zip(self.agent.models, counts, strict=True) if kept]
        self.agent.end(n_rounds)
        self._kept.remove()
        self._replica = None

    def _take(self, message: m.Begin, prepare: bool) -> None:
        """Check the task; with ``prepare``, when turns will follow, give the agent its training rows."""
        rows = aligned_rows(self._store.rows(), message.run) if prepare else None
        task = Task.of(message, rows, self._own.min_effective)
        if self._own.at_home:
            task = replace(task, method=task.method.of_initiator())
        if prepare and self._own.proof:
            task.check_provable()
        if prepare:
            self._seeds = TurnSeeds(message.turn_seeds)
            self._retelling = None if self._privacy is None else self._privacy.randomiser(task)
            self.agent = agent = Agent(self._own.name, self._own.estimator, task.honesty, self._retelling)
            agent.begin(task.samples(self.features(), self._own.groups), message.seed)
            self._replica = Replica(
                task.start(),
                task.training_codes,
                task.method,
                self._others(task),
                task.apart,
                lambda reward, model_weight, step: agent.hear_own(reward, model_weight, step, task.method),
            )
        self._task = task

    def _recall(self, past: PastTurn, replay: bool) -> None:
        """Restore a turn from the store: its model, its reply and, with ``replay``, its effect on the state."""
        request, reply = decode(past.request), decode(past.reply)
        assert isinstance(request, m.TakeTurn)
        assert isinstance(reply, m.TurnTaken)
        if replay:
            assert self._replica is not None
            whole = reply if past.whole is past.reply else decode(past.whole)
            assert isinstance(whole, m.TurnTaken)
            self._replica.replay(request)
            fitted = not isinstance(request, m.TakeAgain)
            self._replica.remember(OwnTurn(past.number, request.round, whole.reward, reply.model_weight, fitted))
            if past.honest:
                self.agent.become_honest()
        if past.model is not None:
            model = self._store.model(past.model)
            self.agent.models.append(KeptModel(request.round, reply.model_weight, model, past.origin))
            self._keep(request) if replay else self._models_of.update({past.number: request.round})
        self._replies[past.number] = Encoded(reply, past.reply)

    def _others(self, task: Task) -> Standpoint:
        """Return what this agent knows of the others: whether they all hold all samples, and how they are rewarded."""
        unsure = self._store.opened()["overlap"] != "intersection"
        return Standpoint(unsure=unsure, trusting=task.honesty.reward == "auto")

    def _ready(self, run: str) -> tuple[Task, Replica]:
        if self._task is None or self._replica is None:
            raise OutOfOrderError(f"Run {run!r} has not begun here.")
        return self._task, self._replica


def _origin(kept: KeptModel | None) -> str:
    """Return the run in which a kept model was fitted; an empty text if no model is kept."""
    return "" if kept is None else kept.origin


def _check_seeds(begin: m.Begin) -> None:
    """Raise ``ProtocolError`` for a seed out of range: one that no learner accepts, or that gives no turn seeds."""
    for seed, most in ((begin.seed, MAX_SEED), (begin.turn_seeds, MAX_RUN_SEED)):
        if not 0 <= seed <= most:
            raise ProtocolError(f"A seed must lie between 0 and {most}, not {seed}.")


def _turn_taken(message: m.TakeTurn, answer: Answer, task: Task) -> m.TurnTaken:
    """Return the reply to a turn. Where a useless model is right is not told."""
    verdict = answer.verdict
    reward = task.method.silence(task.n_training, task.n_classes) if verdict.useless else answer.reward
    return m.TurnTaken(
        run=message.run,
        turn=message.turn,
        reward=pack_reward(reward, task.training_codes),
        model_weight=verdict.model_weight,
        mean_reward=verdict.mean_reward,
        perfect=verdict.perfect,
        holdout=None if answer.holdout is None else pack_holdout(answer.holdout, task.n_classes),
    )
