"""An estimator whose helper is overheard: every answer that it gives, as it would travel."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from assistlearn import AssistedClassifier
from assistlearn.agent.agent import Answer, Turn
from assistlearn.evaluation.attacks import said_of_classes
from assistlearn.plan import Plan
from assistlearn.protocol import messages as m
from assistlearn.protocol.arrays import pack_reward
from assistlearn.protocol.codec import releases_in


@dataclass(frozen=True)
class Told:
    """What the helper told in a turn: what it said of every class, and in how many bits of a sample it was sent."""

    round: int
    said: np.ndarray
    bits: float


class Heard(AssistedClassifier):
    """An estimator of an initiator and a helper that remembers what the helper has told."""

    def _train(self, plan: Plan, X: Any, codes: np.ndarray, weight: Any, groups: Any) -> None:
        self.told_: list[Told] = []
        helper = list(self.agents_.values())[1]
        take_turn = helper.take_turn

        def overheard(turn: Turn, *args: Any, **settings: Any) -> Answer:
            codes = helper._training().codes  # as the helper was told them
            answer = take_turn(turn, *args, **settings)
            if not answer.verdict.useless:
                self.told_.append(_told(turn.round, answer, codes, len(self.classes_)))
            return answer

        helper.take_turn = overheard
        try:
            super()._train(plan, X, codes, weight, groups)
        finally:
            del helper.take_turn

    @property
    def asked_rounds_(self) -> int:
        """In how many rounds the helper has told something; one more than are kept where the last did not pay."""
        return max((told.round for told in self.told_), default=0)


def _told(round: int, answer: Answer, codes: np.ndarray, n_classes: int) -> Told:
    reply = m.TurnTaken(
        run="",
        turn=1,
        reward=pack_reward(answer.reward, codes),
        model_weight=answer.verdict.model_weight,
        mean_reward=answer.verdict.mean_reward,
        perfect=answer.verdict.perfect,
    )
    bits = sum(release.sent for release in releases_in(reply, n_classes))
    return Told(round, said_of_classes(answer.reward, codes, n_classes), bits)
