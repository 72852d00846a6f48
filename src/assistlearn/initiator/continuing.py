"""Going on from an earlier run: whether that is possible, what has changed since, and which turns are taken again.

A run that was interrupted is resumed by :mod:`assistlearn.initiator.training`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from functools import cached_property
from pathlib import Path
from typing import Any, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from assistlearn import storage
from assistlearn.agent.run import KnownBefore, RunSamples
from assistlearn.agent.store import RunStore, run_folder
from assistlearn.alignment import Ids
from assistlearn.alignment.ids import Rows
from assistlearn.errors import RunError, SettingsError, UnreachableError
from assistlearn.events import RunGoesOn
from assistlearn.initiator.folder import RunFolder, RunSettings, terms_of
from assistlearn.initiator.run import KEY_FILE, OpenRun, people_of, places_among
from assistlearn.plan import Plan
from assistlearn.protocol import messages as m
from assistlearn.protocol.arrays import pack_bits, unpack_bits, unpack_codes
from assistlearn.protocol.codec import decode
from assistlearn.session.setup import HELD_OUT, NEW, TRAINED_ON, SetUp
from assistlearn.storage import FileDigests
from assistlearn.types import Bools, Codes

REQUIRE = "require_kept"
"""A key in a run's settings: whether to refuse to go on if an agent cannot take its turns again."""

KEPT_ONLY = "kept_only"
"""A key in a run's settings: whether training stops after the rounds that are taken again, with no fresh round."""

ANEW = "Start a new run without --from."

SAME_TERMS = ("method", "loss", "score_bits")
"""The settings that decide what an answer means. A run that goes on must have those of the earlier one."""


# -- before the run: may it go on, and what it needs of the earlier run


def check_can_go_on(earlier: RunFolder, initiator: str, classes: Sequence[Any], plan: Plan) -> RunSettings:
    """Return the settings of an earlier run; refuse one from which this initiator cannot go on with this plan."""
    settings = earlier.settings()
    if terms_of(settings) is not None or earlier.result() is None:
        what = "a pilot" if terms_of(settings) is not None else "not finished. Finish it first, with --resume"
        raise RunError(f"Cannot go on from {earlier.path}: the run there is {what}.")
    if settings.initiator != initiator:
        raise RunError(f"{earlier.path} is a run of {settings.initiator!r}, not of {initiator!r}. {ANEW}")
    new = [label for label in classes if label not in settings.classes]
    if new:
        raise RunError(
            f"The table has a class {new[0]!r} that run {settings.run!r} did not have: its classes were "
            f"{settings.classes}, and its models can answer with no other class. {ANEW}"
        )
    if plan.make_method().keeps_labels:
        raise SettingsError(
            f"With method {plan.method!r}, helpers are told randomised labels once, and each answers once: no turn of "
            f"an earlier run can be used again. {ANEW}"
        )
    check_same_terms(settings, {name: getattr(plan, name) for name in SAME_TERMS})
    return settings


def check_same_terms(earlier: RunSettings, given: Mapping[str, Any]) -> None:
    """Refuse another value for a setting that decides what the turns of the earlier run mean."""
    for name in SAME_TERMS:
        before = getattr(earlier.plan, name)
        now = given.get(name, before)
        if before != now:
            raise SettingsError(
                f"Run {earlier.run!r} was trained with {name}={before!r}. A run with {name}={now!r} cannot use its "
                f"turns. Leave {name} as it was, or start a new run without --from."
            )


