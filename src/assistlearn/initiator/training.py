"""Training a run: align, set up, run the session from where it was interrupted, end, and tell all."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import partial
from typing import TypeAlias

import msgspec
import numpy as np

from assistlearn.agent.agent import Agent, Answer, TrainingSamples, Turn
from assistlearn.alignment.ids import Rows
from assistlearn.combination import to_bytes
from assistlearn.core import Contribution, Reward, RunState, SoftReward, Verdict
from assistlearn.core.ignorance import LARGEST
from assistlearn.core.labels import without_scale
from assistlearn.core.people import at
from assistlearn.errors import AgentGoneError, DoubtedError, ProtocolError, RefusedError, RunError, UnreachableError
from assistlearn.events import (
    AgentLeft,
    AloneBegan,
    CombinationLearned,
    Event,
    ResultJudged,
    RoundFinished,
    RunFinished,
    SamplesSettled,
    TurnFinished,
    read,
)
from assistlearn.initiator.continuing import KEPT_ONLY, Schedule, TurnAgain, roles_of, schedule_of, turns_again
from assistlearn.initiator.folder import RunFolder, versions
from assistlearn.initiator.label_ledger import told_labels
from assistlearn.initiator.opening import align
from assistlearn.initiator.run import Connection, OpenRun, own_numbers, received_answers, traffic_of
from assistlearn.learners import Honesty
from assistlearn.learners.model import take_rows
from assistlearn.methods.method import ABSTAINS, TOLERANCE, HoldoutAnswer, Method, Standpoint, check_verdict
from assistlearn.protocol import Encoded
from assistlearn.protocol import messages as m
from assistlearn.protocol.arrays import (
    PackedReward,
    loudness,
    pack_bits,
    pack_codes,
    pack_numbers,
    unpack_holdout,
    unpack_reward,
)
from assistlearn.protocol.codec import decode
from assistlearn.session import Session
from assistlearn.session.judging import Doubt, doubt_of
from assistlearn.session.setup import SetUp, Task, set_up, trained_alone
from assistlearn.storage import REMEDY, digest_of
from assistlearn.types import Bools, Codes

# An agent that is reached by messages, as the session sees it; its answers are checked and recorded.

Check: TypeAlias = Callable[[Turn, Answer], None]
"""Raises ``ProtocolError`` for an answer that does not fit what is known of the agent."""


# -- what an agent can have said: the initiator computes it itself


def turn_checks(run: OpenRun, made: SetUp, n_samples: int) -> dict[str, Check]:
    """Return the check of each agent's answers in a run of ``n_samples`` samples; the initiator's own are believed."""
    masks = run.folder.held(n_samples)
    assert masks is not None
    checks: dict[str, Check] = {run.settings.initiator: lambda turn, answer: None}
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
    must compute with the same one. ``state`` is the initiator's own, before the turn that is checked; an agent that
    takes its turn apart knows only the state before the first turn.
    """

    method: Method
    state: RunState
    seen: Standpoint  # which training samples the helper holds, and whether it may cut its model weight
    holdout_held: Bools | None = None  # which hold-out samples it holds; None where nothing is held out

    def __call__(self, turn: Turn, answer: Answer) -> None:
        _, loudest = self.method.vote_range(self.state.n_classes)
        _refuse_claims(answer.reward, self.seen.held, "training samples")
        _refuse_loud(answer.reward, loudest, "a reward")
        state = self.state.beginning() if turn.apart else self.state
        check_verdict(self.method, state, answer.reward, answer.verdict, self.seen)
        if answer.holdout is not None:
            _refuse_loud(answer.holdout, loudest, "an answer for a hold-out sample")
            _refuse_claims(answer.holdout, self.holdout_held, "hold-out samples")


def _refuse_claims(said: Reward | HoldoutAnswer, held: Bools | None, what: str) -> None:
    """Refuse an answer that says something of samples that the agent does not hold; None: it holds all."""
    if held is None:
        return
    if isinstance(said, SoftReward):
        speaks = said.levels != 0
        claimed = speaks if speaks.ndim == 1 else speaks.any(axis=1)
    else:  # a bit is true, and a class code is missing, where the agent abstains
        claimed = ~said if said.dtype == bool else said != ABSTAINS
    count = int(np.count_nonzero(claimed & ~held))
    if count:
        raise ProtocolError(f"it answers for {count:,} {what} that it does not hold, according to the matching of ids.")


