"""A run at one agent: task, turns and models, over a store from which all of it is rebuilt after a crash."""

from __future__ import annotations

import math
import sys
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, Literal, TypeAlias

import msgspec
import numpy as np

from assistlearn.agent.agent import MOST_MODELS, Agent, Answer, ChangesVotes, KeptModel, Task, Turn, aligned_rows
from assistlearn.agent.loading import Holdings, check_columns
from assistlearn.agent.privacy import Randomiser, RunPrivacy
from assistlearn.agent.store import PastTurn, RunStore, check_with_ledger
from assistlearn.alignment import Helper
from assistlearn.alignment.ids import Rows
from assistlearn.core import Reward, RunState, SoftReward, Verdict
from assistlearn.core.ignorance import LARGEST, NEGLIGIBLE
from assistlearn.core.people import Places, as_before, completed, places_before
from assistlearn.errors import OutOfOrderError, ProtocolError
from assistlearn.learners.model import MAX_RUN_SEED, MAX_SEED, Model, TurnSeeds, take_rows
from assistlearn.methods.method import ABSTAINS, HoldoutAnswer, Method, Standpoint, check_model_weight
from assistlearn.protocol import messages as m
from assistlearn.protocol.arrays import (
    loudness,
    pack_holdout,
    pack_reward,
    unpack_bits,
    unpack_holdout,
    unpack_reward,
)
from assistlearn.protocol.codec import Encoded, decode
from assistlearn.types import Bools, Codes, Floats

LAST_TURN = 100_000

AHEAD = 10_000
"""How many turns others may have taken since the last that an agent knows.

The agent draws the seed of each of them, so without a limit one request could make it draw any number.
"""

Purpose: TypeAlias = Literal["train", "predict"]


