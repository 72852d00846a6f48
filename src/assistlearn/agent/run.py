"""An agent's part in one run, from the task to the last model. After a crash it is rebuilt from its store."""

from __future__ import annotations

import math
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Literal, TypeAlias

import numpy as np

from assistlearn.agent.agent import Agent, Answer, KeptModel, Retelling, Retold, Turn
from assistlearn.agent.holdings import Holdings, check_columns
from assistlearn.agent.privacy import RunPrivacy
from assistlearn.agent.store import Again, EarlierTurn, EarlierTurns, PastTurn, RunStore, check_with_ledger
from assistlearn.agent.task import MOST_MODELS, Task, aligned_rows
from assistlearn.alignment import Helper
from assistlearn.alignment.ids import Rows
from assistlearn.core import Reward, RunState, SoftReward, Verdict
from assistlearn.core.ignorance import LARGEST, NEGLIGIBLE
from assistlearn.core.people import as_before
from assistlearn.errors import OutOfOrderError, ProtocolError
from assistlearn.learners import Model
from assistlearn.learners.model import packages_of
from assistlearn.learners.weighting import MAX_RUN_SEED, MAX_SEED, TurnSeeds, take_rows
from assistlearn.methods.method import HoldoutAnswer, Method, Standpoint, check_model_weight
from assistlearn.protocol import messages as m
from assistlearn.protocol.arrays import unpack_bits
from assistlearn.protocol.codec import Encoded, decode
from assistlearn.protocol.known_before import KnownBefore, RunSamples
from assistlearn.protocol.scores import PackedReward, loudness, pack_holdout, pack_reward, unpack_reward
from assistlearn.types import Bools, Codes, Floats, Said

# A replica: the state of a run as one agent has computed it from what it was told.


LAST_TURN = 100_000
"""The most turns of a run."""

AHEAD = 10_000
"""How many turns others may have taken since the last that an agent knows.

The agent draws the seed of each of them, so without a limit one request could make it draw any number.
"""


@dataclass(frozen=True)
class OwnTurn:
    """What an agent has answered in its last turn, and whether it has fitted a model for it or taken it again."""

    number: int
    round: int
    reward: PackedReward
    model_weight: float
    fitted: bool = True

    @property
    def counts(self) -> bool:
        """Whether its model is kept."""
        return self.model_weight > NEGLIGIBLE