def _refuse_loud(said: Reward | HoldoutAnswer, loudest: float, what: str) -> None:
    if isinstance(said, SoftReward) and said.loudest() > loudest * (1.0 + TOLERANCE):
        raise ProtocolError(f"{what} is {said.loudest():.6g}; a model can say at most {loudest:.6g}.")


# -- the agent as the session sees it


@dataclass(frozen=True)
class ToldTask:
    codes: Codes  # of those to train on
    n_classes: int
    n_holdout: int = 0


class RemoteParticipant:
    """An agent that is asked over a connection.

    This object keeps the news that the agent has not heard yet, and sends them with its next turn. An agent that has
    lost what it knew is sent all news since then, with their rewards from the run's folder: ``answers`` returns the
    answer to a turn that was taken, as it came. ``again`` has the turns of an earlier run that are taken again, by
    their rounds.
    """

    def __init__(
        self,
        connection: Connection,
        run: str,
        method: Method,
        task: ToldTask,
        answers: Callable[[int], bytes | None] = lambda turn: None,
        check: Check = lambda turn, answer: None,
        again: Mapping[int, TurnAgain] | None = None,
    ) -> None:
        self.name = connection.agent
        self._connection = connection
        self._run = run
        self._method = method
        self._task = task
        self._answers = answers
        self._check = check
        self._again = again or {}
        self._since = 0
        self._unheard: list[m.News] = []
        self._heard: list[m.News] = []

    def ask(self, turn: Turn) -> tuple[Answer, bytes]:
        """Send the agent the news that it has not heard; return its answer to the turn, checked, and its bytes."""
        reply = self._connection.ask_any(self._request(turn, self._since, [] if turn.apart else self._unheard))
        if isinstance(reply.message, m.Problem) and reply.message.kind == "behind":
            known = reply.message.known
            reply = self._connection.ask_any(self._request(turn, known, list(self._news_since(known))))
        if isinstance(reply.message, m.Problem) and reply.message.kind != "sits-out":
            raise RefusedError(reply.message.text)
        return self.replay(turn, reply), reply.content

    def replay(self, turn: Turn, reply: Encoded) -> Answer:
        """Check the answer in a message and return it; from now on, the agent counts as having heard all news.

        An agent that does not take the turn, because too few people count, sits it out. It has not heard the news.
        """
        taken = reply.message
        if isinstance(taken, m.Problem) and taken.kind == "sits-out":
            silence = self._method.silence(len(self._task.codes), self._task.n_classes)
            return Answer(silence, Verdict(0.0, 0.0, False), why=taken.text)
        if not isinstance(taken, m.TurnTaken) or taken.run != self._run or taken.turn != turn.number:
            raise ProtocolError(
                f"Agent {self.name!r} answered turn {turn.number} with a message of the wrong kind, "
                f"{type(taken).__name__}."
            )
        answer = self.read(turn, self._whole(turn.round, taken))
        if turn.apart:
            return answer  # it has heard nothing yet
        self._since = turn.number
        self._heard += (msgspec.structs.replace(news, reward=None) for news in self._unheard)
        self._unheard = []
        return answer

    def whole(self, turn: Turn, reply: bytes) -> bytes | None:
        """Return the answer about all samples, from the bytes that it came in; None where it came as a whole."""
        if turn.round not in self._again:
            return None
        taken = decode(reply)
        if not isinstance(taken, m.TurnTaken):
            return None
        return Encoded.of(self._whole(turn.round, taken)).content

    def hear(self, contribution: Contribution, answer: Answer, step: float) -> None:
        """Keep the news for the agent's next turn; a reward is passed on as its owner packed it."""
        own = contribution.agent == self.name
        if not own and not self._method.shares_state:
            return
        packed = None if own else answer.packed
        self._unheard.append(m.News(contribution.turn, contribution.round, step, packed))

    def read(self, turn: Turn, reply: m.TurnTaken) -> Answer:
        try:
            answer = self._checked(reply)
            self._check(turn, answer)
            return answer
        except ProtocolError as error:
            raise ProtocolError(f"Agent {self.name!r}, turn {reply.turn}: {error}") from None

    def _checked(self, reply: m.TurnTaken) -> Answer:
        reward = unpack_reward(reply.reward, self._task.codes, self._task.n_classes)
        self._method.check_reward(reward, self._task.n_classes)
        if not (loudness(reward, reply.model_weight) <= LARGEST and 0.0 <= reply.mean_reward <= 1.0):
            raise ProtocolError(
                f"the model weight {reply.model_weight} or the mean reward {reply.mean_reward} is not a possible value."
            )
        verdict = Verdict(reply.model_weight, reply.mean_reward, reply.perfect)
        if self._task.n_holdout == 0 or verdict.useless:
            return Answer(reward, verdict, packed=reply.reward)
        holdout = unpack_holdout(reply.holdout, self._task.n_holdout, self._task.n_classes)
        self._method.check_holdout(holdout, self._task.n_classes)
        if holdout is not None and not loudness(holdout, reply.model_weight) <= LARGEST:
            raise ProtocolError(
                "an answer for a hold-out sample, times the model weight, is larger than any model can give."
            )
        return Answer(reward, verdict, holdout, packed=reply.reward)

    def _whole(self, round: int, taken: m.TurnTaken) -> m.TurnTaken:
        """Return an answer about all samples. Of a turn that is taken again, only the new part was sent."""
        return self._again[round].whole(taken) if round in self._again else taken

    def _request(self, turn: Turn, since: int, news: list[m.News]) -> m.TakeTurn:
        if turn.round not in self._again:
            return m.TakeTurn(run=self._run, turn=turn.number, round=turn.round, since=since, news=news)
        number = self._again[turn.round].number
        return m.TakeAgain(run=self._run, turn=turn.number, round=turn.round, since=since, news=news, earlier=number)

    def _news_since(self, known: int) -> Iterator[m.News]:
        """Yield all news from a turn on, each with its reward, that of the agent's own models included."""
        for news in (*self._heard, *self._unheard):
            if news.turn >= known:
                reward = self._reward_of(news.turn) if news.reward is None else news.reward
                yield msgspec.structs.replace(news, reward=reward)

    def _reward_of(self, turn: int) -> PackedReward:
        content = self._answers(turn)
        taken = None if content is None else decode(content)
        if not isinstance(taken, m.TurnTaken):
            raise RunError(
                f"Agent {self.name!r} has lost what it knew about run {self._run!r}, and the record of turn {turn} is "
                "missing here, too. Restore one of the two folders from a backup, or start a new run."
            )
        return taken.reward