class AgentRun:
    """A run at one agent: what its store has on disk, and what follows from that in memory.

    Every message is stored before it is answered, so that the run goes on from the store after a crash. The same
    request again gets the same answer.

    Others cannot set the state of the run. They tell the rewards of models that were kept; the agent computes what such
    a model is worth, and refuses news that contradict it.

    ``rows_to_predict`` are the agent's rows of the samples that were aligned for prediction, ``voted_on`` the first and
    the last place (exclusive) of those that were voted on last. ``permits``, given the initiator and the purpose of a
    run, raises if the owner does not allow it to the present asker. ``agent``, ``task`` and ``state`` follow from the
    store, once it is :meth:`loaded`; ``known`` is the last turn that the state has news of.
    """

    def __init__(self, own: Holdings, store: RunStore) -> None:
        self.own = own
        self.store = store
        self.privacy = None if own.privacy is None else RunPrivacy(own.privacy, store, own.fingerprint)
        self.permits: Callable[[str, str], None] = lambda initiator, purpose: None
        self.aligning: dict[Purpose, Helper] = {}
        self.rows_to_predict: Rows | None = None
        self.voted_on: tuple[int, int] | None = None
        self.unload()

    def unload(self) -> None:
        """Drop from memory what may be half done. What is on disk is complete."""
        self._is_loaded = False
        self.agent = Agent(self.own.name, self.own.estimator)
        self.task: Task | None = None
        self.state: RunState | None = None
        self.known = 0
        self._round = 0
        self._last: tuple[m.TakeTurn, m.TurnTaken] | None = None  # its own last turn, with all that it said
        self._others = Standpoint()  # what is known of the others: do all hold all samples, and how are they rewarded
        self._features: Any = None
        self._seeds: TurnSeeds | None = None
        self._randomiser: Randomiser | None = None
        self._earlier: KnownBefore | None = None
        self._replies: dict[int, Encoded] = {}
        self._models_of: dict[int, int] = {}  # the round of each turn whose model is kept
        self._said_nothing: set[int] = set()  # of these, the turns taken again that told nothing new

    def loaded(self) -> AgentRun:
        """Return the run itself, with its task, state and models in memory: rebuilt from the store if need be."""
        if self._is_loaded:
            return self
        ended = self.store.ended()
        if ended is None and self.store.rows() is not None:
            self.store.check_table(self.own.fingerprint, self.own.name)
        begin = self.store.task()
        self.unload()  # a rebuilding that failed may have left something
        if begin is not None:
            check_with_ledger(self.store, self.own.home / "ledger.jsonl")
            message = decode(begin)
            assert isinstance(message, m.Begin)
            self._accept(message, trains=ended is None)
            for turn in self.store.past_turns():
                self._recall(turn, replay=ended is None)
            if ended is not None:
                self.agent.end(ended)
        self._is_loaded = True
        return self

    @property
    def finished(self) -> bool:
        return self.task is not None and self.store.ended() is not None

    @property
    def n_turns(self) -> int:
        return len(self._replies)

    @property
    def n_told(self) -> int:
        """Turns whose model is kept. One that was taken again does not count if it told nothing new."""
        return len(self._models_of.keys() - self._said_nothing)

    def place(self, rows: Rows, purpose: Purpose) -> None:
        if purpose == "train":
            self.store.keep_rows(rows, self.own.fingerprint, self.own.schema)
        else:
            self.rows_to_predict, self.voted_on = rows, None

    def features(self) -> Any:
        if self._features is None:
            check_columns(self.own, self.store)
            self._features = self.own.features_as(self.store.schema())
        return self._features

    def votes(self, rows: Rows, changed: ChangesVotes | None = None) -> Floats:
        """Return the votes on the samples that the agent holds (not -1 in ``rows``), perhaps changed by chance."""
        assert self.task is not None
        held, n_classes = rows[rows >= 0], self.task.n_classes
        if not len(held):
            return np.zeros((0, n_classes))
        return self.agent.scores(take_rows(self.features(), held), len(held), n_classes, self.task.method, changed)

    # -- the task and its end

    def begin(self, message: m.Begin, request: bytes) -> m.Ready:
        for seed, most in ((message.seed, MAX_SEED), (message.turn_seeds, MAX_RUN_SEED)):
            if not 0 <= seed <= most:
                raise ProtocolError(f"A seed must lie between 0 and {most}, not {seed}.")
        before = self.store.task()
        if before is not None and before != request:
            raise OutOfOrderError(f"Run {message.run!r} has begun here already, with another task.")
        if before is None or self.task is None:
            self._accept(message, trains=True)
            if self.own.columns is not None:
                self.store.keep_columns(self.own.columns())
        if before is None:
            self.store.keep_task(request)
        rows = self.store.rows()
        return m.Ready(run=message.run, n_held=int(np.count_nonzero(rows >= 0)) if rows is not None else 0)

    def _accept(self, message: m.Begin, trains: bool) -> None:
        rows = aligned_rows(self.store.rows(), message.run) if trains else None
        task = Task.of(message, rows, self.own.min_effective)
        if self.own.at_home:
            task = replace(task, method=task.method.of_initiator())
        if trains:
            if self.own.proof:
                task.check_provable()
            self._seeds = TurnSeeds(message.turn_seeds)
            self._randomiser = None if self.privacy is None else self.privacy.randomiser(task)
            self.agent = Agent(self.own.name, self.own.estimator, task.honesty, self._randomiser)
            self.agent.begin(task.samples(self.features(), self.own.groups), message.seed)
            self.state, self.known, self._round, self._last = task.start(), 0, 0, None
            unsure = self.store.opened()["overlap"] != "intersection"
            self._others = Standpoint(unsure=unsure, trusting=task.honesty.reward == "auto")
        self.task = task

    def end(self, message: m.End) -> m.Ended:
        if self.task is None:
            raise OutOfOrderError(f"Run {message.run!r} has not begun here; it cannot end.")
        if message.n_rounds < 0:
            raise ProtocolError(f"A result cannot be made of {message.n_rounds} rounds.")
        ended = self.store.ended()
        if ended is not None and ended != message.n_rounds:
            raise OutOfOrderError(f"Run {message.run!r} has ended here after round {ended}, not {message.n_rounds}.")
        if ended is None:
            last_turn = math.inf if message.last_turn is None else message.last_turn
            counts = [turn <= last_turn and round <= message.n_rounds for turn, round in self._models_of.items()]
            surplus = [turn for turn, kept in zip(self._models_of, counts, strict=True) if not kept]
            self.store.end(message.n_rounds, surplus)
            self.agent.models[:] = [model for model, kept in zip(self.agent.models, counts, strict=True) if kept]
            self.agent.end(message.n_rounds)
            self.state = None
        return m.Ended(run=message.run, n_models=len(self.agent.models))

    # -- a turn

    def take_turn(self, message: m.TakeTurn, request: bytes) -> Encoded | m.Problem:
        if message.turn in self._replies:
            return self._replies[message.turn]
        task, _ = self._training()
        assert self._seeds is not None
        if self.store.ended() is not None:  # another process of this agent may have ended it
            raise OutOfOrderError(
                f"Training of run {message.run!r} has ended here; turn {message.turn} comes too late."
            )
        if message.round > task.method.most_rounds:
            raise OutOfOrderError(
                f"Round {message.round} is not possible: with the method of run {message.run!r} there are at most "
                f"{task.method.most_rounds} rounds."
            )
        if message.since != self.known or self._lacks(message):
            text = f"This agent knows the run up to turn {self.known}, not {message.since}."
            return m.Problem(run=message.run, kind="behind", text=text, known=self.known)
        self._catch_up(message)
        apart = self._is_apart(message.round)
        answer = self._answer(Turn(message.turn, message.round, self._seeds.of(message.turn), apart), message)
        whole = _turn_taken(message, answer, task)
        kept = None if answer.verdict.useless else self.agent.models[-1]
        encoded, origin, all_samples = Encoded.of(whole), "", None
        if isinstance(message, m.TakeAgain):  # only what is new is sent; the answer about all samples is kept
            all_samples, encoded = encoded.content, Encoded.of(self._known_before().part(whole))
            origin = "" if kept is None else kept.origin
        model = None if kept is None else kept.model
        self.store.keep_turn(message.turn, request, encoded.content, model, self.agent.honest, all_samples, origin)
        self._replies[message.turn] = encoded
        self._last = message, whole
        if kept is not None:
            self._note_kept(message)
        return encoded

    def _note_kept(self, message: m.TakeTurn) -> None:
        self._models_of[message.turn] = message.round
        if isinstance(message, m.TakeAgain) and not (self.told_rows(message) >= 0).any():
            self._said_nothing.add(message.turn)

    def _answer(self, turn: Turn, message: m.TakeTurn) -> Answer:
        """Fit a model and return the answer; keep the model unless it is useless or lacks the proof that is needed.

        In a turn that is taken again, it is the model of the earlier run that is asked, and nothing is fitted.
        """
        task, state = self._training()
        if self.own.proof and len(self.agent.models) >= MOST_MODELS:
            return task.silence()
        if isinstance(message, m.TakeAgain):
            answer = self._answer_again(turn, message.earlier)
        else:
            answer = self.agent.take_turn(turn, state, task.method, keep=False)
        proved = not self.own.proof or task.proves(answer, state)
        told = answer if proved else task.silence()
        if self.privacy is not None:  # counted before it is told
            self.privacy.count_turn(turn, told, task, self.told_rows(message))
        if proved:
            self.agent.keep_candidate()
        return told

    def _recall(self, past: PastTurn, replay: bool) -> None:
        """Restore a turn; with ``replay``, also its effect on the state."""
        request, reply = decode(past.request), decode(past.reply)
        assert isinstance(request, m.TakeTurn)
        assert isinstance(reply, m.TurnTaken)
        if replay:
            whole = reply if past.whole is past.reply else decode(past.whole)
            assert isinstance(whole, m.TurnTaken)
            self._replay(request)
            self._last = request, whole
            if past.honest:
                self.agent.become_honest()
        if past.model is not None:
            model = self.store.model(past.model)
            self.agent.models.append(KeptModel(request.round, reply.model_weight, model, past.origin))
            if replay:
                self._note_kept(request)
            else:
                self._models_of[past.number] = request.round
        self._replies[past.number] = Encoded(reply, past.reply)

    def _training(self) -> tuple[Task, RunState]:
        if self.task is None or self.state is None:
            raise OutOfOrderError(f"Run {self.store.folder.name!r} has not begun here.")
        return self.task, self.state

    # -- news of the others' models bring the state up to date

    def _catch_up(self, message: m.TakeTurn) -> None:
        """Apply all news that came with a turn; if anything is wrong, change nothing."""
        task, state = self._training()
        self._check_order(message)
        before = self._round, [None if vector is None else vector.copy() for vector in state.vectors()]
        try:
            for news in message.news:
                reward = self._reward(news)
                self._enter(news.round)
                self._check_weight(news, reward)
                state.apply(reward, news.model_weight)
            self._enter(message.round)
            task.check_spread(state)
        except BaseException:
            self._round, vectors = before
            state.begin_round(self._round)
            state.restore(vectors)
            raise
        self._note_heard(message)

    def _replay(self, message: m.TakeTurn) -> None:
        """Apply news that were checked before, from the agent's own disk."""
        _, state = self._training()
        for news in message.news:
            self._enter(news.round)
            state.apply(self._reward(news), news.model_weight)
        self._enter(message.round)
        self._note_heard(message)

    def _note_heard(self, message: m.TakeTurn) -> None:
        """Note up to which turn the run is known. A turn that is taken apart tells the agent nothing new."""
        task, _ = self._training()
        last, self._last = self._last, None
        for news in message.news:
            if last is not None and news.turn == last[1].turn and not isinstance(last[0], m.TakeAgain):
                reward = unpack_reward(last[1].reward, task.training_codes, task.n_classes)
                self.agent.hear_own(reward, last[1].model_weight, news.model_weight, task.method)
        if not self._is_apart(message.round):
            self.known = message.turn

    def _lacks(self, message: m.TakeTurn) -> bool:
        """Whether the news refer to this agent's answer in a turn apart, but the agent has lost that answer.

        ``known`` does not show this: a turn apart does not change it.
        """
        last = None if self._last is None else self._last[1].turn
        return any(news.reward is None and news.turn != last and self._is_apart(news.round) for news in message.news)

    def _is_apart(self, round: int) -> bool:
        assert self.task is not None
        return self.task.apart and round == 1

    def _enter(self, round: int) -> None:
        _, state = self._training()
        if round != self._round:
            state.begin_round(round)
            self._round = round

    def _check_order(self, message: m.TakeTurn) -> None:
        most = min(LAST_TURN, self.known + AHEAD)
        if not self.known < message.turn <= most:
            raise OutOfOrderError(
                f"Turn {message.turn} is not possible: this agent knows the run up to turn {self.known}, so the next "
                f"is at most turn {most:,}. No run has more than {LAST_TURN:,} turns."
            )
        if self._last is not None and message.round <= self._last[0].round:
            raise OutOfOrderError(
                f"This agent has already had its turn in round {self._last[0].round}; its next turn cannot be in round "
                f"{message.round}."
            )
        if message.news and self._is_apart(message.round):
            raise OutOfOrderError(
                "In this run no agent hears of the others before the second round, but news have come."
            )
        turn, round = self.known, self._round
        for news in message.news:
            if not turn <= news.turn < message.turn or not round <= news.round <= message.round:
                raise OutOfOrderError(f"News of turn {news.turn}, round {news.round}, are out of order.")
            turn, round = news.turn + 1, news.round
        if message.round < max(round, 1):
            raise OutOfOrderError(
                f"Turn {message.turn} cannot be in round {message.round}; the run has reached round {max(round, 1)}."
            )
        if self._last is not None:
            own, counts = self._last[1].turn, self._last[1].model_weight > NEGLIGIBLE
            if counts != any(news.turn == own for news in message.news):
                said, kept = ("leave it out", "counts") if counts else ("name it", "does not count")
                raise OutOfOrderError(f"The model of this agent's turn {own} {kept}, but the news {said}.")

    def _own(self, news: m.News) -> m.TurnTaken | None:
        """Return what this agent said in the turn that news are about; None if the turn was not its last one."""
        return self._last[1] if self._last is not None and self._last[1].turn == news.turn else None

    def _reward(self, news: m.News) -> Reward:
        """Return the reward that news are about. This agent knows its own: news of its last turn leave it out."""
        task, _ = self._training()
        own = self._own(news)
        packed = news.reward if own is None else own.reward
        if packed is None:
            raise OutOfOrderError(f"Turn {news.turn} was another agent's, but the news of it have no reward.")
        if own is None and not task.method.shares_state:
            raise ProtocolError(
                f"News of turn {news.turn}: with this method every agent boosts alone, and hears only of its own "
                "models."
            )
        if own is not None and news.reward not in (None, own.reward):
            raise ProtocolError(f"News of turn {news.turn}: this agent answered with another reward.")
        reward = unpack_reward(packed, task.training_codes, task.n_classes)
        task.method.check_reward(reward, task.n_classes)
        return reward

    def _check_weight(self, news: m.News, reward: Reward) -> None:
        task, state = self._training()
        apart, own = self._is_apart(news.round), self._own(news)
        least = 0.0 if apart else sys.float_info.min
        if not (news.model_weight >= least and loudness(reward, news.model_weight) <= LARGEST):
            raise ProtocolError(f"The model weight {news.model_weight} of turn {news.turn} is not a possible value.")
        if own is not None and not apart:
            if news.model_weight != own.model_weight:
                raise ProtocolError(
                    f"News of turn {news.turn}: this agent's model has weight {own.model_weight}, not "
                    f"{news.model_weight}."
                )
            return
        try:
            others = Standpoint() if apart else self._others  # apart, everybody computes the same worth
            check_model_weight(task.method, state, reward, news.model_weight, others)
        except ProtocolError as error:
            raise ProtocolError(f"News of turn {news.turn}: {error}") from None

    # -- a turn of an earlier run taken again: its model answers for the people that are new

    def _known_before(self) -> KnownBefore:
        if self._earlier is None:
            task, _ = self._training()
            recalled = self.store.again.recalled()
            if recalled is None:
                raise OutOfOrderError("This run does not go on from an earlier run here.")
            recall = decode(recalled[0])
            assert isinstance(recall, m.Recall)
            self._earlier = known_before(self.store.again, task, recall)
        return self._earlier

    def told_rows(self, message: m.TakeTurn) -> Rows:
        """Return the agent's row of each sample about which a turn tells something; -1 for the others."""
        assert self.task is not None
        rows = aligned_rows(self.task.rows, message.run)
        if isinstance(message, m.TakeAgain):
            known, aside, rows = self._known_before(), self.task.aside, rows.copy()
            rows[np.flatnonzero(~aside)[~known.fresh]] = -1
            rows[np.flatnonzero(aside)[~known.fresh_holdout]] = -1
        return rows

    def _answer_again(self, turn: Turn, number: int) -> Answer:
        task, state = self._training()
        self._known_before()  # raises where the run does not go on from another
        if not self.store.again.has_turn(number):
            raise OutOfOrderError(f"Turn {number} of the earlier run cannot be taken again here.")
        earlier = self.store.again.past_turn(number)
        reply = decode(earlier.reply)
        assert isinstance(reply, m.TurnTaken)
        assert earlier.model is not None
        if earlier.honest:
            self.agent.become_honest()
        model = self.store.again.model(earlier.model)
        reward, holdout = self._reward_again(turn, model, reply), self._holdout_answer_again(turn, model, reply)
        return self.agent.take_again(
            state, task.method, KeptModel(turn.round, 0.0, model, earlier.origin), reward, holdout
        )

    def _reward_again(self, turn: Turn, model: Model, reply: m.TurnTaken) -> Reward:
        (task, _), known = self._training(), self._known_before()
        before, _ = known.said(reply)
        all_rows, codes = aligned_rows(task.rows, "")[~task.aside], known.now.codes
        rows = all_rows[known.fresh]
        held = rows >= 0
        said = model.answer(take_rows(self.features(), rows[held]))
        fresh: Any = task.method.in_private().reward(said, codes[known.fresh][held], held, task.n_classes)
        if isinstance(fresh, SoftReward) and isinstance(before, SoftReward):
            fresh = as_before(fresh, before)  # new scores have the bits and the scale of the earlier ones
        whole = known.all_rewards(fresh, before)
        if self._randomiser is None:
            return whole
        told: Reward = _only_there(known.fresh, self._randomiser.reward(turn, whole, all_rows >= 0), whole)
        return told

    def _holdout_answer_again(self, turn: Turn, model: Model, reply: m.TurnTaken) -> HoldoutAnswer | None:
        (task, _), known = self._training(), self._known_before()
        if not task.aside.any():
            return None
        _, before = known.said(reply)
        rows = aligned_rows(task.rows, "")[task.aside][known.fresh_holdout]
        answers = model.answer(take_rows(self.features(), rows[rows >= 0]))
        whole = known.all_answers(task.method.holdout_answer(answers, rows >= 0, task.n_classes), before)
        if self._randomiser is None:
            return whole
        told: HoldoutAnswer = _only_there(known.fresh_holdout, self._randomiser.holdout_answer(turn, whole), whole)
        return told