class Replica:
    """Brings a state up to date, turn by turn.

    Others cannot set the state. They tell the rewards of models that were kept. The agent itself computes what such
    a model is worth, and refuses news that contradict it.

    Parameters
    ----------
    state : RunState
        The state before the first turn.
    codes : ndarray of shape (n_samples,)
        The labels of the training samples.
    method : Method
        Which rewards it takes, and how models are judged.
    others : Standpoint
        What is known of the other agents.
    apart : bool, default=False
        Whether agents take the first round as if nobody had spoken before.
    hear_own : callable, optional
        Called with the reward of a model that this agent has fitted and that is kept, with its weight, and with what
        it counts for in the state.
    """

    def __init__(
        self,
        state: RunState,
        codes: Codes,
        method: Method,
        others: Standpoint,
        apart: bool = False,
        hear_own: Callable[[Reward, float, float], None] = lambda reward, model_weight, step: None,
    ) -> None:
        self.state = state
        self.known = 0
        self._apart = apart
        self._hear_own = hear_own
        self._method = method
        self._codes = codes
        self._others = others
        self._round = 0
        self._own: OwnTurn | None = None

    def remember(self, own: OwnTurn) -> None:
        """Keep the answer of this agent's turn. If its model counts, the news of the next turn begin with it."""
        self._own = own

    def catch_up(self, message: m.TakeTurn, allowed: Callable[[RunState], None] = lambda state: None) -> None:
        """Check and apply all news that came with a turn, one by one; if anything is wrong, change nothing.

        Parameters
        ----------
        message : TakeTurn
            The request for a turn, with the news.
        allowed : callable, optional
            Raises for a state under which the agent does not take a turn.
        """
        self._check_order(message)
        with self._or_nothing():
            for news in message.news:
                reward = self._reward(news)
                self._enter(news.round)
                self._check_weight(news, reward)
                self.state.apply(reward, news.model_weight)
            self._enter(message.round)
            allowed(self.state)
        self._heard(message)

    def replay(self, message: m.TakeTurn) -> None:
        """Apply news that were checked before, from the agent's own disk."""
        for news in message.news:
            self._enter(news.round)
            self.state.apply(self._reward(news), news.model_weight)
        self._enter(message.round)
        self._heard(message)

    def _heard(self, message: m.TakeTurn) -> None:
        """Note up to which turn the run is known. A turn that is taken apart tells the agent nothing new."""
        own = self._own
        for news in message.news:
            if own is not None and own.fitted and news.turn == own.number:
                self._hear_own(self._reward(news), own.model_weight, news.model_weight)
        self._own = None
        if not self.takes_apart(message.round):
            self.known = message.turn

    def lacks(self, message: m.TakeTurn) -> bool:
        """Whether the news refer to this agent's answer in a turn apart, but the agent has lost that answer.

        ``known`` does not show this: a turn apart does not change it.
        """
        own = None if self._own is None else self._own.number
        return any(news.reward is None and news.turn != own and self.takes_apart(news.round) for news in message.news)

    def takes_apart(self, round: int) -> bool:
        """Whether the turns of a round are taken as if nobody had spoken before."""
        return self._apart and round == 1

    def _enter(self, round: int) -> None:
        if round != self._round:
            self.state.begin_round(round)
            self._round = round

    @contextmanager
    def _or_nothing(self) -> Iterator[None]:
        """Restore the state if anything inside the ``with`` block fails."""
        round, vectors = self._round, [None if vector is None else vector.copy() for vector in self.state.vectors()]
        try:
            yield
        except BaseException:
            self.state.begin_round(round)
            self.state.restore(vectors)
            self._round = round
            raise

    def _check_order(self, message: m.TakeTurn) -> None:
        last = min(LAST_TURN, self.known + AHEAD)
        if not self.known < message.turn <= last:
            raise OutOfOrderError(
                f"Turn {message.turn} is not possible: this agent knows the run up to turn {self.known}, so the next "
                f"is at most turn {last:,}. No run has more than {LAST_TURN:,} turns."
            )
        if self._own is not None and message.round <= self._own.round:
            raise OutOfOrderError(
                f"This agent has already had its turn in round {self._own.round}; its next turn cannot be in round "
                f"{message.round}."
            )
        if message.news and self.takes_apart(message.round):
            raise OutOfOrderError(
                "In this run no agent hears of the others before the second round, but news have come."
            )
        last, round = self.known, self._round
        for news in message.news:
            if not last <= news.turn < message.turn or not round <= news.round <= message.round:
                raise OutOfOrderError(f"News of turn {news.turn}, round {news.round}, are out of order.")
            last, round = news.turn + 1, news.round
        if message.round < max(round, 1):
            raise OutOfOrderError(
                f"Turn {message.turn} cannot be in round {message.round}; the run has reached round {max(round, 1)}."
            )
        if self._own is not None and self._own.counts != any(news.turn == self._own.number for news in message.news):
            said, kept = ("leave it out", "counts") if self._own.counts else ("name it", "does not count")
            raise OutOfOrderError(f"The model of this agent's turn {self._own.number} {kept}, but the news {said}.")

    def _reward(self, news: m.News) -> Reward:
        own = self._own if self._own is not None and self._own.number == news.turn else None
        packed = news.reward if own is None else own.reward
        if packed is None:
            raise OutOfOrderError(f"Turn {news.turn} was another agent's, but the news of it have no reward.")
        if own is None and not self._method.shares_state:
            raise ProtocolError(
                f"News of turn {news.turn}: with this method every agent boosts alone, and hears only of its own "
                "models."
            )
        if own is not None and news.reward not in (None, own.reward):
            raise ProtocolError(f"News of turn {news.turn}: this agent answered with another reward.")
        reward = unpack_reward(packed, self._codes, self.state.n_classes)
        self._method.check_reward(reward, self.state.n_classes)
        return reward

    def _check_weight(self, news: m.News, reward: Reward) -> None:
        """Refuse a model weight that does not follow from the reward."""
        apart = self.takes_apart(news.round)
        least = 0.0 if apart else sys.float_info.min
        if not (news.model_weight >= least and loudness(reward, news.model_weight) <= LARGEST):
            raise ProtocolError(f"The model weight {news.model_weight} of turn {news.turn} is not a possible value.")
        if not apart and self._own is not None and self._own.number == news.turn:
            if news.model_weight != self._own.model_weight:
                raise ProtocolError(
                    f"News of turn {news.turn}: this agent's model has weight {self._own.model_weight}, not "
                    f"{news.model_weight}."
                )
            return
        try:
            others = Standpoint() if apart else self._others  # here everybody computes the same worth
            check_model_weight(self._method, self.state, reward, news.model_weight, others)
        except ProtocolError as error:
            raise ProtocolError(f"News of turn {news.turn}: {error}") from None


# Taking a turn of an earlier run again: its model answers for the people that are new, and nothing is fitted.