def take_over(new: RunFolder, earlier: RunFolder, home: Path, ids: Ids) -> None:
    """Copy what a new run needs of an earlier one into its folder; from then on it needs no other.

    ``home`` is where the initiator keeps its models, and ``ids`` are those in its table now.
    """
    settings, result, rows = earlier.settings(), earlier.result(), earlier.samples()
    begin = RunStore(run_folder(home, settings.run)).task()
    task = None if begin is None else decode(begin)
    if not isinstance(task, m.Begin):
        raise RunError(f"Agent {settings.initiator!r} has forgotten run {settings.run!r}. {ANEW}")
    if result is None or rows is None:
        raise _missing(earlier, "samples.npy")
    people, held = earlier.people(), earlier.held(len(rows))
    if people is None:
        raise _missing(earlier, "people.npy")
    if not (places_among(people, people_of(ids, home)) >= 0).any():
        raise RunError(
            f"None of the {len(people):,} people of run {settings.run!r} is found in the table of "
            f"{settings.initiator!r} now. Either it is another table, or {home / KEY_FILE}, the key that recognises "
            "people, was lost or changed. People who were trained on would then count as new, and could be held out. "
            f"Restore the old file. {ANEW}"
        )
    if held is None:
        raise _missing(earlier, "held.npy")
    n = len(rows)
    aside: Bools = np.zeros(n, bool) if task.holdout is None else unpack_bits(task.holdout, n)
    arrays = {
        "people": people,
        "codes": unpack_codes(task.labels, n - int(np.count_nonzero(aside)), task.n_classes),
        "aside": aside,
        "held": np.concatenate([np.ones((1, n), dtype=bool), held]),
    }
    made = [{key: each[key] for key in ("turn", "round", "agent")} for each in result["contributions"]]
    turns = {each["turn"]: earlier.whole_turn(each["turn"]) for each in made}
    lost = next((turn for turn, answer in turns.items() if answer is None), None)
    if lost is not None:
        raise RunError(f"{earlier.path}: the record of turn {lost} is missing. {ANEW}")
    facts = {
        "run": settings.run,
        "agents": settings.agents,
        "contributions": made,
        "settings": settings.plan.of_runs(),
        "fingerprint": settings.fingerprint,
    }
    files = {f"{name}.npy": storage.array_bytes(values) for name, values in arrays.items()}
    files |= {f"{turn:06d}.msg": answer for turn, answer in turns.items() if answer is not None}
    EarlierRun(new.path).write(files | {"facts.json": storage.json_bytes(facts)})


def _missing(earlier: RunFolder, name: str) -> RunError:
    return RunError(f"{earlier.path}: {name} is missing. Restore it from a backup. {ANEW}")


class EarlierRun:
    """The earlier run, as the folder ``earlier`` of the run that goes on from it has it.

    ::

        facts.json    which run it was, with whom, how it was trained, and whose turns its result is made of
        people.npy    who took part, as digests of their ids
        codes.npy     the class codes of those who were trained on
        aside.npy     which samples were held out
        held.npy      which samples each agent held
        000003.msg    the answer to each turn, about all samples
        still.npy     the samples that the new run begins with: those for which nothing has changed
        roles.npy     of each sample of the new run: new, trained on before, or held out before
        goes_on.json  what has changed, and which turns are taken again; written last
    """

    def __init__(self, run: Path) -> None:
        self._folder = run / "earlier"
        self._files = FileDigests(self._folder)
        self._arrays: dict[str, NDArray[Any]] = {}

    @classmethod
    def of(cls, run: OpenRun) -> EarlierRun | None:
        earlier = cls(run.folder.path)
        return earlier if (earlier._folder / "facts.json").exists() else None

    @cached_property
    def facts(self) -> dict[str, Any]:
        facts: dict[str, Any] = self._json("facts.json")
        return facts

    @property
    def name(self) -> str:
        return str(self.facts["run"])

    @property
    def agents(self) -> list[str]:
        """Who took part, the initiator first."""
        return list(self.facts["agents"])

    def array(self, name: str) -> NDArray[Any]:
        if name not in self._arrays:
            path = self._folder / f"{name}.npy"
            self._arrays[name] = np.asarray(storage.array_of(self._files.read(path), path))
        return self._arrays[name]

    @property
    def roles(self) -> Codes | None:
        """What each sample of the new run was before; None until the samples are matched."""
        return self.array("roles") if (self._folder / "roles.npy").exists() else None

    def turns_of(self, agent: str) -> dict[int, int]:
        """Return the turns of an agent that the result is made of, by their rounds."""
        return {made["round"]: made["turn"] for made in self.facts["contributions"] if made["agent"] == agent}

    def turn(self, number: int) -> m.TurnTaken:
        """Return the answer to a turn, about all samples."""
        reply = decode(self._files.read(self._folder / f"{number:06d}.msg"))
        assert isinstance(reply, m.TurnTaken)
        return reply

    def goes_on(self) -> dict[str, Any] | None:
        """Return what has changed and which turns are taken again, once that is settled."""
        return self._json("goes_on.json") if (self._folder / "goes_on.json").exists() else None

    def write(self, files: Mapping[str, bytes]) -> None:
        self._files.write({self._folder / name: content for name, content in files.items()})

    def _json(self, name: str) -> Any:
        return storage.json_of(self._files.read(self._folder / name), self._folder / name)


