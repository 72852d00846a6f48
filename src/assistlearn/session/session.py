"""The only loop of the program: turn after turn, round after round, until another round is not worth it."""

from __future__ import annotations

import math
from collections.abc import Generator, Iterator, Mapping, Sequence
from dataclasses import asdict, fields
from typing import TypeAlias

import numpy as np
from sklearn.utils.parallel import Parallel, delayed

from assistlearn.agent.agent import Answer, Turn
from assistlearn.core import Contribution, RunState
from assistlearn.core.quantise import right
from assistlearn.errors import AgentGoneError, DoubtedError
from assistlearn.evaluation.result import Report
from assistlearn.events import (
    AgentLeft,
    AloneBegan,
    CombinationLearned,
    Event,
    ResultJudged,
    RoundFinished,
    RunFinished,
    StopReason,
    TurnFinished,
)
from assistlearn.learners.weighting import TurnSeeds
from assistlearn.methods.orders import Greedy, checked, order_of
from assistlearn.plan import Plan
from assistlearn.session.combining import Combining, Told, VotesInTraining
from assistlearn.session.holdout import Heard, HoldOut
from assistlearn.session.judging import Calibrating, Evaluating, HonestScores
from assistlearn.session.participant import Participant
from assistlearn.types import Floats

# One round: turn after turn. A turn goes to one agent, or to the best of several that try.


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


# The only loop of the program: it gives the turns, and decides when to stop.


