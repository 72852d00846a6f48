"""One round: turn after turn. A turn goes to one agent, or to the best of several that try."""

from __future__ import annotations

import math
from collections.abc import Generator, Iterator, Sequence
from typing import TYPE_CHECKING, TypeAlias

import numpy as np
from sklearn.utils.parallel import Parallel, delayed

from assistlearn.agents import Answer, Turn
from assistlearn.core import Contribution
from assistlearn.core.quantise import right
from assistlearn.errors import AgentGoneError, DoubtedError
from assistlearn.events import AgentLeft, Event, TurnFinished
from assistlearn.orders import Greedy, checked, order_of
from assistlearn.session.combining import Told
from assistlearn.session.holdout import Heard
from assistlearn.session.participant import Participant

if TYPE_CHECKING:
    from assistlearn.session.session import Session

Taken: TypeAlias = tuple[str, Answer]
"""Who took a turn, and the answer."""


class Round:
    """A round of a session.

    Parameters
    ----------
    session : Session
        The session, with everything that lasts longer than a round.
    number : int
        The number of the round, from 1.

    Attributes
    ----------
    made : list of Contribution
        The models that were kept in it.
    hopeless : bool
        Whether the turns of half of the agents have shown that the round will not pay, so that no others were asked.
    """

    def __init__(self, session: Session, number: int) -> None:
        self._session = session
        self._number = number
        self._order = order_of(session.plan.order)
        self.made: list[Contribution] = []
        self.hopeless = False

    def run(self) -> Generator[Event, None, bool]:
        """Let the agents take their turns; return whether a weak one ends the run."""
        session = self._session
        for state in session.states.values():
            state.begin_round(self._number)
        planned, ahead = self._planned()
        n_taken = 0
        for candidates in planned:
            taken = next(ahead, None) or (yield from self._take(candidates))
            if taken is None:
                continue  # the agent whose turn it was is gone: the next agent takes this turn
            finished = self._accept(*taken)
            del taken  # a reward has an entry for every sample: free its memory before the next turn
            yield finished
            again = self._number <= len(session.again)
            if finished.contribution is None and session.plan.weak_agent == "stop" and not again:
                return True
            if finished.contribution is None and len(candidates) > 1:
                break  # everybody tried, nobody can help: another turn would be the same
            n_taken += 1
            if self._shows_no_gain(n_taken):
                self.hopeless = True
                break  # asking the others would cost them something, and bring nothing
        return False

    def _planned(self) -> tuple[Iterator[Sequence[str]], Iterator[Taken]]:
        """Return who may take each turn, and the turns that were already taken, all at the same time."""
        turns = self._turns()
        if not self._independent():
            return turns, iter(())
        planned = list(turns)
        names = [name for (name,) in planned]
        if len(set(names)) < len(names):
            return iter(planned), iter(())
        try:
            return iter(planned), self._side_by_side(names)
        except AgentGoneError:  # the next agent takes the turn of the one that is gone: so take turns one by one
            return iter(planned), iter(())

    def _turns(self) -> Iterator[Sequence[str]]:
        """Yield for each turn who may take it: one agent, or several of which the best is chosen."""
        session, order = self._session, self._order
        names = list(session.present)
        if self._number <= len(session.again):
            yield from ([name] for name in session.again[self._number - 1])
        elif isinstance(order, Greedy):
            yield from (names for _ in names)
        elif callable(order):
            for name in checked(order(self._number, list(names), session.order_rng), names, self._number):
                yield [name]
        else:
            taken: list[str] = []
            while (following := order.next(taken, list(names), session.history)) is not None:
                taken += checked([following], names, self._number)
                yield taken[-1:]

    def _independent(self) -> bool:
        """Whether the turns can be taken at the same time: the order is known, and no turn depends on another."""
        states, n_jobs = self._session.states, self._session.n_jobs
        alone = len({id(state) for state in states.values()}) == len(states) or self._session.apart(self._number)
        return alone and len(states) > 1 and n_jobs not in (None, 1) and callable(self._order)

    def _side_by_side(self, names: Sequence[str]) -> Iterator[Taken]:
        """Let each agent take its own turn, all at the same time."""
        session = self._session
        turns = [session.turn(self._number, ahead) for ahead in range(len(names))]
        pairs = zip((session.present[name] for name in names), turns, strict=True)
        answers = _in_threads(session.n_jobs, pairs)
        return zip(names, answers, strict=True)

    def _take(self, candidates: Sequence[str]) -> Generator[Event, None, Taken | None]:
        """Return who took the turn, and the answer; None if no candidate is left. Remove agents that are gone."""
        present = self._session.present
        turn = self._session.turn(self._number)
        while chosen := [present[name] for name in candidates if name in present]:
            try:
                return _best(chosen, turn, self._session.n_jobs)
            except AgentGoneError as gone:
                del present[gone.agent]
                if isinstance(gone, DoubtedError):
                    self._session.doubted.append(gone.agent)
                yield AgentLeft(turn.number, turn.round, gone.agent, gone.reason)
        return None

    def _accept(self, name: str, answer: Answer) -> TurnFinished:
        """Record a turn. If its model is kept, update the state and the hold-out votes, and tell all agents."""
        session, verdict = self._session, answer.verdict
        turn = len(session.history) + 1
        contribution = None if verdict.useless else _contribution(turn, self._number, name, answer)
        if contribution is not None:
            self.made.append(contribution)
            step = self._step(name, answer)
            session.states[name].apply(answer.reward, step)
            for participant in session.present.values():
                participant.hear(contribution, answer, step)
            if session.combining is not None:
                session.combining.add(Told(self._number, name, answer.reward, contribution.model_weight))
            if session.calibrating is not None:
                session.calibrating.add(Told(self._number, name, answer.reward, contribution.model_weight))
            if session.remembering is not None:
                session.remembering.add(Told(self._number, name, answer.reward, contribution.model_weight))
            if session.holdout is not None and answer.holdout is not None:
                session.holdout.add(Heard(self._number, name, answer.holdout, contribution.model_weight))
        worth = verdict.model_weight, verdict.mean_reward
        finished = TurnFinished(turn, self._number, name, *worth, contribution, answer.why)
        session.history.append(finished)
        return finished

    def _shows_no_gain(self, n_taken: int) -> bool:
        """Whether half of the agents have taken their turns in a later round, and have gained too little.

        The others are then spared. The second round is always finished: it is the first in which the first agents hear
        of the last ones, and what the first ones gain by that says little of the others. So is a round that is taken
        again.
        """
        session = self._session
        if session.combining is None or self._number <= max(len(session.again), 2):
            return False
        return n_taken == len(session.present) // 2 and not session.combining.promising

    def _step(self, name: str, answer: Answer) -> float:
        """Return what a reward counts for in the state.

        Models that were made apart may all have learned the same. Each is judged again beside those before it, so that
        none of them raises the loss of the vote.
        """
        if not self._session.apart(self._number):
            return answer.verdict.model_weight
        return max(self._session.states[name].judge(answer.reward).model_weight, 0.0)


def _best(participants: Sequence[Participant], turn: Turn, n_jobs: int | None) -> Taken:
    """Let agents take the turn, and return the answer that lowers the loss most, the first among equals."""
    if len(participants) == 1:
        return participants[0].name, participants[0].take_turn(turn)
    answers = _in_threads(n_jobs, ((participant, turn) for participant in participants))
    pairs = zip((participant.name for participant in participants), answers, strict=True)
    return max(pairs, key=lambda pair: -math.inf if pair[1].verdict.useless else pair[1].verdict.gain)


def _in_threads(n_jobs: int | None, turns: Iterator[tuple[Participant, Turn]]) -> list[Answer]:
    taken = Parallel(n_jobs=n_jobs, prefer="threads")(
        delayed(participant.take_turn)(turn) for participant, turn in turns
    )
    return list(taken)


def _contribution(turn: int, round: int, agent: str, answer: Answer) -> Contribution:
    """Return the record of a kept model."""
    verdict = answer.verdict
    accuracy = float(np.count_nonzero(right(answer.reward))) / max(len(answer.reward), 1)
    return Contribution(turn, round, agent, verdict.model_weight, verdict.mean_reward, accuracy, verdict.perfect)
