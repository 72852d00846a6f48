"""Training a run: align, set up, run the session from where it was interrupted, end, and tell all."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from assistlearn.agent.agent import Agent, TrainingSamples
from assistlearn.alignment.ids import Rows
from assistlearn.combination import to_bytes
from assistlearn.core.labels import without_scale
from assistlearn.core.people import Groups, at
from assistlearn.errors import RefusedError, RunError, UnreachableError
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
from assistlearn.initiator.alignment import align
from assistlearn.initiator.continuing import KEPT_ONLY, Schedule, roles_of, schedule_of, turns_again
from assistlearn.initiator.creating import told_labels
from assistlearn.initiator.participants import (
    RecordedParticipant,
    RemoteParticipant,
    ToldTask,
    believed,
    doubts_of,
    turn_checks,
)
from assistlearn.initiator.run import OpenRun, OwnNumbers, received_answers, traffic_of
from assistlearn.initiator.settings import versions
from assistlearn.initiator.setup import SetUp, set_up
from assistlearn.learners import Honesty
from assistlearn.learners.weighting import take_rows
from assistlearn.plan import Plan
from assistlearn.protocol import messages as m
from assistlearn.protocol.arrays import pack_bits, pack_codes, pack_numbers
from assistlearn.session import HoldOut, Session
from assistlearn.session.holdout import HoldoutVotes
from assistlearn.session.participant import LocalParticipant
from assistlearn.types import Codes, Floats

# The initiator alone, as a baseline: the same learner, columns, samples and rules, and as many models.
#
# An initiator that has labels alone knows the shares of the classes, and no more.


@dataclass(frozen=True)
class Alone:
    """Trains the initiator alone.

    Attributes
    ----------
    plan : Plan
        The plan of the run.
    agent : Agent
        A fresh agent with the initiator's learner.
    samples : callable
        Returns the initiator's rows of the samples to train on, and of the hold-out samples.
    labels, codes, n_classes, weights
        As in :func:`~assistlearn.initiator.setup.set_up`, of all samples.
    own : ndarray or None
        The initiator's columns as numbers, where a combination may use them.
    holdout_words, roles, order, groups
        As in :func:`~assistlearn.initiator.setup.set_up`: the same samples are held out.
    """

    plan: Plan
    agent: Agent
    samples: Callable[[], TrainingSamples]
    labels: Codes
    codes: Codes
    n_classes: int
    weights: Floats | None
    own: Floats | None
    holdout_words: Sequence[int] = ()
    roles: Codes | None = None
    order: Codes | None = None
    groups: Groups | None = None

    def __call__(self, n_models: int) -> HoldoutVotes:
        """Train at most ``n_models`` models, and return the votes on the hold-out samples."""
        plan, name = replace(self.plan.at_home(), n_rounds=n_models, order="chain"), self.agent.name
        made = set_up(
            plan,
            [name],
            self.labels,
            self.codes,
            self.n_classes,
            self.weights,
            own=self.own,
            holdout_words=self.holdout_words,
            roles=self.roles,
            order=self.order,
            groups=self.groups,
        )
        assert made.holdout is not None, "there is nothing to compare on"
        self.agent.begin(self.samples(), made.seeds[name])
        combining = made.combining(plan, [name], self.codes, self.n_classes, self.own)
        participant = LocalParticipant(self.agent, made.states[name], made.methods[name])
        session = Session(plan, [participant], made.states, made.holdout, combining=combining)
        finished = next(event for event in session.run() if isinstance(event, RunFinished))
        return made.holdout.votes_of(finished.n_rounds, None if combining is None else combining.final)


@dataclass(frozen=True)
class LabelsAlone:
    """The baseline of an initiator that has labels alone: the shares of the classes.

    Attributes
    ----------
    holdout : HoldOut
        The hold-out samples. It also knows the shares of the classes among the training samples.
    """

    holdout: HoldOut

    def __call__(self, n_models: int) -> HoldoutVotes:
        """Return no votes on the hold-out samples, so that the shares of the classes decide; there are no models."""
        return self.holdout.votes_of(0)


def alone_of(made: SetUp, own: Alone) -> Alone | LabelsAlone:
    """Return the baseline of a run: the initiator's own models, or the shares of the classes if it has labels alone."""
    return LabelsAlone(made.holdout) if made.label_only and made.holdout is not None else own


