"""Training a run: align, set up, run the session from where it was interrupted, end, and tell all."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from functools import partial
from typing import TypeAlias

import msgspec
import numpy as np

from assistlearn import events as e
from assistlearn.agent.agent import Agent, Answer, TrainingSamples, Turn
from assistlearn.alignment.ids import Rows
from assistlearn.combination import to_bytes
from assistlearn.core import Contribution, Reward, RunState, SoftReward, Verdict
from assistlearn.core.ignorance import LARGEST
from assistlearn.core.labels import without_scale
from assistlearn.core.people import at
from assistlearn.errors import AgentGoneError, DoubtedError, ProtocolError, RefusedError, RunError, UnreachableError
from assistlearn.initiator.continuing import KEPT_ONLY, Again, roles_of, schedule_of, turns_again
from assistlearn.initiator.folder import RunFolder, versions
from assistlearn.initiator.label_ledger import told_labels
from assistlearn.initiator.opening import align
from assistlearn.initiator.run import Connection, OpenRun, own_numbers, received_answers, traffic_of
from assistlearn.learners import Honesty
from assistlearn.learners.model import take_rows
from assistlearn.methods.method import ABSTAINS, TOLERANCE, HoldoutAnswer, Method, Standpoint, check_verdict
from assistlearn.protocol import Encoded, arrays
from assistlearn.protocol import messages as m
from assistlearn.protocol.codec import decode
from assistlearn.session import Session
from assistlearn.session.judging import Doubt, doubt_of
from assistlearn.session.setup import SetUp, Task, set_up, votes_alone
from assistlearn.storage import REMEDY, digest_of
from assistlearn.types import Bools, Codes

OF_THE_SESSION = (
    e.TurnFinished,
    e.AgentLeft,
    e.RoundFinished,
    e.CombinationLearned,
    e.AloneBegan,
    e.ResultJudged,
    e.RunFinished,
)
"""Facts that a resumed session yields again, in the same order."""


def train(run: OpenRun) -> Iterator[e.Event]:
    """Train from where the run was interrupted, and yield its events; each is in the run's log before it is yielded."""
    rows = align(run)
    task = replace(task_of(run, rows), holdout_words=run.folder.holdout_words(), roles=roles_of(run))
    task = replace(task, told=told_labels(run, rows))  # after all else that may be refused
    made = set_up(task)
    logged = [recorded.event for recorded in e.read(run.folder.events, strict=False)]
    if not any(isinstance(event, e.SamplesSettled) for event in logged):
        run.log.append(e.SamplesSettled(made.n_training, 0 if made.aside is None else len(made.aside)))
    _begin(run, len(rows), made)
    rounds, again = schedule_of(run)
    alone = partial(votes_alone, task, own_agent(run), partial(own_samples, run, rows))
    fresh = not run.settings.places.get(KEPT_ONLY)
    participants = _participants(run, made, len(rows), again)
    yield from _follow(run, made.session(participants, alone, again=rounds, afresh=fresh), made, logged)


def task_of(run: OpenRun, rows: Rows) -> Task:
    """Return what is known of some rows, without what a run settles about them: what is told, and who is held out."""
    labels, order = run.table.labels[rows], np.asarray(run.folder.permutation())
    return Task(
        run.settings.plan,
        run.settings.agents,
        labels,
        order[labels],
        len(run.settings.classes),
        # only what the weights are to each other counts
        weights=None if run.table.weights is None else without_scale(run.table.weights[rows]),
        own=own_numbers(run, rows),
        label_only=run.settings.label_only,
        order=order,
        groups=at(run.table.groups, rows),
    )


def own_agent(run: OpenRun) -> Agent:
    """Return the initiator's agent without any model, to be trained alone in this process."""
    plan = run.settings.plan.at_home()
    honesty = Honesty(plan.honest_reward, plan.cv, models=plan.models_per_turn)
    return Agent(run.settings.initiator, run.holdings.estimator, honesty)