# -- who takes part


class EarlierPeople(NamedTuple):
    """Some of the initiator's rows, and what they were in the earlier run."""

    earlier: EarlierRun
    rows: Rows
    places: NDArray[np.intp]  # the position of each among the samples of the earlier run; -1 for new people
    same: Bools  # for whom nothing has changed: neither the label, nor whether they are held out

    @classmethod
    def of(cls, run: OpenRun, labelled: Rows) -> EarlierPeople | None:
        """Return the labelled rows, those with no change first, in their earlier order; None if no run went before.

        Labels of people who were held out are not compared: a helper that hears of a change would learn of the label.
        """
        earlier = EarlierRun.of(run)
        if earlier is None:
            return None
        places = places_among(people_of(run.ids_at(labelled), run.holdings.home), earlier.array("people"))
        codes = np.asarray(run.folder.permutation())[run.table.labels[labelled]]
        there = places >= 0
        held_out = there & earlier.array("aside")[places]
        before = np.full(len(earlier.array("aside")), -1)
        before[~earlier.array("aside")] = earlier.array("codes")
        same = there & ~held_out & (before[places] == codes)
        if run.settings.plan.holdout is not None:
            same |= held_out
        first = np.flatnonzero(same)
        order = np.concatenate([first[np.argsort(places[first])], np.flatnonzero(~same)])
        return cls(earlier, labelled[order], places[order], same[order])

    def kept(self, kept: Bools) -> EarlierPeople:
        return EarlierPeople(self.earlier, self.rows[kept], self.places[kept], self.same[kept])

    @property
    def roles(self) -> Codes:
        held_out = self.earlier.array("aside")[self.places]
        return np.where(self.places < 0, NEW, np.where(held_out, HELD_OUT, TRAINED_ON))

    def write(self) -> None:
        still = np.zeros(len(self.earlier.array("aside")), dtype=bool)
        still[self.places[self.same]] = True
        self.earlier.write({"still.npy": storage.array_bytes(still), "roles.npy": storage.array_bytes(self.roles)})


def roles_of(run: OpenRun) -> Codes | None:
    earlier = EarlierRun.of(run)
    return None if earlier is None else earlier.roles


# -- which turns are taken again


Schedule: TypeAlias = tuple[Sequence[Sequence[str]], Mapping[str, Mapping[int, int]]]
"""The agents that take a turn in each of the rounds that are taken again: first those that take a turn again, in their
earlier order, then those that have none to take again, and take fresh ones. And for each agent and each round, the turn
of the earlier run."""


