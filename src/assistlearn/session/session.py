"""The only loop of the program: turn after turn, round after round, until another round is not worth it."""

from __future__ import annotations

import math
from collections.abc import Generator, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, fields
from typing import Protocol, TypeAlias

import numpy as np
from sklearn.utils.parallel import Parallel, delayed

from assistlearn import events as e
from assistlearn.agent.agent import Agent, Answer, Turn
from assistlearn.core import Contribution, RunState
from assistlearn.core.state import right
from assistlearn.errors import AgentGoneError, DoubtedError
from assistlearn.evaluation.result import Report
from assistlearn.learners.model import TurnSeeds
from assistlearn.methods.method import Method
from assistlearn.methods.orders import Greedy, checked, order_of
from assistlearn.plan import Plan
from assistlearn.session.judging import Combining, Doubt, Evaluating, HoldOut, Kept


class Participant(Protocol):
    """An agent as the session sees it, wherever it runs."""

    @property
    def name(self) -> str: ...

    def take_turn(self, turn: Turn) -> Answer:
        """Fit a model and say where it is right; after an ``AgentGoneError`` the run goes on without this agent."""
        ...

    def hear(self, contribution: Contribution, answer: Answer, step: float) -> None:
        """Hear of a contribution that was accepted, another agent's or its own; keep the model if it is its own.

        ``step`` is what the reward counts for in the state. It is the model weight, except in a first round in which
        agents learn apart. There it is what the model is worth beside those made at the same time.
        """
        ...


Taken: TypeAlias = tuple[str, Answer]
"""Who took a turn, and the answer."""