def own_samples(run: OpenRun, rows: Rows, made: SetUp) -> TrainingSamples:
    table, initiator = run.holdings.features, run.settings.initiator
    training = rows if made.training is None else rows[made.training]
    aside = None if made.aside is None else take_rows(table, rows[made.aside])
    folds = made.folds.get(initiator)
    return TrainingSamples(take_rows(table, training), made.codes[initiator], holdout=aside, folds=folds)


def _begin(run: OpenRun, n_samples: int, made: SetUp) -> None:
    """Send every agent the task; one that has it already answers the same again.

    Labels and weights of hold-out samples are not part of it. Where the true labels stay with the initiator, all
    weights do, too: they may reveal labels.
    """
    plan, n_classes = run.settings.plan, len(run.settings.classes)
    mask = np.zeros(n_samples, dtype=bool)
    mask[[] if made.aside is None else made.aside] = True
    holdout = None if made.aside is None else arrays.pack_bits(mask)
    weights = None if made.weights is None else arrays.pack_numbers(made.weights)
    labels = {id(codes): arrays.pack_codes(codes, n_classes) for codes in made.codes.values()}
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
            folds=arrays.pack_codes(made.folds[name], plan.cv) if made.folds else None,
            **(plan.at_home() if own else plan).told(n_classes),
        )
        run.reach(name, begin, m.Ready)


def _follow(run: OpenRun, session: Session, made: SetUp, logged: Sequence[e.Event]) -> Iterator[e.Event]:
    """Write events to the log and yield them; at the end, tell the agents and write the result.

    Events that are in the log already, from before an interruption, are not written again.
    """
    known = sum(isinstance(event, OF_THE_SESSION) for event in logged)
    seen: list[e.Event] = []
    for event in session.run():
        seen.append(event)
        if isinstance(event, e.RunFinished):
            _finish(run, session, made, seen, event)
        if len(seen) <= known:
            run.log.tell(event)
        else:
            run.log.append(event)
        yield event


def _finish(run: OpenRun, session: Session, made: SetUp, seen: Sequence[e.Event], end: e.RunFinished) -> None:
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
        "combination": next((asdict(event) for event in seen if isinstance(event, e.CombinationLearned)), None),
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


# -- an agent that is reached by messages, as the session sees it


def _participants(
    run: OpenRun, made: SetUp, n_samples: int, turns: Mapping[str, Mapping[int, int]]
) -> list[RemoteParticipant]:
    settings, plan = run.settings, run.settings.plan
    masks = run.folder.held(n_samples)
    assert masks is not None
    held = dict(zip(settings.agents, [np.ones(n_samples, dtype=bool), *masks], strict=True))
    again, received = turns_again(run, made, turns, held), received_answers(run)
    found = []
    for name in settings.turn_takers:
        check, doubt = _nothing_refused, None
        if name != settings.initiator:
            training = held[name] if made.training is None else held[name][made.training]
            aside = None if made.aside is None else held[name][made.aside]
            trusting = plan.honest_reward == "auto"  # what helpers are told
            seen = Standpoint(None if training.all() else training, trusting=trusting)
            check = partial(check_turn, made.methods[name], made.states[name], seen, aside)
            doubt = doubt_of(plan, made.holdout, training)
        found.append(
            RemoteParticipant(
                run.agents[name],
                run.folder,
                run.name,
                made.methods[name],
                made.codes[name],
                len(settings.classes),
                n_samples - made.n_training,
                check,
                doubt,
                again.get(name, {}),
                received[name],
                run.may_leave(name),
            )
        )
    return found


Check: TypeAlias = Callable[[Turn, Answer], None]
"""Raises ``ProtocolError`` for an answer that does not fit what is known of the agent."""


def _nothing_refused(turn: Turn, answer: Answer) -> None:
    """Believe the initiator's own agent."""


