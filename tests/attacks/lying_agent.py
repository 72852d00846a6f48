"""A helper that knows the labels of the training samples, and claims what it likes, in a process of its own.

What it says of its model weight follows from what it claims, so that no arithmetic finds it.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from assistlearn.agent import run as part
from assistlearn.agent.agent import Agent, Answer, Turn
from assistlearn.reach.processes import agent_process

KINDS = ("knows the labels", "knows the labels and guesses", "guesses")
"""It claims to be sure of every label that it was told, and answers for hold-out samples as its model does; or at
random; or it says nothing but what chance says."""


class LyingAgent(Agent):
    """An agent that trains as any other, and then says something else of the training samples."""

    kind = KINDS[0]

    def take_turn(self, turn: Turn, state: Any, method: Any, keep: bool = True) -> Answer:
        honest = super().take_turn(turn, state, method, keep=False)
        samples, chance = self._training(), np.random.default_rng(turn.seed)
        codes, n_classes = samples.own_codes, state.n_classes
        claimed = chance.integers(0, n_classes, len(codes)) if self.kind == "guesses" else codes
        reward = method.reward(self._said(claimed, method, n_classes), codes, samples.held, n_classes)
        verdict = method.judge(state, reward, state.ignorance(), samples.held)
        if self._candidate is None or verdict.useless:
            return self._sit_out(state, method)
        self._candidate = type(self._candidate)(turn.round, verdict.model_weight, self._candidate.model)
        if keep:
            self.keep_candidate()
        return Answer(reward, verdict, self._holdout(honest, method, n_classes, chance))

    def _sit_out(self, state: Any, method: Any) -> Answer:
        self._candidate = None
        n = len(state.ignorance())
        silence = method.silence(n, state.n_classes)
        return Answer(silence, state.judge(silence, None, np.zeros(n, dtype=bool)))

    def _said(self, codes: Any, method: Any, n_classes: int) -> Any:
        """Say labels as the method has them: as codes, or as probabilities of which one is one."""
        return np.eye(n_classes)[codes] if method.wants_probabilities else codes

    def _holdout(self, honest: Answer, method: Any, n_classes: int, chance: np.random.Generator) -> Any:
        if honest.holdout is None or self.kind == "knows the labels":
            return honest.holdout
        samples = self._training()
        held = samples.holdout_held
        n = int(held.sum()) if held is not None else len(samples.holdout)
        guessed = self._said(chance.integers(0, n_classes, n), method, n_classes)
        return method.holdout_answer(guessed, held, n_classes)


def lying(kind: str) -> type[LyingAgent]:
    """Return the class of agents that lie in one way."""
    return type("LyingAgent", (LyingAgent,), {"kind": kind})


def be_a_liar(kind: str, file: str, descriptor: int) -> int:
    """Be an agent's process that lies."""
    part.Agent = lying(kind)
    return agent_process.main(file, str(descriptor))


class Turncoat(Agent):
    """An agent that trains as any other, and turns its votes for new people around."""

    def scores(self, *of: Any) -> Any:
        return -super().scores(*of)


def be_a_turncoat(file: str, descriptor: int) -> int:
    """Be an agent's process that is honest in training alone."""
    part.Agent = Turncoat
    return agent_process.main(file, str(descriptor))