def believed(answer: Answer, round: int) -> str:
    return ""


class RecordedParticipant:
    """Asks an agent once for each turn, however often the run is interrupted.

    ``received`` are the digests of the agent's answers in the ledger; without any, kept answers are not compared.
    ``doubt`` returns why an answer in a round is not believed, or an empty text. The run goes on without an agent that
    is not believed, and, with ``may_leave``, without one that cannot be reached.
    """

    def __init__(
        self,
        participant: RemoteParticipant,
        folder: RunFolder,
        may_leave: bool,
        received: Collection[str] = (),
        doubt: Callable[[Answer, int], str] = believed,
    ) -> None:
        self.name = participant.name
        self._participant = participant
        self._folder = folder
        self._may_leave = may_leave
        self._received = received
        self._doubt = doubt

    def take_turn(self, turn: Turn) -> Answer:
        left = self._folder.left().get(self.name)
        if left is not None and turn.number >= left["turn"]:
            raise (DoubtedError if left.get("doubted") else AgentGoneError)(self.name, left["reason"])
        past = self._folder.turn(turn.number)
        if past is not None:
            return self._replay(turn, past)
        try:
            answer, content = self._participant.ask(turn)
        except UnreachableError as error:
            if not self._may_leave:
                raise
            self._folder.leave(self.name, turn.number, str(error))
            raise AgentGoneError(self.name, str(error)) from None
        reason = self._doubt(answer, turn.round)
        if reason:  # the turn is another agent's now, so that its answer is not kept
            self._folder.leave(self.name, turn.number, reason, doubted=True)
            raise DoubtedError(self.name, reason)
        whole = self._participant.whole(turn, content)
        if whole is not None:
            self._folder.write_whole_turn(turn.number, whole)
        self._folder.write_turn(turn.number, content)
        return answer

    def hear(self, contribution: Contribution, answer: Answer, step: float) -> None:
        self._participant.hear(contribution, answer, step)

    def _replay(self, turn: Turn, past: bytes) -> Answer:
        if self._received and digest_of(past) not in self._received:
            raise RunError(
                f"{self._folder.path}: the record of turn {turn.number} is not an answer of {self.name!r} that the "
                f"ledger has: it was changed or damaged. {REMEDY}"
            )
        try:
            return self._participant.replay(turn, Encoded(decode(past), past))
        except ProtocolError as error:
            raise RunError(f"{self._folder.path}: the record of turn {turn.number} is damaged: {error}") from None