# Training a run: align, set up, run the session from where it was interrupted, end, and write the result.


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
    labels = run.table.labels[rows]
    order = np.asarray(run.folder.permutation())
    codes = order[labels]
    n_classes = len(run.settings.classes)
    weights = _weights(run, rows)
    plan, agents = run.settings.plan, run.settings.agents
    own = OwnNumbers.of(run).at(rows)
    words, roles = run.folder.holdout_words(), roles_of(run)
    told, label_only = told_labels(run, rows), run.settings.label_only
    groups = at(run.table.groups, rows)
    task = plan, agents, labels, codes, n_classes, weights, told, own, words, label_only, roles, order, groups
    made = set_up(*task)
    n_holdout = 0 if made.aside is None else len(made.aside)
    logged = [recorded.event for recorded in read(run.folder.events, strict=False)]
    if not any(isinstance(event, SamplesSettled) for event in logged):
        run.log.append(SamplesSettled(made.n_training, n_holdout))
    _begin(run, len(rows), n_classes, made)
    schedule = schedule_of(run, made, len(rows))
    participants = _participants(run, made, n_classes, len(rows), schedule)
    combining = made.combining(plan, agents, codes, n_classes, own)
    samples = partial(_own_samples, run, rows, made)
    alone = Alone(plan, _own_agent(run), samples, labels, codes, n_classes, weights, own, words, roles, order, groups)
    session = Session(
        plan,
        participants,
        made.states,
        made.holdout,
        combining=combining,
        evaluating=made.evaluating(plan, agents, alone_of(made, alone)),
        calibrating=made.calibrating(plan, codes, n_classes),
        remembering=made.remembering(plan, n_classes),
        again=schedule.rounds,
        afresh=not run.settings.places.get(KEPT_ONLY),
    )
    yield from _follow(run, session, made, logged)


def _participants(
    run: OpenRun, made: SetUp, n_classes: int, n_samples: int, schedule: Schedule
) -> list[RecordedParticipant]:
    """Return the agents that take turns as the session sees them."""
    again = turns_again(run, made, schedule, n_samples, n_classes)
    received, checks, doubts = received_answers(run), turn_checks(run, made, n_samples), doubts_of(run, made, n_samples)
    n_holdout = n_samples - made.n_training
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
    """Return a fresh agent with the initiator's learner and the settings of the run."""
    plan = run.settings.plan.at_home()
    return Agent(
        run.settings.initiator,
        run.holdings.estimator,
        Honesty(plan.honest_reward, plan.cv, models=plan.models_per_turn),
    )


def _own_samples(run: OpenRun, rows: Rows, made: SetUp) -> TrainingSamples:
    """Return the initiator's rows of the samples to train on, and of the hold-out samples."""
    table, codes = run.holdings.features, made.codes[run.settings.initiator]
    training = rows if made.training is None else rows[made.training]
    aside = None if made.aside is None else take_rows(table, rows[made.aside])
    folds = made.folds.get(run.settings.initiator)
    return TrainingSamples(take_rows(table, training), codes, holdout=aside, folds=folds)


def _begin(run: OpenRun, n_samples: int, n_classes: int, made: SetUp) -> None:
    """Send every agent the task; one that has it already answers the same again.

    Labels and weights of hold-out samples are not part of it. Where the true labels stay with the initiator, all
    weights do, too: they may reveal labels.
    """
    plan = run.settings.plan
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
    combining = session.combining
    for event in session.run():
        seen.append(event)
        if isinstance(event, RunFinished):
            report = None if session.report is None else asdict(session.report)
            honest = session.honest_scores(event.n_rounds)
            calibration = None if honest is None else asdict(honest.calibration())
            result = _result(run, seen, event, made.n_training) | {"evaluation": report, "calibration": calibration}
            result["class_shares"] = made.class_shares.tolist()
            _end(run, event.n_rounds, [contribution["agent"] for contribution in result["contributions"]])
            if combining is not None and combining.final is not None:
                run.folder.write_combination(to_bytes(combining.final))
            said = session.votes_in_training(event.n_rounds)
            if said:
                silence = np.zeros_like(next(iter(said.values())))
                votes = np.array([said.get(name, silence) for name in run.settings.agents], dtype=np.float32)
                run.folder.write_votes_in_training(votes)
            run.folder.write_result(result)
        if len(seen) <= known:
            run.log.tell(event)
        else:
            run.log.append(event)
        yield event


def _weights(run: OpenRun, rows: NDArray[np.intp]) -> Floats | None:
    """Return the weights of these rows of the initiator, without their scale; None where all are equal."""
    return None if run.table.weights is None else without_scale(run.table.weights[rows])


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


def _result(run: OpenRun, seen: Sequence[Event], end: RunFinished, n_training: int) -> dict[str, Any]:
    turns = [event for event in seen if isinstance(event, TurnFinished)]
    made = [turn.contribution for turn in turns if turn.contribution is not None]
    return {
        "run": run.name,
        "stop_reason": end.reason.name,
        "n_rounds": end.n_rounds,
        "contributions": [asdict(c) for c in made if c.round <= end.n_rounds],
        "n_turns": len(turns),
        "n_samples": n_training,
        "left": run.folder.left(),
        "traffic": traffic_of(run, seen),
        "combination": next((asdict(event) for event in seen if isinstance(event, CombinationLearned)), None),
        "versions": versions(),
    }
