"""Randomised response: it changes what an agent says about a person in training, on hold-out samples and in prediction.

Rewards are randomised before the model is judged. The model's weight, its mean reward and whether it is kept follow
from the randomised reward, so they tell nothing more about anybody. Given the agent's models, each answer is then
epsilon-differentially private in the row that it is about.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from assistlearn.agents import KeptModel, Turn
from assistlearn.core import Reward, SoftReward
from assistlearn.core.confidence import Said
from assistlearn.core.ignorance import Bools
from assistlearn.core.randomised_response import draw
from assistlearn.core.votes import Codes
from assistlearn.errors import RefusedError
from assistlearn.methods.method import ABSTAINS, HoldoutAnswer
from assistlearn.service.privacy.coin import Coin


@dataclass(frozen=True)
class Randomiser:
    """Randomised response in one run.

    Attributes
    ----------
    coin : Coin
        Random numbers that nobody else can know.
    epsilon : float
        How much one answer may reveal.
    run : str
        The mark of the run. The same question in another run gets another draw.
    n_classes : int
        The number of classes.
    training, holdout : list of str
        The ids of the training samples, and of the hold-out samples, that the agent holds.
    """

    coin: Coin
    epsilon: float
    run: str
    n_classes: int
    training: list[str]
    holdout: list[str]

    def reward(self, turn: Turn, reward: Reward, held: Bools | None) -> Reward:
        """Return where a model is right, randomised for each person; where the agent abstains, nothing changes."""
        if isinstance(reward, SoftReward):
            raise RefusedError("an answer of more than one bit is not randomised (privacy.randomise).")
        mine = slice(None) if held is None else held
        told = reward.copy()
        told[mine] = self._said("reward", turn.number, self.training, reward[mine].astype(np.int64), 2) == 1
        return told

    def holdout_answer(self, turn: Turn, answer: HoldoutAnswer) -> HoldoutAnswer:
        """Return which classes a model answers for hold-out samples, randomised for each person."""
        if isinstance(answer, SoftReward):
            raise RefusedError("an answer of more than one class is not randomised (privacy.randomise).")
        told, voting = answer.copy(), answer != ABSTAINS
        told[voting] = self._said("hold-out", turn.number, self.holdout, answer[voting], self.n_classes)
        return told

    def votes(self, kept: KeptModel, said: Said, ids: list[str]) -> Said:
        """Return which classes a kept model answers in prediction, randomised for each person."""
        if said.ndim != 1:
            raise RefusedError("probabilities are not randomised (privacy.randomise).")
        return self._said("vote", kept.round, ids, np.asarray(said, dtype=np.int64), self.n_classes)

    def _said(self, what: str, number: int, ids: list[str], truth: Codes, n_answers: int) -> Codes:
        chance = self.coin.draws((what, self.run, number), ids, truth)
        return draw(truth, None, (math.inf, self.epsilon, 0.0), n_answers, chance)