OF_THE_SESSION = (
    TurnFinished,
    AgentLeft,
    RoundFinished,
    CombinationLearned,
    AloneBegan,
    ResultJudged,
    RunFinished,
)
"""Facts that a resumed session yields again, in the same order."""


def train(run: OpenRun) -> Iterator[Event]:
    """Train from where the run was interrupted, and yield its events; each is in the run's log before it is yielded."""
    rows = align(run)
    labels, order = run.table.labels[rows], np.asarray(run.folder.permutation())
    task = Task(
        run.settings.plan,
        run.settings.agents,
        labels,
        order[labels],
        len(run.settings.classes),
        # only what the weights are to each other counts
        weights=None if run.table.weights is None else without_scale(run.table.weights[rows]),
        own=own_numbers(run, rows),
        holdout_words=run.folder.holdout_words(),
        roles=roles_of(run),
        told=told_labels(run, rows),  # after all else that may be refused
        label_only=run.settings.label_only,
        order=order,
        groups=at(run.table.groups, rows),
    )
    made = set_up(task)
    n_holdout = 0 if made.aside is None else len(made.aside)
    logged = [recorded.event for recorded in read(run.folder.events, strict=False)]
    if not any(isinstance(event, SamplesSettled) for event in logged):
        run.log.append(SamplesSettled(made.n_training, n_holdout))
    _begin(run, len(rows), made)
    schedule = schedule_of(run)
    alone = partial(trained_alone, task, _own_agent(run), partial(_own_samples, run, rows, made))
    fresh = not run.settings.places.get(KEPT_ONLY)
    participants = _participants(run, made, len(rows), schedule)
    yield from _follow(run, made.session(participants, alone, again=schedule.rounds, afresh=fresh), made, logged)


def _participants(run: OpenRun, made: SetUp, n_samples: int, schedule: Schedule) -> list[RecordedParticipant]:
    n_classes, n_holdout = len(run.settings.classes), n_samples - made.n_training
    again = turns_again(run, made, schedule, n_samples)
    received, checks, doubts = received_answers(run), turn_checks(run, made, n_samples), doubts_of(run, made, n_samples)
    return [
        RecordedParticipant(
            RemoteParticipant(
                run.agents[name],
                run.name,
                made.methods[name],
                ToldTask(made.codes[name], n_classes, n_holdout),
                run.folder.whole_turn,
                checks[name],
                again[name],
            ),
            run.folder,
            run.may_leave(name),
            received[name],
            doubts.get(name, believed),
        )
        for name in run.settings.turn_takers
    ]


def _own_agent(run: OpenRun) -> Agent:
    plan = run.settings.plan.at_home()
    honesty = Honesty(plan.honest_reward, plan.cv, models=plan.models_per_turn)
    return Agent(run.settings.initiator, run.holdings.estimator, honesty)


def _own_samples(run: OpenRun, rows: Rows, made: SetUp) -> TrainingSamples:
    table, codes = run.holdings.features, made.codes[run.settings.initiator]
    training = rows if made.training is None else rows[made.training]
    aside = None if made.aside is None else take_rows(table, rows[made.aside])
    folds = made.folds.get(run.settings.initiator)
    return TrainingSamples(take_rows(table, training), codes, holdout=aside, folds=folds)


