"""The only loop: whose turn it is, whether to stop or to go on."""

from __future__ import annotations

from collections.abc import Generator, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, Protocol

import numpy as np

from assistlearn.agents import Answer, Turn
from assistlearn.core import Contribution, State
from assistlearn.core.ignorance import Bools
from assistlearn.learners.seeding import MAX_SEED
from assistlearn.session.events import (
    Event,
    RoundFinished,
    RunFinished,
    StopReason,
    TurnFinished,
)
from assistlearn.session.holdout import HoldOut
from assistlearn.session.order import Order, chain, checked


class Party(Protocol):
    """An agent as the session sees it, wherever it lives."""

    @property
    def name(self) -> str:
        """What it is called."""
        ...

    def take_turn(self, turn: Turn) -> Answer:
        """Fit a model under the present ignorance and say where it is right."""
        ...

    def hear(self, contribution: Contribution, reward: Bools) -> None:
        """Take note of a contribution that was accepted, its own included."""
        ...


@dataclass(frozen=True)
class Settings:
    """What the parties agree on before a run.

    Attributes
    ----------
    n_rounds : int
        How many rounds at the most.
    order : callable
        Whose turn it is (see :mod:`assistlearn.session.order`).
    weak_agent : {"skip", "stop"}
        Whether an agent whose model is no better than chance sits its turn out, or ends the run.
    seed : int
        Where all chance comes from.
    """

    n_rounds: int
    order: Order = chain
    weak_agent: Literal["skip", "stop"] = "skip"
    seed: int = 0


def run(
    settings: Settings,
    parties: Sequence[Party],
    states: Mapping[str, State],
    holdout: HoldOut | None = None,
) -> Generator[Event, None, RunFinished]:
    """Run the rounds, yielding what happens.

    Parameters
    ----------
    settings : Settings
        What was agreed on.
    parties : sequence of Party
        The agents, the initiator first.
    states : mapping of str to State
        Each agent's state: one and the same where ignorance is interchanged, an own one where every agent boosts
        alone. Brought up to date after every turn.
    holdout : HoldOut, optional
        The hold-out samples, for the second stop rule.
    """
    by_name = {party.name: party for party in parties}
    names = list(by_name)
    seeds = np.random.RandomState(settings.seed)
    order_rng = np.random.RandomState([settings.seed, 1])
    n_turns = 0
    for round in range(1, settings.n_rounds + 1):
        for state in states.values():
            state.begin_round()
        made: list[Contribution] = []
        for name in checked(settings.order(round, list(names), order_rng), names, round):
            n_turns += 1
            answer = by_name[name].take_turn(Turn(n_turns, round, int(seeds.randint(MAX_SEED))))
            contribution = _contribution(n_turns, round, name, answer)
            if contribution is not None:
                made.append(contribution)
                states[name].apply(answer.reward, contribution.model_weight)
                for party in parties:
                    party.hear(contribution, answer.reward)
                if holdout is not None and answer.holdout is not None:
                    holdout.add(name, answer.holdout, contribution.model_weight)
            verdict = answer.verdict
            yield TurnFinished(n_turns, round, name, verdict.model_weight, verdict.mean_reward, contribution)
            if contribution is None and settings.weak_agent == "stop":
                return (yield from _finish(StopReason.WEAK_AGENT, round if made else round - 1, holdout))
        accuracy = None if holdout is None else holdout.finish_round()
        yield RoundFinished(round, accuracy)
        reason = _stop_reason(made, holdout)
        if reason is not None:
            return (yield from _finish(reason, round if made else round - 1, holdout))
    return (yield from _finish(StopReason.ALL_ROUNDS_DONE, settings.n_rounds, holdout))


def _contribution(turn: int, round: int, agent: str, answer: Answer) -> Contribution | None:
    """Return the record of a kept model, or None where the agent sits out."""
    verdict = answer.verdict
    if verdict.useless:
        return None
    accuracy = float(np.count_nonzero(answer.reward)) / max(len(answer.reward), 1)
    return Contribution(turn, round, agent, verdict.model_weight, verdict.mean_reward, accuracy, verdict.perfect)


def _stop_reason(made: Sequence[Contribution], holdout: HoldOut | None) -> StopReason | None:
    """Return why to stop after a round with these contributions, if there is a reason.

    A round that changed no ignorance would only repeat itself: nobody contributed, or whoever did was perfect.
    """
    if not made:
        return StopReason.NO_AGENT_CONTRIBUTED
    if all(contribution.perfect for contribution in made):
        return StopReason.ALL_AGENTS_PERFECT
    if holdout is not None and holdout.exhausted:
        return StopReason.HOLDOUT_STOPPED_IMPROVING
    return None


def _finish(reason: StopReason, n_rounds: int, holdout: HoldOut | None) -> Generator[Event, None, RunFinished]:
    """Yield the end of the run, cut back to the best round where hold-out samples tell it."""
    if holdout is not None:
        n_rounds = min(n_rounds, max(holdout.best_round, 1))
    finished = RunFinished(reason, n_rounds)
    yield finished
    return finished
