"""Going on from an earlier run: what has changed since, and which of its turns are taken again."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from functools import partial
from typing import Any

import numpy as np

from assistlearn.core.ignorance import Bools
from assistlearn.core.votes import Codes
from assistlearn.errors import RunError, UnreachableError
from assistlearn.events import RunGoesOn
from assistlearn.protocol import messages as m
from assistlearn.protocol.arrays import pack_bits
from assistlearn.protocol.known_before import KnownBefore, RunSamples
from assistlearn.runs.earlier_run_folder import EarlierRun, EarlierRunFolder
from assistlearn.runs.open_run import OpenRun
from assistlearn.runs.setup import NEW, TRAINED_ON, SetUp
from assistlearn.runs.turn_again import TurnAgain

REQUIRE = "require_kept"
"""A key in a run's settings: whether to refuse to go on if an agent cannot take its turns again."""

KEPT_ONLY = "kept_only"
"""A key in a run's settings: whether training stops after the rounds that are taken again, with no fresh round."""


@dataclass(frozen=True)
class Schedule:
    """Which turns of an earlier run are taken again.

    Attributes
    ----------
    rounds : list of list of str
        The agents that take a turn in each of the rounds that are taken again. First come those that take a turn
        again, in their earlier order. Then come those that have no turns to take again, and take fresh ones.
    again : mapping of str to mapping of int to int
        For each agent and each round, the turn of the earlier run that is taken again.
    """

    rounds: Sequence[Sequence[str]] = ()
    again: Mapping[str, Mapping[int, int]] = field(default_factory=dict)

    @classmethod
    def of(cls, earlier: EarlierRun, agents: Sequence[str], recalled: Mapping[str, Sequence[int]]) -> Schedule:
        """Return the schedule of a run in which these agents take turns; ``recalled`` has the turns that they kept."""
        again = {
            name: {round: turn for round, turn in earlier.turns_of(name).items() if turn in recalled.get(name, ())}
            for name in agents
        }
        fresh = [name for name in agents if not again[name]]
        last = max((round for turns in again.values() for round in turns), default=0)
        rounds = []
        for number in range(1, last + 1):
            taken = sorted((turns[number], name) for name, turns in again.items() if number in turns)
            rounds.append([name for _, name in taken] + fresh)
        return cls(rounds, again)


def schedule_of(run: OpenRun, made: SetUp, n_samples: int) -> Schedule:
    """Return which turns are taken again. The first time, ask the agents, and log what has changed."""
    folder = EarlierRunFolder(run.folder.path)
    earlier = folder.read()
    if earlier is None:
        return Schedule()
    known = folder.goes_on()
    if known is None:
        replies = {name: _recalled(run, earlier, folder.still(), name) for name in run.agents}
        recalled = {name: reply.turns for name, reply in replies.items() if reply is not None and reply.turns}
        schedule = Schedule.of(earlier, run.settings.turn_takers, recalled)
        changes = _changes(run, earlier, folder, replies, made, n_samples)
        _require(run, changes)
        turns = {name: {str(round): turn for round, turn in turns.items()} for name, turns in schedule.again.items()}
        folder.write_goes_on({"rounds": schedule.rounds, "again": turns, "changes": asdict(changes)})
        run.log.append(changes)
        return schedule
    again = {name: {int(round): turn for round, turn in turns.items()} for name, turns in known["again"].items()}
    return Schedule(known["rounds"], again)


def turns_again(
    run: OpenRun, made: SetUp, schedule: Schedule, n_samples: int, n_classes: int
) -> dict[str, dict[int, TurnAgain]]:
    """Return, for each agent and round, what the initiator knows about the turn that is taken again."""
    folder = EarlierRunFolder(run.folder.path)
    earlier = folder.read()
    if earlier is None:
        return {name: {} for name in run.settings.agents}
    masks = run.folder.held(n_samples)
    assert masks is not None
    held = dict(zip(run.settings.agents, [np.ones(n_samples, dtype=bool), *masks], strict=True))
    aside = np.zeros(n_samples, dtype=bool)
    aside[[] if made.aside is None else made.aside] = True
    found: dict[str, dict[int, TurnAgain]] = {}
    for name in run.settings.agents:
        turns = schedule.again.get(name, {})
        if turns:
            then = RunSamples(earlier.codes, earlier.aside, earlier.held_by(name))
            now = RunSamples(made.codes[name], aside, held[name])
            known = KnownBefore.of(folder.still(), then, now, made.methods[name], n_classes)
        found[name] = {round: TurnAgain(number, known, partial(folder.turn, number)) for round, number in turns.items()}
    return found


def _recalled(run: OpenRun, earlier: EarlierRun, still: Bools, agent: str) -> m.Recalled | None:
    """Ask an agent for its turns of the earlier run; None where it has none, or is gone."""
    if agent not in earlier.agents or agent in run.folder.left():
        return None
    turns = sorted(earlier.turns_of(agent).values())
    if not turns:
        return None
    request = m.Recall(run=run.name, earlier=earlier.run, still=pack_bits(still), turns=turns)
    try:
        reply = run.agents[agent].ask_any(request).message
    except UnreachableError as error:
        if not run.may_leave(agent):
            raise
        run.folder.leave(agent, run.folder.n_turns + 1, str(error))
        return None
    if isinstance(reply, m.Recalled) and set(reply.turns) <= set(turns):
        return reply
    why = reply.text if isinstance(reply, m.Problem) else f"it answered {type(reply).__name__}"
    return m.Recalled(run=run.name, turns=[], why=why, table_changed=True)


def _changes(
    run: OpenRun,
    earlier: EarlierRun,
    folder: EarlierRunFolder,
    replies: Mapping[str, m.Recalled | None],
    made: SetUp,
    n_samples: int,
) -> RunGoesOn:
    """Return what has changed since the earlier run."""
    roles, still, now = folder.roles(), folder.still(), run.settings.plan.of_runs()
    assert roles is not None
    answered = {name: reply for name, reply in replies.items() if reply is not None}
    before: dict[str, Any] = earlier.facts["settings"]
    return RunGoesOn(
        earlier=earlier.run,
        n_same=int(np.count_nonzero(still)),
        n_new=int(np.count_nonzero(roles == NEW)),
        n_gone=len(still) - int(np.count_nonzero(roles != NEW)),
        n_relabelled=_relabelled(earlier, still, roles),
        new_agents=[name for name in run.settings.agents if name not in earlier.agents],
        lost_agents=[name for name in earlier.agents if name not in run.settings.agents],
        again={name: len(reply.turns) for name, reply in answered.items() if reply.turns},
        anew={name: reply.why for name, reply in answered.items() if not reply.turns},
        changed_tables=[name for name, reply in answered.items() if reply.turns and reply.table_changed],
        settings={key: f"was {before.get(key)}, is {now[key]}" for key in now if before.get(key) != now[key]},
    )


def _relabelled(earlier: EarlierRun, still: Bools, roles: Codes) -> int:
    """Return how many people who were trained on have another label now."""
    same = int(np.count_nonzero(still & ~earlier.aside))
    return int(np.count_nonzero(roles == TRAINED_ON)) - same


def _require(run: OpenRun, changes: RunGoesOn) -> None:
    """Refuse to go on if an agent cannot take its turns again, where the settings ask for this."""
    if run.settings.places.get(REQUIRE) and changes.anew:
        name, why = next(iter(changes.anew.items()))
        raise RunError(
            f"Agent {name!r} cannot take its turns of run {changes.earlier!r} again: {why}. Correct this and go on, "
            "or start without --require-kept: it then takes its turns anew."
        )