def schedule_of(run: OpenRun) -> Schedule:
    """Return which turns are taken again. The first time, ask the agents, and log what has changed."""
    earlier = EarlierRun.of(run)
    if earlier is None:
        return (), {}
    known = earlier.goes_on()
    if known is not None:  # keys of JSON are texts
        again = {name: {int(round): turn for round, turn in turns.items()} for name, turns in known["again"].items()}
        return known["rounds"], again
    asked = {name: _recalled(run, earlier, name) for name in run.agents}
    replies = {name: reply for name, reply in asked.items() if reply is not None}
    again = {}
    for name in run.settings.turn_takers:
        recalled = replies[name].turns if name in replies else []
        again[name] = {round: turn for round, turn in earlier.turns_of(name).items() if turn in recalled}
    fresh = [name for name in again if not again[name]]
    rounds = []
    for number in range(1, max((round for turns in again.values() for round in turns), default=0) + 1):
        taken = sorted((turns[number], name) for name, turns in again.items() if number in turns)
        rounds.append([name for _, name in taken] + fresh)
    changes = _changes(run, earlier, replies)
    if run.settings.places.get(REQUIRE) and changes.anew:
        name, why = next(iter(changes.anew.items()))
        raise RunError(
            f"Agent {name!r} cannot take its turns of run {changes.earlier!r} again: {why}. Correct this and go on, "
            "or start without --require-kept: it then takes its turns anew."
        )
    turns = {name: {str(round): turn for round, turn in each.items()} for name, each in again.items()}
    facts = {"rounds": rounds, "again": turns, "changes": asdict(changes)}
    earlier.write({"goes_on.json": storage.json_bytes(facts)})
    run.log.append(changes)
    return rounds, again


def _recalled(run: OpenRun, earlier: EarlierRun, agent: str) -> m.Recalled | None:
    """Ask an agent for its turns of the earlier run; None where it has none, or is gone."""
    if agent not in earlier.agents or agent in run.folder.left():
        return None
    turns = sorted(earlier.turns_of(agent).values())
    if not turns:
        return None
    request = m.Recall(run=run.name, earlier=earlier.name, still=pack_bits(earlier.array("still")), turns=turns)
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


def _changes(run: OpenRun, earlier: EarlierRun, replies: Mapping[str, m.Recalled]) -> RunGoesOn:
    roles, still, now = earlier.roles, earlier.array("still"), run.settings.plan.of_runs()
    assert roles is not None
    before: dict[str, Any] = earlier.facts["settings"]
    same_label = int(np.count_nonzero(still & ~earlier.array("aside")))  # of those who were trained on
    return RunGoesOn(
        earlier=earlier.name,
        n_same=int(np.count_nonzero(still)),
        n_new=int(np.count_nonzero(roles == NEW)),
        n_gone=len(still) - int(np.count_nonzero(roles != NEW)),
        n_relabelled=int(np.count_nonzero(roles == TRAINED_ON)) - same_label,
        new_agents=[name for name in run.settings.agents if name not in earlier.agents],
        lost_agents=[name for name in earlier.agents if name not in run.settings.agents],
        again={name: len(reply.turns) for name, reply in replies.items() if reply.turns},
        anew={name: reply.why for name, reply in replies.items() if not reply.turns},
        changed_tables=[name for name, reply in replies.items() if reply.turns and reply.table_changed],
        settings={key: f"was {before.get(key)}, is {now[key]}" for key in now if before.get(key) != now[key]},
    )


class Again(NamedTuple):
    """What the initiator knows of a turn before it is taken again."""

    number: int  # in the earlier run
    known: KnownBefore
    earlier: EarlierRun

    def whole(self, part: m.TurnTaken) -> m.TurnTaken:
        """Return the answer about all samples, from the part that was sent."""
        return self.known.whole(part, self.earlier.turn(self.number))


def turns_again(
    run: OpenRun, made: SetUp, again: Mapping[str, Mapping[int, int]], held: Mapping[str, Bools]
) -> dict[str, dict[int, Again]]:
    """Return each agent's turns that are taken again, by their rounds; ``held`` has the samples that each one holds."""
    earlier = EarlierRun.of(run)
    if earlier is None:
        return {}
    found = {}
    aside = np.zeros(len(held[run.settings.initiator]), dtype=bool)
    aside[[] if made.aside is None else made.aside] = True
    for name, turns in again.items():
        if turns:
            held_then = earlier.array("held")[earlier.agents.index(name)]
            then = RunSamples(earlier.array("codes"), earlier.array("aside"), held_then)
            now = RunSamples(made.codes[name], aside, held[name])
            known = KnownBefore.of(earlier.array("still"), then, now, made.methods[name], len(run.settings.classes))
            found[name] = {round: Again(number, known, earlier) for round, number in turns.items()}
    return found
