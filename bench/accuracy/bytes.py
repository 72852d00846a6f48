"""The bytes that a run between separate agents would send, counted while the estimator is fitted in one process.

An estimator and a run over messages do the same, bit for bit. So the messages of the run can be written down from what
the agents of the estimator answer. They are the real ones, packed and encoded as they would travel: for every helper
the task, the labels included, each of its turns with the news that it has not heard, its answers, and the end. The
greeting and the matching of ids, before, are not counted: every way to learn needs them.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from assistlearn import AssistedClassifier
from assistlearn.agent.agent import Answer, Turn
from assistlearn.plan import Plan
from assistlearn.protocol import encode
from assistlearn.protocol import messages as m
from assistlearn.protocol.arrays import PackedReward, pack_codes, pack_reward
from assistlearn.session.setup import Task, set_up

RUN = "accuracy-on-a-problem"
"""A name as long as those of most runs: it is in every message."""


@dataclass(frozen=True)
class Taken:
    """A turn that was taken: whose it was, and what was answered, the reward as it travels."""

    turn: Turn
    agent: str
    answer: Answer
    reward: PackedReward


class Counted(AssistedClassifier):
    """An estimator that remembers what its agents have said while it was fitted; all of them, about true labels.

    It takes the settings of :class:`AssistedClassifier`, and learns the same.
    """

    def _train(self, plan: Plan, X: Any, codes: np.ndarray, weight: Any, groups: Any) -> None:
        made = set_up(Task(plan, list(self.agents_), codes, codes, len(self.classes_), weight, groups=groups))
        self.taken_: list[Taken] = []
        self._begin = {
            name: m.Begin(
                run=RUN,
                n_samples=len(codes),
                n_classes=len(self.classes_),
                labels=pack_codes(codes, len(self.classes_)),
                seed=made.seeds[name],
                turn_seeds=plan.seed,
                weights=None,
                holdout=None,
                **plan.told(len(self.classes_)),
            )
            for name in list(self.agents_)[1:]
        }
        silence = pack_reward(plan.make_method().silence(len(codes), len(self.classes_)), codes)
        for agent in self.agents_.values():
            self._listen(agent, silence, codes)
        try:
            super()._train(plan, X, codes, weight, groups)
        finally:
            for agent in self.agents_.values():
                del agent.take_turn

    def _listen(self, agent: Any, silence: PackedReward, codes: np.ndarray) -> None:
        take_turn = agent.take_turn

        def remembered(turn: Turn, *args: Any, **settings: Any) -> Answer:
            answer = take_turn(turn, *args, **settings)
            reward = silence if answer.verdict.useless else pack_reward(answer.reward, codes)
            self.taken_.append(Taken(turn, agent.name, answer, reward))
            return answer

        agent.take_turn = remembered

    def bytes_by_round(self, run: str = RUN) -> list[int]:
        """Return the bytes with all helpers by the end of each round that was run, kept or not, had it ended there."""
        if not hasattr(self, "taken_"):  # one class: nobody was asked
            return []
        rounds = range(1, self.taken_[-1].turn.round + 1)
        return [sum(len(encode(message)) for message in self._messages(run, last)) for last in rounds]

    def _messages(self, run: str, last: int) -> Iterator[m.Message]:
        taken = [turn for turn in self.taken_ if turn.turn.round <= last]
        for helper, begin in self._begin.items():
            yield m.Begin(**{name: getattr(begin, name) for name in begin.__struct_fields__} | {"run": run})
            yield m.Ready(run=run, n_held=begin.n_samples)
            yield from self._turns(helper, taken, run)
            kept = sum(turn.agent == helper and not turn.answer.verdict.useless for turn in taken)
            yield m.End(run=run, n_rounds=last)
            yield m.Ended(run=run, n_models=kept)

    def _turns(self, helper: str, taken: list[Taken], run: str) -> Iterator[m.Message]:
        """Yield what is said to a helper and what it says, turn by turn."""
        news: list[m.News] = []
        since = 0
        for one in taken:
            number, round = one.turn.number, one.turn.round
            verdict = one.answer.verdict
            if one.agent == helper:
                yield m.TakeTurn(run=run, turn=number, round=round, since=since, news=[] if one.turn.apart else news)
                yield m.TurnTaken(
                    run=run,
                    turn=number,
                    reward=one.reward,
                    model_weight=verdict.model_weight,
                    mean_reward=verdict.mean_reward,
                    perfect=verdict.perfect,
                )
                since, news = (since, news) if one.turn.apart else (number, [])
            if not verdict.useless:  # what it counts for in the state may differ, but not how long the number is
                reward = None if one.agent == helper else one.reward
                news.append(m.News(number, round, verdict.model_weight, reward))