def _begin(run: OpenRun, n_samples: int, made: SetUp) -> None:
    """Send every agent the task; one that has it already answers the same again.

    Labels and weights of hold-out samples are not part of it. Where the true labels stay with the initiator, all
    weights do, too: they may reveal labels.
    """
    plan, n_classes = run.settings.plan, len(run.settings.classes)
    mask = np.zeros(n_samples, dtype=bool)
    mask[[] if made.aside is None else made.aside] = True
    holdout = None if made.aside is None else pack_bits(mask)
    weights = None if made.weights is None else pack_numbers(made.weights)
    labels = {id(codes): pack_codes(codes, n_classes) for codes in made.codes.values()}
    for name in run.agents:
        own = name == run.settings.initiator
        begin = m.Begin(
            run=run.name,
            n_samples=n_samples,
            n_classes=n_classes,
            labels=labels[id(made.codes[name])],
            seed=made.seeds[name],
            turn_seeds=plan.seed,
            weights=weights if own or not plan.make_method().keeps_labels else None,
            holdout=holdout,
            folds=pack_codes(made.folds[name], plan.cv) if made.folds else None,
            **(plan.at_home() if own else plan).told(n_classes),
        )
        run.reach(name, begin, m.Ready)


def _follow(run: OpenRun, session: Session, made: SetUp, logged: Sequence[Event]) -> Iterator[Event]:
    """Write events to the log and yield them; at the end, tell the agents and write the result.

    Events that are in the log already, from before an interruption, are not written again.
    """
    known = sum(isinstance(event, OF_THE_SESSION) for event in logged)
    seen: list[Event] = []
    for event in session.run():
        seen.append(event)
        if isinstance(event, RunFinished):
            _finish(run, session, made, seen, event)
        if len(seen) <= known:
            run.log.tell(event)
        else:
            run.log.append(event)
        yield event


def _finish(run: OpenRun, session: Session, made: SetUp, seen: Sequence[Event], end: RunFinished) -> None:
    """Tell the agents that training is over, and write what follows from it; the result comes last."""
    made_of = (turn.contribution for turn in session.history)
    contributions = [asdict(each) for each in made_of if each is not None and each.round <= end.n_rounds]
    calibration = made.calibration(session, end.n_rounds)
    result = {  # before the last messages: its traffic is without them
        "run": run.name,
        "stop_reason": end.reason.name,
        "n_rounds": end.n_rounds,
        "contributions": contributions,
        "n_turns": len(session.history),
        "n_samples": made.n_training,
        "left": run.folder.left(),
        "traffic": traffic_of(run, session.history),
        "combination": next((asdict(event) for event in seen if isinstance(event, CombinationLearned)), None),
        "versions": versions(),
        "evaluation": None if session.report is None else asdict(session.report),
        "calibration": None if calibration is None else asdict(calibration),
        "class_shares": made.class_shares.tolist(),
    }
    _end(run, end.n_rounds, [each["agent"] for each in contributions])
    if session.combining is not None and session.combining.final is not None:
        run.folder.write_combination(to_bytes(session.combining.final))
    said = made.votes_in_training(session, end.n_rounds)
    if said:
        silence = np.zeros_like(next(iter(said.values())))
        votes = np.array([said.get(name, silence) for name in run.settings.agents], dtype=np.float32)
        run.folder.write_votes_in_training(votes)
    run.folder.write_result(result)


def _end(run: OpenRun, n_rounds: int, contributors: Sequence[str]) -> None:
    """Tell the agents that training is over; each must still have the models that the result is made of."""
    for name in run.agents:
        try:
            kept = tell_end(run, name, n_rounds)
        except (UnreachableError, RefusedError):
            if name in run.folder.left():
                continue  # it will be told when it is back, before it votes; or it has not begun at all
            raise
        if kept != contributors.count(name):
            raise RunError(
                f"Agent {name!r} has {kept} models, but the result is made of {contributors.count(name)} of its own: "
                "it has lost some since training, perhaps because an old backup was restored. Restore its folder as "
                "it was, or start a new run."
            )


def tell_end(run: OpenRun, agent: str, n_rounds: int) -> int:
    """Tell an agent that training is over; return how many models it has."""
    left = run.folder.left().get(agent)
    end = m.End(run=run.name, n_rounds=n_rounds, last_turn=left["turn"] - 1 if left else None)
    return run.agents[agent].ask(end, m.Ended).n_models