class Session:
    """Gives the turns, round after round, and decides when to stop.

    Parameters
    ----------
    plan : Plan
        The settings of the run: rounds, order, what happens with a weak agent, and the seed for all chance.
    participants : sequence of Participant
        The agents that take turns: the initiator first, unless it has labels alone.
    states : mapping of str to RunState
        Each agent's state. It is the same object for all where they share one ignorance, and an object for each where
        every agent boosts alone. The session updates it after every turn.
    holdout : HoldOut, optional
        The hold-out samples, if these show when to stop.
    n_jobs : int, optional
        How many agents take their turns at the same time, in threads. This is possible where the order is greedy, and
        in rounds in which no turn depends on another. It is for agents in this process, which are never gone.
    combining : Combining, optional
        How the combination of the agents' scores is learned, where they are not just added up.
    evaluating : Evaluating, optional
        How the result is judged on the hold-out samples.
    calibrating : Calibrating, optional
        Collects the scores by which probabilities are calibrated.
    remembering : VotesInTraining, optional
        Collects the agents' honest votes, with which those for new people are compared.
    again : sequence of sequence of str, optional
        Who takes the turns of the first rounds, if these are taken again from an earlier run. These rounds never end
        the run, and do not count towards the plan's number of rounds.
    afresh : bool, default=True
        Whether rounds are taken afresh after those.

    Attributes
    ----------
    present : dict of str to Participant
        The agents that are not gone.
    history : list of TurnFinished
        All turns so far.
    order_rng : RandomState
        Draws the order of the agents, where it is random.
    doubted : list of str
        Agents that the hold-out samples contradict.
    report : Report or None
        What the hold-out samples show about the result; None before the end, or without hold-out samples.
    """

    def __init__(
        self,
        plan: Plan,
        participants: Sequence[Participant],
        states: Mapping[str, RunState],
        holdout: HoldOut | None = None,
        n_jobs: int | None = None,
        combining: Combining | None = None,
        evaluating: Evaluating | None = None,
        calibrating: Calibrating | None = None,
        again: Sequence[Sequence[str]] = (),
        afresh: bool = True,
        remembering: VotesInTraining | None = None,
    ) -> None:
        self.plan = plan
        self.states = states
        self.holdout = holdout
        self.n_jobs = n_jobs
        self.combining = combining
        self.evaluating = evaluating
        self.calibrating = calibrating
        self.remembering = remembering
        self.again = again
        self._most_rounds = len(again) + (plan.most_rounds if afresh or not again else 0)
        self.doubted: list[str] = []
        self.report: Report | None = None
        self.present = {participant.name: participant for participant in participants}
        self.history: list[TurnFinished] = []
        self.order_rng = np.random.RandomState([plan.seed, 1])
        self._seeds = TurnSeeds(plan.seed)

    def turn(self, round: int, ahead: int = 0) -> Turn:
        """Return the next turn, or the one that comes ``ahead`` turns after it."""
        number = len(self.history) + 1 + ahead
        return Turn(number, round, self._seeds.of(number), self.apart(round))

    def apart(self, round: int) -> bool:
        """Whether the turns of a round are taken as if nobody had spoken before."""
        n_classes = next(iter(self.states.values())).n_classes
        return round == 1 and self.plan.first_round(n_classes) == "apart"

    def run(self) -> Generator[Event, None, RunFinished]:
        """Run the rounds, and yield every event; return the last one."""
        for number in range(1, self._most_rounds + 1):
            round = Round(self, number)
            weak = yield from round.run()
            if weak:
                if round.made:  # what it has so far may count, so it is judged like any other round
                    yield self._round_finished(number)
                return (yield from self._finish(StopReason.WEAK_AGENT, number if round.made else number - 1))
            yield self._round_finished(number)
            if number <= len(self.again):
                continue
            reason = self._stop_reason(round)
            if reason is not None:
                return (yield from self._finish(reason, number if round.made else number - 1))
        return (yield from self._finish(StopReason.ALL_ROUNDS_DONE, self._most_rounds))

    def _stop_reason(self, round: Round) -> StopReason | None:
        """Return why to stop after a round, if there is a reason.

        If nobody contributed, or all contributions were perfect, the ignorance did not change: the next round would be
        the same.
        """
        if round.hopeless:
            return StopReason.ROUNDS_NO_LONGER_PAY
        if not round.made:
            return StopReason.NO_AGENT_CONTRIBUTED
        if all(contribution.perfect for contribution in round.made):
            return StopReason.ALL_AGENTS_PERFECT
        if self.holdout is not None and self.holdout.exhausted:
            return StopReason.HOLDOUT_STOPPED_IMPROVING
        if self.combining is not None and self.combining.exhausted:
            return StopReason.ROUNDS_NO_LONGER_PAY
        return None if self.present else StopReason.NO_AGENT_LEFT

    def _round_finished(self, number: int) -> RoundFinished:
        learned = None if self.combining is None else self.combining.finish_round()
        accuracy, measured = (None, None) if self.holdout is None else self.holdout.finish_round(learned)
        if learned is None:
            return RoundFinished(number, accuracy, metric=measured)
        return RoundFinished(number, accuracy, learned.loss, _told(learned.error), measured)

    def _finish(self, reason: StopReason, n_rounds: int) -> Generator[Event, None, RunFinished]:
        """End the run, and yield its last events.

        Where hold-out samples or the combination show which round was the best, later rounds do not count.
        """
        if self.holdout is not None:
            n_rounds = min(n_rounds, max(self.holdout.best_round, 1))
        if self.combining is not None:
            n_rounds = min(n_rounds, max(self.combining.best_round, 1))
            learned = self.combining.finish(n_rounds)
            if learned is not None:
                facts = learned.kind, learned.loss, _told(learned.error), dict(learned.losses), learned.skipped
                held_out = self.holdout
                measured = () if held_out is None else held_out.measured(held_out.votes_of(n_rounds, learned))
                yield CombinationLearned(n_rounds, *facts, *measured)
        yield from self._judge(n_rounds)
        if self.plan.make_method().keeps_labels:
            n_rounds = self.plan.most_rounds  # helpers hear this number: it must not show what the models are worth
        finished = RunFinished(reason, n_rounds)
        yield finished
        return finished

    def honest_scores(self, n_rounds: int) -> HonestScores | None:
        """Return the scores by which the result of ``n_rounds`` rounds is calibrated; None where it is not."""
        left_out = () if self.report is None else self.report.left_out
        return None if self.calibrating is None else self.calibrating.scores(n_rounds, left_out)

    def votes_in_training(self, n_rounds: int) -> dict[str, Floats]:
        """Return each agent's honest votes on training samples, by one unit of weight; empty where there are none."""
        return {} if self.remembering is None else self.remembering.votes(n_rounds)

    def _judge(self, n_rounds: int) -> Iterator[Event]:
        """Judge the result on the hold-out samples, where there are any."""
        if self.evaluating is None:
            return
        made = (turn.contribution for turn in self.history)
        n_models = sum(each is not None and each.round <= n_rounds for each in made)
        if not self.evaluating.label_only:
            yield AloneBegan(n_models)
        learned = None if self.combining is None else self.combining.final
        self.report = self.evaluating.report(n_rounds, n_models, learned, self.doubted)
        facts = asdict(self.report)
        yield ResultJudged(**{field.name: facts[field.name] for field in fields(ResultJudged)})


def _told(error: float) -> float | None:
    """Return an error as events tell it: None where a single sample has none."""
    return error if math.isfinite(error) else None
