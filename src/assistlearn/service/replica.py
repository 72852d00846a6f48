"""A replica: the state of a run as one agent has computed it from what it was told."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from assistlearn.core import Reward, RunState
from assistlearn.core.votes import Codes
from assistlearn.core.weight import LARGEST, NEGLIGIBLE
from assistlearn.errors import OutOfOrderError, ProtocolError
from assistlearn.methods.method import Method
from assistlearn.methods.verdicts import Standpoint, check_model_weight
from assistlearn.protocol import messages as m
from assistlearn.protocol.rewards import PackedReward, loudness, unpack_reward

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