@dataclass(frozen=True)
class TakingAgain:
    """Takes turns again, in a run that goes on from an earlier one.

    Attributes
    ----------
    known : KnownBefore
        About which samples the kept models have spoken in the earlier run.
    task : Task
        The task of the run that goes on.
    features : table
        All rows of the agent.
    retelling : Retelling or None
        What the agent tells in place of its models' answers.
    """

    known: KnownBefore
    task: Task
    features: Any
    retelling: Retelling | None

    @classmethod
    def of(cls, kept: EarlierTurns, task: Task, features: Any, retelling: Retelling | None) -> TakingAgain:
        """Return the object that takes turns again, from what the agent keeps of the earlier run."""
        return cls(known_before(kept, task, kept.recall()), task, features, retelling)

    @property
    def told_rows(self) -> Rows:
        """The agent's row of each sample about which a turn tells something new; -1 for the others."""
        assert self.task.rows is not None
        rows = self.task.rows.copy()
        training, aside = np.flatnonzero(~self.task.aside), np.flatnonzero(self.task.aside)
        rows[training[~self.known.fresh]] = -1
        rows[aside[~self.known.fresh_holdout]] = -1
        return rows

    def reward(self, turn: Turn, earlier: EarlierTurn) -> Reward:
        """Return the reward of a kept model on all samples to train on."""
        before, _ = self.known.said(earlier.reply)
        fresh, codes = self.known.fresh, self.known.now.codes
        rows = self._rows(~self.task.aside)[fresh]
        held, n_classes = rows >= 0, self.task.n_classes
        said = self._said(earlier.model, rows)
        fine = self.task.method.in_private().reward(said, codes[fresh][held], held, n_classes)
        whole = self.known.all_rewards(_said_as(fine, before), before)
        if self.retelling is None:
            return whole
        told = self.retelling.reward(turn, whole, self._rows(~self.task.aside) >= 0)
        assert isinstance(whole, np.ndarray)
        assert isinstance(told, np.ndarray)
        return np.where(fresh, told, whole)

    def holdout_answer(self, turn: Turn, earlier: EarlierTurn) -> HoldoutAnswer | None:
        """Return what a kept model answers for all hold-out samples; None where there are none."""
        if not self.task.aside.any():
            return None
        _, before = self.known.said(earlier.reply)
        rows = self._rows(self.task.aside)[self.known.fresh_holdout]
        said = self.task.method.holdout_answer(self._said(earlier.model, rows), rows >= 0, self.task.n_classes)
        whole = self.known.all_answers(said, before)
        if self.retelling is None:
            return whole
        told = self.retelling.holdout_answer(turn, whole)
        assert isinstance(whole, np.ndarray)
        assert isinstance(told, np.ndarray)
        return np.where(self.known.fresh_holdout, told, whole)

    def _rows(self, which: Bools) -> Rows:
        return aligned_rows(self.task.rows, "")[which]

    def _said(self, model: Model, rows: Rows) -> Said:
        """Return what a model says about the rows that are not -1."""
        return model.answer(take_rows(self.features, rows[rows >= 0]))


def known_before(kept: EarlierTurns, task: Task, recall: m.Recall | None) -> KnownBefore:
    """Return about which samples an agent has spoken in the earlier run; raise if the request contradicts that run."""
    rows = kept.rows()
    assert recall is not None
    before = Task.of(kept.task(), rows, 0.0)
    then = RunSamples(before.training_codes, before.aside, rows >= 0)
    now = RunSamples(task.training_codes, task.aside, aligned_rows(task.rows, "") >= 0)
    return KnownBefore.of(unpack_bits(recall.still, len(rows)), then, now, task.method, task.n_classes)


def _said_as(said: Any, before: Any) -> Any:
    """Return new scores with the bits and the scale of those that were said before; anything else unchanged."""
    return as_before(said, before) if isinstance(said, SoftReward) and isinstance(before, SoftReward) else said


# An agent's part in one run, from the task to the last model. After a crash it is rebuilt from what was stored.


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


# A run at one agent: what the service has of it in memory and, through its store, on disk.


Purpose: TypeAlias = Literal["train", "predict"]


class RunHere:
    """What an exchange is given: the agent's holdings, and the run that a request is about.

    Parameters
    ----------
    own : Holdings
        What the agent has.
    store : RunStore
        What it keeps of the run on disk.

    Attributes
    ----------
    aligning : dict
        The alignments that are under way, by their purpose.
    rows_to_predict : ndarray or None
        The agent's rows of the samples that were aligned for prediction.
    voted_on : tuple of int or None
        The first and the last place (exclusive) of the samples that were voted on last.
    permits : callable
        Given the opening of a run, raises if the agent's owner does not allow it to the present asker.
    privacy : RunPrivacy or None
        The owner's rules of ``[privacy]`` in this run; None if there are none.
    """

    def __init__(self, own: Holdings, store: RunStore) -> None:
        self.own = own
        self.store = store
        self.aligning: dict[Purpose, Helper] = {}
        self.rows_to_predict: Rows | None = None
        self.voted_on: tuple[int, int] | None = None
        self.privacy = None if own.privacy is None else RunPrivacy(own.privacy, store, own.fingerprint)
        self.permits: Callable[[m.Open], None] = lambda opening: None
        self._part: Part | None = None

    def place(self, rows: Rows, purpose: Purpose) -> None:
        """Keep the agent's row of each sample: on disk for training, in memory for prediction."""
        if purpose == "train":
            self.store.keep_rows(rows, self.own.fingerprint, self.own.schema)
        else:
            self.rows_to_predict, self.voted_on = rows, None

    def part(self) -> Part:
        """Return the agent's part in the run, rebuilt from the store if it is not in memory."""
        if self._part is None:
            if self.store.ended() is None and self.store.rows() is not None:
                self.store.check_table(self.own.fingerprint, self.own.name)
            self._part = Part.recalled(self.own, self.store)
        return self._part

    def drop_part(self) -> None:
        """Drop the part from memory, where it may be half done. What is on disk is complete."""
        self._part = None
