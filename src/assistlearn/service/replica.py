"""A replica: the state of a run as one agent has rebuilt it from what it was told."""

from __future__ import annotations

from typing import Any

import numpy as np

from assistlearn.core import Reward, RunState
from assistlearn.core.weight import LARGEST
from assistlearn.errors import OutOfOrderError, ProtocolError
from assistlearn.methods.method import Method
from assistlearn.protocol import messages as m
from assistlearn.protocol.arrays import unpack_numbers
from assistlearn.protocol.rewards import PackedReward, loudness, unpack_reward


class Replica:
    """Brings a state up to date, turn by turn.

    Parameters
    ----------
    state : RunState
        As it was before the first turn.
    n_samples : int
        The number of training samples.
    method : Method
        Which rewards it takes.
    """

    def __init__(self, state: RunState, n_samples: int, method: Method) -> None:
        self.state = state
        self.known = 0
        self._method = method
        self._n_samples = n_samples
        self._round = 0
        self._own: dict[int, PackedReward] = {}

    def remember(self, turn: int, reward: PackedReward) -> None:
        """Keep the reward of one's own turn until it is heard whether the model counts."""
        self._own[turn] = reward

    def catch_up(self, message: m.TakeTurn) -> None:
        """Apply everything that was decided before this turn; all of it is checked before anything is changed."""
        updates = [(news, self._reward(news)) for news in self._checked(message)]
        vectors = None if message.state is None else self._vectors(message.state)
        if message.state is not None and vectors is not None:
            self.state.restore(vectors)
            self._round = message.state.round
        for news, reward in updates:
            self._enter(news.round)
            self.state.apply(reward, news.model_weight)
        self._enter(message.round)
        self._own = {}
        self.known = message.turn

    def _enter(self, round: int) -> None:
        if round != self._round:
            self.state.begin_round()
            self._round = round

    def _checked(self, message: m.TakeTurn) -> list[m.News]:
        if message.turn <= self.known:
            raise OutOfOrderError(f"Turn {message.turn} is over: this agent knows the run up to turn {self.known}.")
        last, round = self.known, self._round
        if message.state is not None:
            if not (last <= message.state.turn <= message.turn and round <= message.state.round):
                raise OutOfOrderError(
                    f"The state after turn {message.state.turn}, round {message.state.round}, does not lead from turn "
                    f"{last}, round {round}, to turn {message.turn}."
                )
            last, round = message.state.turn, message.state.round
        for news in message.news:
            if not last <= news.turn < message.turn or not round <= news.round <= message.round:
                raise OutOfOrderError(f"News of turn {news.turn}, round {news.round}, are out of order.")
            last, round = news.turn + 1, news.round
        if message.round < max(round, 1):
            raise OutOfOrderError(f"Turn {message.turn} cannot be in round {message.round}, but in {max(round, 1)}.")
        return message.news

    def _reward(self, news: m.News) -> Reward:
        packed = self._own.get(news.turn) if news.reward is None else news.reward
        if packed is None:
            raise OutOfOrderError(f"Turn {news.turn} was not this agent's, but no reward came with the news of it.")
        reward = unpack_reward(packed, self._n_samples)
        self._method.check_reward(reward)
        if not (news.model_weight > 0.0 and loudness(reward, news.model_weight) <= LARGEST):
            raise ProtocolError(f"The model weight {news.model_weight} of turn {news.turn} cannot be.")
        return reward

    def _vectors(self, snapshot: m.Snapshot) -> list[Any]:
        own = self.state.vectors()
        if len(snapshot.vectors) != len(own) or snapshot.vectors[0] is None:
            raise ProtocolError(f"The state of a run has {len(own)} vectors here, not {len(snapshot.vectors)}.")
        logarithms = self.state.logarithms
        vectors = [
            None if numbers is None else unpack_numbers(numbers, self._n_samples, logarithms=place in logarithms)
            for place, numbers in enumerate(snapshot.vectors)
        ]
        if vectors[0] is None or not np.isfinite(vectors[0]).any():
            raise ProtocolError("The state leaves no sample with any ignorance.")
        return vectors