def known_before(again: RunStore, task: Task, recall: m.Recall) -> KnownBefore:
    begin, rows = again.task(), again.rows()
    assert begin is not None
    assert rows is not None
    message = decode(begin)
    assert isinstance(message, m.Begin)
    before = Task.of(message, rows, 0.0)
    then = RunSamples(before.training_codes, before.aside, rows >= 0)
    now = RunSamples(task.training_codes, task.aside, aligned_rows(task.rows, "") >= 0)
    return KnownBefore.of(unpack_bits(recall.still, len(rows)), then, now, task.method, task.n_classes)


def _only_there(fresh: Bools, randomised: Any, whole: Any) -> Any:
    assert isinstance(randomised, np.ndarray)
    assert isinstance(whole, np.ndarray)
    return np.where(fresh, randomised, whole)


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


# A turn that is taken again, as it travels: what was said about people in the earlier run is not sent again.


@dataclass(frozen=True)
class RunSamples:
    """The samples of one run, as an agent knows them.

    ``codes`` are about those to train on; ``aside`` says of all which are held out, and ``held`` which the agent holds.
    """

    codes: Codes
    aside: Bools
    held: Bools


@dataclass(frozen=True)
class KnownBefore:
    """The samples about which an agent's kept models already spoke in an earlier run; both sides know them.

    ``places`` and ``holdout_places`` have the position of each sample to train on, and of each hold-out sample, among
    those of the earlier run; -1 where nothing was said about it. The method and the classes are those of both runs.
    """

    then: RunSamples
    now: RunSamples
    places: Places
    holdout_places: Places
    method: Method
    n_classes: int

    @classmethod
    def of(cls, still: Bools, then: RunSamples, now: RunSamples, method: Method, n_classes: int) -> KnownBefore:
        """Return what was said before; ``still`` says which samples of the earlier run the new one begins with."""
        if len(still) != len(then.aside) or int(np.count_nonzero(still)) > len(now.aside):
            raise ProtocolError(
                f"The earlier run has {len(then.aside):,} samples and this one {len(now.aside):,}; the message is "
                f"about {len(still):,} earlier samples, and says that {int(np.count_nonzero(still)):,} of them are "
                "still there."
            )
        places = places_before(still, ~then.aside, then.held, ~now.aside)
        if not np.array_equal(then.codes[places[places >= 0]], now.codes[places >= 0]):
            raise ProtocolError(
                "Some people are said to have the same labels as in the earlier run, but their labels differ."
            )
        return cls(then, now, places, places_before(still, then.aside, then.held, now.aside), method, n_classes)

    @property
    def fresh(self) -> Bools:
        """The samples to train on about which nothing was said."""
        return self.places < 0

    @property
    def fresh_holdout(self) -> Bools:
        return self.holdout_places < 0

    def said(self, before: m.TurnTaken) -> tuple[Reward, HoldoutAnswer | None]:
        n_aside = int(np.count_nonzero(self.then.aside))
        reward = unpack_reward(before.reward, self.then.codes, self.n_classes)
        self.method.check_reward(reward, self.n_classes)
        return reward, unpack_holdout(before.holdout, n_aside, self.n_classes) if n_aside else None

    def all_rewards(self, fresh: Reward, before: Reward) -> Reward:
        gone = ~self.now.held[~self.now.aside]
        reward: Reward = completed(_alike(fresh, before), before, self.places, gone, silence=True)
        return reward

    def all_answers(self, fresh: HoldoutAnswer, before: HoldoutAnswer | None) -> HoldoutAnswer:
        if before is None:
            return fresh
        gone = ~self.now.held[self.now.aside]
        answer: HoldoutAnswer = completed(_alike(fresh, before), before, self.holdout_places, gone, silence=ABSTAINS)
        return answer

    def part(self, whole: m.TurnTaken) -> m.TurnTaken:
        """Return the part of a turn that is sent when it was taken again: only what is about fresh samples."""
        reward = unpack_reward(whole.reward, self.now.codes, self.n_classes)
        n_aside = int(np.count_nonzero(self.now.aside))
        holdout = unpack_holdout(whole.holdout, n_aside, self.n_classes)
        return msgspec.structs.replace(
            whole,
            reward=pack_reward(_at(reward, self.fresh), self.now.codes[self.fresh]),
            holdout=None if holdout is None else pack_holdout(_at(holdout, self.fresh_holdout), self.n_classes),
        )

    def whole(self, part: m.TurnTaken, before: m.TurnTaken) -> m.TurnTaken:
        """Return the answer about all samples, from the part that was sent and from the turn of the earlier run."""
        if Verdict(part.model_weight, part.mean_reward, part.perfect).useless:
            silence = self.method.silence(len(self.now.codes), self.n_classes)
            return msgspec.structs.replace(part, reward=pack_reward(silence, self.now.codes), holdout=None)
        then, then_answered = self.said(before)
        fresh = unpack_reward(part.reward, self.now.codes[self.fresh], self.n_classes)
        self.method.check_reward(fresh, self.n_classes)
        reward = pack_reward(self.all_rewards(fresh, then), self.now.codes)
        if not self.now.aside.any():
            return msgspec.structs.replace(part, reward=reward, holdout=None)
        answered = unpack_holdout(part.holdout, int(np.count_nonzero(self.fresh_holdout)), self.n_classes)
        self.method.check_holdout(answered, self.n_classes)
        assert answered is not None
        holdout = pack_holdout(self.all_answers(answered, then_answered), self.n_classes)
        return msgspec.structs.replace(part, reward=reward, holdout=holdout)


def _alike(fresh: Any, before: Any) -> Any:
    """Return what is said about fresh samples; refuse another form, or scale, than that of the earlier run."""
    same = isinstance(fresh, SoftReward) == isinstance(before, SoftReward)
    if same and isinstance(fresh, SoftReward):
        same = (fresh.scale, fresh.bits, fresh.levels.shape[1:]) == (before.scale, before.bits, before.levels.shape[1:])
    if not same:
        raise ProtocolError(
            "The answers about new people have another form, or another scale, than the earlier answers about the "
            "others."
        )
    return fresh


def _at(said: Any, which: Bools) -> Any:
    return replace(said, levels=said.levels[which]) if isinstance(said, SoftReward) else said[which]
