"""The only loop of the program: it gives the turns, and decides when to stop."""

from __future__ import annotations

import math
from collections.abc import Generator, Iterator, Mapping, Sequence
from dataclasses import asdict, fields

import numpy as np

from assistlearn.agents import Turn
from assistlearn.core import RunState
from assistlearn.core.ignorance import Floats
from assistlearn.evaluation.report import Report
from assistlearn.events import (
    AloneBegan,
    CombinationLearned,
    Event,
    ResultJudged,
    RoundFinished,
    RunFinished,
    StopReason,
    TurnFinished,
)
from assistlearn.learners.seeding import TurnSeeds
from assistlearn.plan import Plan
from assistlearn.session.calibrating import Calibrating, HonestScores
from assistlearn.session.combining import Combining
from assistlearn.session.evaluating import Evaluating
from assistlearn.session.holdout import HoldOut
from assistlearn.session.participant import Participant
from assistlearn.session.round import Round
from assistlearn.session.votes_in_training import VotesInTraining


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
