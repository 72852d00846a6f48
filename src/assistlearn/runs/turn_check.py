"""The initiator's check of an answer to a turn: it computes itself what a helper can have said."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from assistlearn.agents import Answer, Turn
from assistlearn.core import Reward, RunState, SoftReward
from assistlearn.core.ignorance import Bools
from assistlearn.errors import ProtocolError
from assistlearn.methods.method import ABSTAINS, HoldoutAnswer, Method
from assistlearn.methods.verdicts import TOLERANCE, Standpoint, check_verdict
from assistlearn.runs.open_run import OpenRun
from assistlearn.runs.setup import SetUp
from assistlearn.session.doubt import Doubt, doubt_of


def turn_checks(run: OpenRun, made: SetUp, n_samples: int) -> dict[str, Callable[[Turn, Answer], None]]:
    """Return the check of each agent's answers in a run of ``n_samples`` samples; the initiator's own are believed."""
    masks = run.folder.held(n_samples)
    assert masks is not None
    checks: dict[str, Callable[[Turn, Answer], None]] = {run.settings.initiator: lambda turn, answer: None}
    trusting = run.settings.plan.honest_reward == "auto"  # what helpers are told
    for place, name in enumerate(run.settings.helpers):
        training = masks[place] if made.training is None else masks[place][made.training]
        aside = None if made.aside is None else masks[place][made.aside]
        held = None if training.all() else training
        checks[name] = TurnCheck(made.methods[name], made.states[name], Standpoint(held, trusting=trusting), aside)
    return checks


def doubts_of(run: OpenRun, made: SetUp, n_samples: int) -> dict[str, Doubt]:
    """Return, for each helper, how its answers are compared with the hold-out samples, where this is possible."""
    masks = run.folder.held(n_samples)
    if made.holdout is None or made.training is None:
        return {}
    assert masks is not None
    found = {}
    for place, name in enumerate(run.settings.helpers):
        doubt = doubt_of(run.settings.plan, made.holdout, masks[place][made.training])
        if doubt is not None:
            found[name] = doubt
    return found


@dataclass(frozen=True)
class TurnCheck:
    """Refuses an answer whose model weight, mean reward or votes do not follow from what came with it.

    Within a tolerance, the number that was sent is the one that counts: machines round differently, and every agent
    must compute with the same one.

    Attributes
    ----------
    method : Method
        How models are judged.
    state : RunState
        The initiator's own state of the run. When an answer is checked, it is the state before that turn. An agent that
        takes its turn apart knows only the state before the first turn.
    seen : Standpoint
        What is known of the helper: which training samples it holds, and whether it may cut its model weight.
    holdout_held : ndarray of bool, optional
        Which hold-out samples it holds; None where nothing is held out.
    """

    method: Method
    state: RunState
    seen: Standpoint
    holdout_held: Bools | None = None

    def __call__(self, turn: Turn, answer: Answer) -> None:
        """Raise ``ProtocolError`` for an answer that is not possible."""
        self._check_silence(answer.reward)
        _, loudest = self.method.vote_range(self.state.n_classes)
        if isinstance(answer.reward, SoftReward):
            _check_loudness(answer.reward, loudest, "a reward")
        state = self.state.beginning() if turn.apart else self.state
        check_verdict(self.method, state, answer.reward, answer.verdict, self.seen)
        if answer.holdout is not None:
            self._check_holdout(answer.holdout, loudest)

    def _check_silence(self, reward: Reward) -> None:
        held = self.seen.held
        if held is None:
            return
        said = _says_something(reward) if isinstance(reward, SoftReward) else ~reward
        _refuse_claims(said & ~held, "training samples")

    def _check_holdout(self, answer: HoldoutAnswer, loudest: float) -> None:
        if isinstance(answer, SoftReward):
            _check_loudness(answer, loudest, "an answer for a hold-out sample")
        if self.holdout_held is None:
            return
        said = _says_something(answer) if isinstance(answer, SoftReward) else answer != ABSTAINS
        _refuse_claims(said & ~self.holdout_held, "hold-out samples")


def _says_something(reward: SoftReward) -> Bools:
    said = reward.levels != 0
    out: Bools = said if said.ndim == 1 else said.any(axis=1)
    return out


def _check_loudness(said: SoftReward, loudest: float, what: str) -> None:
    most = said.loudest()
    if most > loudest * (1.0 + TOLERANCE):
        raise ProtocolError(f"{what} is {most:.6g}; a model can say at most {loudest:.6g}.")


def _refuse_claims(claimed: Bools, what: str) -> None:
    count = int(np.count_nonzero(claimed))
    if count:
        raise ProtocolError(f"it answers for {count:,} {what} that it does not hold, according to the matching of ids.")
