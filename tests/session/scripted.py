"""Parties that play back written answers: what each agent's model of each round answers for every sample."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from assistlearn.agent.agent import Answer, Turn
from assistlearn.core import Contribution, State
from assistlearn.events import Event, RunFinished
from assistlearn.plan import Plan
from assistlearn.session import HoldOut, Session

Script = Mapping[str, Sequence[np.ndarray]]


class ScriptedParty:
    """Answers from a script, judged by its own copy of the state, which it keeps up to date by what it hears."""

    def __init__(self, name: str, script: Sequence[np.ndarray], labels: np.ndarray, state: State) -> None:
        self.name = name
        self.turns: list[Turn] = []
        self.heard: list[Contribution] = []
        self._script = script
        self._labels = labels
        self._state = state
        self._round = 0

    def take_turn(self, turn: Turn) -> Answer:
        self._begin(turn.round)
        self.turns.append(turn)
        answers = self._script[turn.round - 1]
        n_train = len(self._labels)
        reward = answers[:n_train] == self._labels
        return Answer(reward, self._state.judge(reward), answers[n_train:])

    def hear(self, contribution: Contribution, answer: Answer, step: float) -> None:
        self._begin(contribution.round)
        self.heard.append(contribution)
        self._state.apply(answer.reward, step)

    def _begin(self, round: int) -> None:
        if round != self._round:
            self._round = round
            self._state.begin_round()


class Play:
    """A session over a script, finished: its events, its parties and the session's own state."""

    def __init__(
        self,
        script: Script,
        labels: np.ndarray,
        n_classes: int,
        plan: Plan,
        *,
        interchange: bool = True,
        start: np.ndarray | None = None,
        holdout: HoldOut | None = None,
    ) -> None:
        def fresh() -> State:
            return State.start(len(labels), n_classes, start, interchange)

        self.state = fresh()
        self.parties = [ScriptedParty(name, answers, labels, fresh()) for name, answers in script.items()]
        loop = Session(plan, self.parties, dict.fromkeys(script, self.state), holdout).run()
        self.events: list[Event] = []
        while True:
            try:
                self.events.append(next(loop))
            except StopIteration as stop:
                self.finished: RunFinished = stop.value
                break

    @property
    def contributions(self) -> list[Contribution]:
        return [event.contribution for event in self.events if getattr(event, "contribution", None) is not None]