@dataclass
class RemoteParticipant:
    """An agent that is asked over a connection, once for each turn, however often the run is interrupted.

    This object keeps the news that the agent has not heard yet, and sends them with its next turn. An agent that has
    lost what it knew is sent all news since then, with their rewards from the run's folder. The run goes on without an
    agent that is not believed, and, if it ``may_leave``, without one that cannot be reached.
    """

    connection: Connection
    folder: RunFolder
    run: str
    method: Method
    codes: Codes  # those that the agent was told, of the samples to train on
    n_classes: int
    n_holdout: int = 0
    check: Check = _nothing_refused
    doubt: Doubt | None = None
    again: Mapping[int, Again] = field(default_factory=dict)  # the turns that are taken again, by their rounds
    received: Collection[str] = ()  # digests of its answers in the ledger; without any, kept answers are not compared
    may_leave: bool = False
    _since: int = field(default=0, init=False)
    _unheard: list[m.News] = field(default_factory=list, init=False)
    _heard: list[m.News] = field(default_factory=list, init=False)

    @property
    def name(self) -> str:
        return self.connection.agent

    def take_turn(self, turn: Turn) -> Answer:
        left = self.folder.left().get(self.name)
        if left is not None and turn.number >= left["turn"]:
            raise (DoubtedError if left.get("doubted") else AgentGoneError)(self.name, left["reason"])
        past = self.folder.turn(turn.number)
        if past is not None:
            return self._replay(turn, past)
        try:
            reply = self._ask(turn)
        except UnreachableError as error:
            if not self.may_leave:
                raise
            self.folder.leave(self.name, turn.number, str(error))
            raise AgentGoneError(self.name, str(error)) from None
        answer = self._answer(turn, reply)
        reason = "" if self.doubt is None else self.doubt(answer, turn.round)
        if reason:  # the turn is another agent's now, so that its answer is not kept
            self.folder.leave(self.name, turn.number, reason, doubted=True)
            raise DoubtedError(self.name, reason)
        if turn.round in self.again and isinstance(reply.message, m.TurnTaken):
            self.folder.write_whole_turn(turn.number, Encoded.of(self._whole(turn.round, reply.message)).content)
        self.folder.write_turn(turn.number, reply.content)
        return answer

    def hear(self, contribution: Contribution, answer: Answer, step: float) -> None:
        """Keep the news for the agent's next turn; a reward is passed on as its owner packed it."""
        own = contribution.agent == self.name
        if not own and not self.method.shares_state:
            return
        packed = None if own else answer.packed
        self._unheard.append(m.News(contribution.turn, contribution.round, step, packed))

    def _ask(self, turn: Turn) -> Encoded:
        """Send the agent the news that it has not heard, and return its reply to the turn."""
        reply = self.connection.ask_any(self._request(turn, self._since, [] if turn.apart else self._unheard))
        if isinstance(reply.message, m.Problem) and reply.message.kind == "behind":
            known = reply.message.known
            reply = self.connection.ask_any(self._request(turn, known, list(self._news_since(known))))
        if isinstance(reply.message, m.Problem) and reply.message.kind != "sits-out":
            raise RefusedError(reply.message.text)
        return reply

    def _replay(self, turn: Turn, past: bytes) -> Answer:
        if self.received and digest_of(past) not in self.received:
            raise RunError(
                f"{self.folder.path}: the record of turn {turn.number} is not an answer of {self.name!r} that the "
                f"ledger has: it was changed or damaged. {REMEDY}"
            )
        try:
            return self._answer(turn, Encoded(decode(past), past))
        except ProtocolError as error:
            raise RunError(f"{self.folder.path}: the record of turn {turn.number} is damaged: {error}") from None

    def _answer(self, turn: Turn, reply: Encoded) -> Answer:
        """Check the answer in a message and return it; from now on, the agent counts as having heard all news.

        An agent that does not take the turn, because too few people count, sits it out. It has not heard the news.
        """
        taken = reply.message
        if isinstance(taken, m.Problem) and taken.kind == "sits-out":
            silence = self.method.silence(len(self.codes), self.n_classes)
            return Answer(silence, Verdict(0.0, 0.0, False), why=taken.text)
        if not isinstance(taken, m.TurnTaken) or taken.run != self.run or taken.turn != turn.number:
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

    def read(self, turn: Turn, reply: m.TurnTaken) -> Answer:
        """Return the answer in a message about all samples, checked."""
        try:
            answer = self._unpacked(reply)
            self.check(turn, answer)
            return answer
        except ProtocolError as error:
            raise ProtocolError(f"Agent {self.name!r}, turn {reply.turn}: {error}") from None

    def _unpacked(self, reply: m.TurnTaken) -> Answer:
        reward = arrays.unpack_reward(reply.reward, self.codes, self.n_classes)
        self.method.check_reward(reward, self.n_classes)
        if not (arrays.loudness(reward, reply.model_weight) <= LARGEST and 0.0 <= reply.mean_reward <= 1.0):
            raise ProtocolError(
                f"the model weight {reply.model_weight} or the mean reward {reply.mean_reward} is not a possible value."
            )
        verdict = Verdict(reply.model_weight, reply.mean_reward, reply.perfect)
        if self.n_holdout == 0 or verdict.useless:
            return Answer(reward, verdict, packed=reply.reward)
        holdout = arrays.unpack_holdout(reply.holdout, self.n_holdout, self.n_classes)
        self.method.check_holdout(holdout, self.n_classes)
        if holdout is not None and not arrays.loudness(holdout, reply.model_weight) <= LARGEST:
            raise ProtocolError(
                "an answer for a hold-out sample, times the model weight, is larger than any model can give."
            )
        return Answer(reward, verdict, holdout, packed=reply.reward)

    def _whole(self, round: int, taken: m.TurnTaken) -> m.TurnTaken:
        """Return an answer about all samples. Of a turn that is taken again, only the new part was sent."""
        return self.again[round].whole(taken) if round in self.again else taken

    def _request(self, turn: Turn, since: int, news: list[m.News]) -> m.TakeTurn:
        if turn.round not in self.again:
            return m.TakeTurn(run=self.run, turn=turn.number, round=turn.round, since=since, news=news)
        number = self.again[turn.round].number
        return m.TakeAgain(run=self.run, turn=turn.number, round=turn.round, since=since, news=news, earlier=number)

    def _news_since(self, known: int) -> Iterator[m.News]:
        """Yield all news from a turn on, each with its reward, that of the agent's own models included."""
        for news in (*self._heard, *self._unheard):
            if news.turn >= known:
                reward = self._reward_of(news.turn) if news.reward is None else news.reward
                yield msgspec.structs.replace(news, reward=reward)

    def _reward_of(self, turn: int) -> arrays.PackedReward:
        content = self.folder.whole_turn(turn)
        taken = None if content is None else decode(content)
        if not isinstance(taken, m.TurnTaken):
            raise RunError(
                f"Agent {self.name!r} has lost what it knew about run {self.run!r}, and the record of turn {turn} is "
                "missing here, too. Restore one of the two folders from a backup, or start a new run."
            )
        return taken.reward


# -- what a helper can have said: the initiator computes it itself


def check_turn(
    method: Method, state: RunState, seen: Standpoint, holdout_held: Bools | None, turn: Turn, answer: Answer
) -> None:
    """Refuse an answer whose model weight, mean reward or votes do not follow from what came with it.

    Within a tolerance, the number that was sent is the one that counts: machines round differently, and every agent
    must compute with the same one. ``state`` is the initiator's own, before the turn that is checked; an agent that
    takes its turn apart knows only the state before the first turn. ``seen`` says which training samples the helper
    holds, and whether it may cut its model weight; ``holdout_held`` which hold-out samples, if any are held out.
    """
    _, loudest = method.vote_range(state.n_classes)
    _refuse_claims(answer.reward, seen.held, "training samples")
    _refuse_loud(answer.reward, loudest, "a reward")
    check_verdict(method, state.beginning() if turn.apart else state, answer.reward, answer.verdict, seen)
    if answer.holdout is not None:
        _refuse_loud(answer.holdout, loudest, "an answer for a hold-out sample")
        _refuse_claims(answer.holdout, holdout_held, "hold-out samples")


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
