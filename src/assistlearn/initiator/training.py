"""Training a run: align, set up, run the session from where it was interrupted, end, and tell all."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, replace
from functools import partial

import numpy as np

from assistlearn.agent.agent import Agent, TrainingSamples
from assistlearn.alignment.ids import Rows
from assistlearn.combination import to_bytes
from assistlearn.core.labels import without_scale
from assistlearn.core.people import at
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
from assistlearn.initiator.label_ledger import told_labels
from assistlearn.initiator.participants import (
    RecordedParticipant,
    RemoteParticipant,
    ToldTask,
    believed,
    doubts_of,
    turn_checks,
)
from assistlearn.initiator.run import OpenRun, own_numbers, received_answers, traffic_of
from assistlearn.initiator.settings import versions
from assistlearn.initiator.setup import SetUp, Task, set_up
from assistlearn.learners import Honesty
from assistlearn.learners.model import take_rows
from assistlearn.protocol import messages as m
from assistlearn.protocol.arrays import pack_bits, pack_codes, pack_numbers
from assistlearn.session import LocalParticipant, Session
from assistlearn.session.judging import HoldoutVotes


def trained_alone(task: Task, agent: Agent, samples: Callable[[], TrainingSamples], n_models: int) -> HoldoutVotes:
    """Train the initiator alone, as a baseline, and return its votes on the hold-out samples.

    It has the same learner, columns, samples and rules, and at most ``n_models`` models. ``agent`` is a fresh one.
    ``samples`` returns the initiator's rows of the samples to train on, and of the hold-out samples.
    """
    plan = replace(task.plan.at_home(), n_rounds=n_models, order="chain")
    made = set_up(replace(task, plan=plan, agents=[agent.name], told=None, label_only=False))
    assert made.holdout is not None, "there is nothing to compare on"
    agent.begin(samples(), made.seeds[agent.name])
    session = made.session([LocalParticipant(agent, made.states[agent.name], made.methods[agent.name])])
    finished = next(event for event in session.run() if isinstance(event, RunFinished))
    return made.holdout.votes_of(finished.n_rounds, None if session.combining is None else session.combining.final)


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