class Session:
    """Gives the turns, round after round, and decides when to stop.

    Agents that share one ignorance have the same object in ``states``, which the session updates after every turn. Up
    to ``n_jobs`` agents of this process, which are never gone, take turns at the same time: where the order is greedy,
    and in rounds in which no turn depends on another. ``again`` says who takes the turns of the first rounds, if these
    are taken again from an earlier run. They never end the run, and do not count towards the plan's number of rounds;
    with ``afresh``, others follow. ``doubted`` are the agents that the hold-out samples contradict.
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
        again: Sequence[Sequence[str]] = (),
        afresh: bool = True,
    ) -> None:
        self.plan = plan
        self.states = states
        self.holdout = holdout
        self.combining = combining
        self.present = {participant.name: participant for participant in participants}
        self.history: list[e.TurnFinished] = []
        self.kept: list[Kept] = []
        self.doubted: list[str] = []
        self.report: Report | None = None
        self._n_jobs = n_jobs
        self._evaluating = evaluating
        self._again = again
        self._most_rounds = len(again) + (plan.most_rounds if afresh or not again else 0)
        self._order = order_of(plan.order)
        self._order_rng = np.random.RandomState([plan.seed, 1])
        self._seeds = TurnSeeds(plan.seed)
        self._keeps_rewards = plan.honest_reward == "out-of-fold"
        self._apart = plan.first_round(next(iter(states.values())).n_classes) == "apart"

    def run(self) -> Generator[e.Event, None, e.RunFinished]:
        for number in range(1, self._most_rounds + 1):
            ended = yield from self._take_round(number)
            made = self._made_in(number)
            last = number if made else number - 1
            if ended is e.StopReason.WEAK_AGENT:
                if made:  # what it has so far may count, so it is judged like any other round
                    yield self._round_finished(number)
                return (yield from self._finish(ended, last))
            yield self._round_finished(number)
            if number <= len(self._again):
                continue
            reason = ended or self._stop_reason(made)
            if reason is not None:
                return (yield from self._finish(reason, last))
        return (yield from self._finish(e.StopReason.ALL_ROUNDS_DONE, self._most_rounds))

    # -- one round: a turn goes to one agent, or to the best of several that try

    def _take_round(self, number: int) -> Generator[e.Event, None, e.StopReason | None]:
        """Let the agents take their turns; return why the run ends with them, if it does."""
        for state in self.states.values():
            state.begin_round(number)
        planned, ahead = self._planned(number)
        n_taken, again = 0, number <= len(self._again)
        for candidates in planned:
            taken = next(ahead, None) or (yield from self._take(number, candidates))
            if taken is None:
                continue  # the agent whose turn it was is gone: the next agent takes this turn
            finished = self._accept(number, *taken)
            del taken  # a reward has an entry for every sample: free its memory before the next turn
            yield finished
            if finished.contribution is None and self.plan.weak_agent == "stop" and not again:
                return e.StopReason.WEAK_AGENT
            if finished.contribution is None and len(candidates) > 1:
                return None  # everybody tried, nobody can help: another turn would be the same
            n_taken += 1
            if self._shows_no_gain(number, n_taken):
                return (
                    e.StopReason.ROUNDS_NO_LONGER_PAY
                )  # asking the others would cost them something, and bring nothing
        return None

    def _planned(self, number: int) -> tuple[Iterator[Sequence[str]], Iterator[Taken]]:
        """Return who may take each turn, and the turns that were already taken, all at the same time."""
        turns = self._turns(number)
        if not self._independent(number):
            return turns, iter(())
        planned = list(turns)
        names = [name for (name,) in planned]
        if len(set(names)) < len(names):
            return iter(planned), iter(())
        each = ((self.present[name], self._turn(number, ahead)) for ahead, name in enumerate(names))
        try:
            return iter(planned), zip(names, _in_threads(self._n_jobs, each), strict=True)
        except AgentGoneError:  # the next agent takes the turn of the one that is gone: so take turns one by one
            return iter(planned), iter(())

    def _turns(self, number: int) -> Iterator[Sequence[str]]:
        """Yield for each turn who may take it: one agent, or several of which the best is chosen."""
        order, names = self._order, list(self.present)
        if number <= len(self._again):
            yield from ([name] for name in self._again[number - 1])
        elif isinstance(order, Greedy):
            yield from (names for _ in names)
        elif callable(order):
            for name in checked(order(number, list(names), self._order_rng), names, number):
                yield [name]
        else:
            taken: list[str] = []
            while (following := order.next(taken, list(names), self.history)) is not None:
                taken += checked([following], names, number)
                yield taken[-1:]

    def _independent(self, number: int) -> bool:
        """Whether the turns can be taken at the same time: the order is known, and no turn depends on another."""
        states = self.states
        alone = len({id(state) for state in states.values()}) == len(states) or self._is_apart(number)
        return alone and len(states) > 1 and self._n_jobs not in (None, 1) and callable(self._order)

    def _is_apart(self, number: int) -> bool:
        return number == 1 and self._apart

    def _turn(self, round: int, ahead: int = 0) -> Turn:
        number = len(self.history) + 1 + ahead
        return Turn(number, round, self._seeds.of(number), self._is_apart(round))

    def _take(self, number: int, candidates: Sequence[str]) -> Generator[e.Event, None, Taken | None]:
        """Return who took the turn, and the answer; None if no candidate is left. Remove agents that are gone."""
        turn = self._turn(number)
        while chosen := [self.present[name] for name in candidates if name in self.present]:
            try:
                return _best(chosen, turn, self._n_jobs)
            except AgentGoneError as gone:
                del self.present[gone.agent]
                if isinstance(gone, DoubtedError):
                    self.doubted.append(gone.agent)
                yield e.AgentLeft(turn.number, turn.round, gone.agent, gone.reason)
        return None

    def _accept(self, number: int, name: str, answer: Answer) -> e.TurnFinished:
        """Record a turn. If its model is kept, update the state and the hold-out votes, and let all agents hear."""
        verdict, turn = answer.verdict, len(self.history) + 1
        contribution, worth = None, (verdict.model_weight, verdict.mean_reward)
        if not verdict.useless:
            accuracy = float(np.count_nonzero(right(answer.reward))) / max(len(answer.reward), 1)
            contribution = Contribution(turn, number, name, *worth, accuracy, verdict.perfect)
            step = self._step(number, name, answer)
            self.states[name].apply(answer.reward, step)
            for participant in self.present.values():
                participant.hear(contribution, answer, step)
            self._keep(contribution, answer)
        finished = e.TurnFinished(turn, number, name, *worth, contribution, answer.why)
        self.history.append(finished)
        return finished

    def _step(self, number: int, name: str, answer: Answer) -> float:
        """Return what a reward counts for in the state.

        Models that were made apart may all have learned the same. Each is judged again beside those before it, so that
        none of them raises the loss of the vote.
        """
        if not self._is_apart(number):
            return answer.verdict.model_weight
        return max(self.states[name].judge(answer.reward).model_weight, 0.0)

    def _keep(self, made: Contribution, answer: Answer) -> None:
        """Remember a model; its reward only where it is honest, as it has an entry for every sample."""
        reward = answer.reward if self._keeps_rewards else None
        kept = Kept(made.round, made.agent, made.model_weight, reward, answer.holdout)
        self.kept.append(kept)
        if self.combining is not None:
            self.combining.add(kept)
        if self.holdout is not None:
            self.holdout.add(kept)

    def _shows_no_gain(self, number: int, n_taken: int) -> bool:
        """Whether half of the agents have taken their turns in a later round, and have gained too little.

        The others are then spared. The second round is always finished: it is the first in which the first agents hear
        of the last ones, and what the first ones gain by that says little of the others. So is a round that is taken
        again.
        """
        if self.combining is None or number <= max(len(self._again), 2):
            return False
        return n_taken == len(self.present) // 2 and not self.combining.promising

    # -- the end of a round, and of the run

    def _made_in(self, number: int) -> list[Contribution]:
        made = (turn.contribution for turn in self.history if turn.round == number)
        return [contribution for contribution in made if contribution is not None]

    def _round_finished(self, number: int) -> e.RoundFinished:
        learned = None if self.combining is None else self.combining.finish_round()
        accuracy, measured = (None, None) if self.holdout is None else self.holdout.finish_round(learned)
        if learned is None:
            return e.RoundFinished(number, accuracy, metric=measured)
        return e.RoundFinished(number, accuracy, learned.loss, _finite(learned.error), measured)

    def _stop_reason(self, made: Sequence[Contribution]) -> e.StopReason | None:
        """Return why to stop after a round, if there is a reason.

        If nobody contributed, or all contributions were perfect, the ignorance did not change: the next round would be
        the same.
        """
        if not made:
            return e.StopReason.NO_AGENT_CONTRIBUTED
        if all(contribution.perfect for contribution in made):
            return e.StopReason.ALL_AGENTS_PERFECT
        if self.holdout is not None and self.holdout.exhausted:
            return e.StopReason.HOLDOUT_STOPPED_IMPROVING
        if self.combining is not None and self.combining.exhausted:
            return e.StopReason.ROUNDS_NO_LONGER_PAY
        return None if self.present else e.StopReason.NO_AGENT_LEFT

    def _finish(self, reason: e.StopReason, n_rounds: int) -> Generator[e.Event, None, e.RunFinished]:
        """End the run, and yield its last events.

        Where hold-out samples or the combination show which round was the best, later rounds do not count.
        """
        if self.holdout is not None:
            n_rounds = min(n_rounds, max(self.holdout.best_round, 1))
        if self.combining is not None:
            n_rounds = min(n_rounds, max(self.combining.best_round, 1))
            learned = self.combining.finish(n_rounds)
            if learned is not None:
                facts = learned.kind, learned.loss, _finite(learned.error), dict(learned.losses), learned.skipped
                held_out = self.holdout
                measured = () if held_out is None else held_out.measured(held_out.votes_of(n_rounds, learned))
                yield e.CombinationLearned(n_rounds, *facts, *measured)
        yield from self._judge(n_rounds)
        if self.plan.make_method().keeps_labels:
            n_rounds = self.plan.most_rounds  # helpers hear this number: it must not show what the models are worth
        finished = e.RunFinished(reason, n_rounds)
        yield finished
        return finished

    def _judge(self, n_rounds: int) -> Iterator[e.Event]:
        if self._evaluating is None:
            return
        n_models = sum(each.round <= n_rounds for each in self.kept)
        if not self._evaluating.label_only:
            yield e.AloneBegan(n_models)
        learned = None if self.combining is None else self.combining.final
        self.report = self._evaluating.report(n_rounds, n_models, learned, self.doubted)
        facts = asdict(self.report)
        yield e.ResultJudged(**{field.name: facts[field.name] for field in fields(e.ResultJudged)})


def _best(participants: Sequence[Participant], turn: Turn, n_jobs: int | None) -> Taken:
    """Let agents take the turn, and return the answer that lowers the loss most, the first among equals."""
    if len(participants) == 1:
        return participants[0].name, participants[0].take_turn(turn)
    answers = _in_threads(n_jobs, ((participant, turn) for participant in participants))
    pairs = zip((participant.name for participant in participants), answers, strict=True)
    return max(pairs, key=lambda pair: -math.inf if pair[1].verdict.useless else pair[1].verdict.gain)


def _in_threads(n_jobs: int | None, turns: Iterable[tuple[Participant, Turn]]) -> list[Answer]:
    work = (delayed(participant.take_turn)(turn) for participant, turn in turns)
    return list(Parallel(n_jobs=n_jobs, prefer="threads")(work))


def _finite(error: float) -> float | None:
    return error if math.isfinite(error) else None


@dataclass(frozen=True)
class LocalParticipant:
    """An agent in this process. It shares its state with the session, and so need not hear what others did.

    ``doubt`` returns why an answer of a given round is not believed, or an empty text if it is. If it is not believed,
    the run goes on without the agent.
    """

    agent: Agent
    state: RunState
    method: Method
    doubt: Doubt | None = None

    @property
    def name(self) -> str:
        return self.agent.name

    def take_turn(self, turn: Turn) -> Answer:
        state = self.state.beginning() if turn.apart else self.state
        answer = self.agent.take_turn(turn, state, self.method, keep=False)
        reason = "" if self.doubt is None else self.doubt(answer, turn.round)
        if reason:
            raise DoubtedError(self.name, reason)
        return answer

    def hear(self, contribution: Contribution, answer: Answer, step: float) -> None:
        """Keep the agent's model if the contribution is its own. The session has already updated the shared state."""
        if contribution.agent == self.name:
            self.agent.keep_candidate()
            self.agent.hear_own(answer.reward, contribution.model_weight, step, self.method)
