"""The only loop: whose turn it is, whether to stop or to go on."""

from __future__ import annotations

import math
from collections.abc import Generator, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, Protocol

import numpy as np
from sklearn.utils.parallel import Parallel, delayed

from assistlearn.agents import Answer, Turn
from assistlearn.core import Contribution, Reward, RunState
from assistlearn.core.quantise import right
from assistlearn.errors import AgentGoneError
from assistlearn.learners.seeding import MAX_SEED
from assistlearn.session.events import (
    AgentLeft,
    Event,
    RoundFinished,
    RunFinished,
    StopReason,
    TurnFinished,
)
from assistlearn.session.holdout import HoldOut
from assistlearn.session.order import Greedy, Order, chain, checked


class Participant(Protocol):
    """An agent as the session sees it, wherever it lives."""

    @property
    def name(self) -> str:
        """What it is called."""
        ...

    def take_turn(self, turn: Turn) -> Answer:
        """Fit a model under the present ignorance and say where it is right.

        Raises
        ------
        AgentGoneError
            It cannot be reached, and the run shall go on without it.
        """
        ...

    def hear(self, contribution: Contribution, reward: Reward) -> None:
        """Take note of a contribution that was accepted, its own included: only then is its model kept."""
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
    n_jobs : int or None
        How many agents take their turns side by side, in threads: those who try where the order is greedy, and those
        of a round where every agent boosts alone. For agents in this process, who are never gone.
    """

    n_rounds: int
    order: Order = chain
    weak_agent: Literal["skip", "stop"] = "skip"
    seed: int = 0
    n_jobs: int | None = None


def run(
    settings: Settings,
    parties: Sequence[Participant],
    states: Mapping[str, RunState],
    holdout: HoldOut | None = None,
) -> Generator[Event, None, RunFinished]:
    """Run the rounds, yielding what happens.

    Parameters
    ----------
    settings : Settings
        What was agreed on.
    parties : sequence of Participant
        The agents, the initiator first.
    states : mapping of str to RunState
        Each agent's state: one and the same where ignorance is interchanged, an own one where every agent boosts
        alone. Brought up to date after every turn.
    holdout : HoldOut, optional
        The hold-out samples, for the second stop rule.
    """
    by_name = {party.name: party for party in parties}
    seeds = np.random.RandomState(settings.seed)
    order_rng = np.random.RandomState([settings.seed, 1])
    n_turns = 0
    seed: int | None = None
    history: list[TurnFinished] = []
    for round in range(1, settings.n_rounds + 1):
        for state in states.values():
            state.begin_round()
        made: list[Contribution] = []
        plan: Iterable[Sequence[str]] = _turns(settings.order, round, list(by_name), order_rng, history)
        ahead: Iterator[tuple[str, Answer]] = iter(())
        if _independent(settings, states):
            plan = list(plan)
            if len({name for (name,) in plan}) == len(plan):
                turns = [Turn(n_turns + i, round, int(seeds.randint(MAX_SEED))) for i in range(1, len(plan) + 1)]
                ahead = _side_by_side([by_name[name] for (name,) in plan], turns, settings.n_jobs)
        for planned in plan:
            taken: tuple[str, Answer] | None = next(ahead, None)
            if taken is None:
                seed = int(seeds.randint(MAX_SEED)) if seed is None else seed
                taken = yield from _take(by_name, planned, Turn(n_turns + 1, round, seed), settings.n_jobs)
            if taken is None:
                continue  # whoever was to take it is gone: the next agent takes this turn
            name, answer = taken
            n_turns, seed = n_turns + 1, None
            contribution = _contribution(n_turns, round, name, answer)
            if contribution is not None:
                made.append(contribution)
                states[name].apply(answer.reward, contribution.model_weight)
                for party in by_name.values():
                    party.hear(contribution, answer.reward)
                if holdout is not None and answer.holdout is not None:
                    holdout.add(name, answer.holdout, contribution.model_weight)
            verdict = answer.verdict
            history.append(TurnFinished(n_turns, round, name, verdict.model_weight, verdict.mean_reward, contribution))
            del taken, answer  # a reward is as long as the samples: let go of it before the next turn
            yield history[-1]
            if contribution is None and settings.weak_agent == "stop":
                return (yield from _finish(StopReason.WEAK_AGENT, round if made else round - 1, holdout))
            if contribution is None and len(planned) > 1:
                break  # everybody tried, nobody can help: another turn would be the same
        accuracy = None if holdout is None else holdout.finish_round()
        yield RoundFinished(round, accuracy)
        reason = _stop_reason(made, holdout)
        if reason is not None:
            return (yield from _finish(reason, round if made else round - 1, holdout))
    return (yield from _finish(StopReason.ALL_ROUNDS_DONE, settings.n_rounds, holdout))


def _turns(
    order: Order, round: int, names: Sequence[str], rng: np.random.RandomState, history: Sequence[TurnFinished]
) -> Iterator[Sequence[str]]:
    """Yield, turn by turn, who may have it: one agent, or several of whom the best is taken."""
    if isinstance(order, Greedy):
        for _ in names:
            yield names
    elif callable(order):
        for name in checked(order(round, list(names), rng), names, round):
            yield [name]
    else:
        taken: list[str] = []
        while (following := order.next(taken, list(names), history)) is not None:
            taken += checked([following], names, round)
            yield taken[-1:]


def _independent(settings: Settings, states: Mapping[str, RunState]) -> bool:
    """Whether the turns of a round can be taken at the same time: they are known, and every agent boosts alone."""
    alone = len({id(state) for state in states.values()}) == len(states)
    return alone and len(states) > 1 and settings.n_jobs not in (None, 1) and callable(settings.order)


def _side_by_side(
    parties: Sequence[Participant], turns: Sequence[Turn], n_jobs: int | None
) -> Iterator[tuple[str, Answer]]:
    """Let each party take its own turn, all at the same time; return who it was, and the answers."""
    pairs = zip(parties, turns, strict=True)
    answers = Parallel(n_jobs=n_jobs, prefer="threads")(delayed(party.take_turn)(turn) for party, turn in pairs)
    return zip((party.name for party in parties), answers, strict=True)


def _take(
    by_name: dict[str, Participant], planned: Sequence[str], turn: Turn, n_jobs: int | None
) -> Generator[Event, None, tuple[str, Answer] | None]:
    """Return who took the turn, and the answer, or None where nobody is left for it; who is gone is taken out."""
    while chosen := [by_name[name] for name in planned if name in by_name]:
        try:
            return _best(chosen, turn, n_jobs)
        except AgentGoneError as gone:
            del by_name[gone.agent]
            yield AgentLeft(turn.number, turn.round, gone.agent, gone.reason)
    return None


def _best(parties: Sequence[Participant], turn: Turn, n_jobs: int | None) -> tuple[str, Answer]:
    """Let the parties take the turn, and return the answer that lowers the loss most, the first among equals."""
    if len(parties) == 1:
        return parties[0].name, parties[0].take_turn(turn)
    answers = Parallel(n_jobs=n_jobs, prefer="threads")(delayed(party.take_turn)(turn) for party in parties)
    pairs = zip((party.name for party in parties), answers, strict=True)
    return max(pairs, key=lambda pair: -math.inf if pair[1].verdict.useless else pair[1].verdict.gain)


def _contribution(turn: int, round: int, agent: str, answer: Answer) -> Contribution | None:
    """Return the record of a kept model, or None where the agent sits out."""
    verdict = answer.verdict
    if verdict.useless:
        return None
    accuracy = float(np.count_nonzero(right(answer.reward))) / max(len(answer.reward), 1)
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
