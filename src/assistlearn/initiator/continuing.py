"""Going on from an earlier run: check that it is possible, what has changed, and which turns are taken again."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from assistlearn import storage
from assistlearn.agent.store import RunStore, run_folder
from assistlearn.alignment import Ids
from assistlearn.alignment.ids import CodedIds, Rows
from assistlearn.errors import RunError, SettingsError, UnreachableError
from assistlearn.events import RunGoesOn
from assistlearn.initiator.folder import RunFolder
from assistlearn.initiator.keys import KEY_FILE, people_of, places_among
from assistlearn.initiator.run import OpenRun
from assistlearn.initiator.settings import RunSettings, terms_of
from assistlearn.initiator.setup import HELD_OUT, NEW, TRAINED_ON, SetUp
from assistlearn.plan import Plan
from assistlearn.protocol import messages as m
from assistlearn.protocol.arrays import pack_bits, unpack_bits, unpack_codes
from assistlearn.protocol.codec import decode
from assistlearn.protocol.known_before import KnownBefore, RunSamples
from assistlearn.storage.files import FileDigests
from assistlearn.types import Bools, Codes

# A turn of an earlier run that is taken again, as the initiator knows it.


@dataclass(frozen=True)
class TurnAgain:
    """What the initiator knows of a turn before it is taken again.

    Attributes
    ----------
    number : int
        Which turn of the earlier run it was.
    known : KnownBefore
        The samples about which it spoke.
    answer : callable
        Returns what was answered then, about all samples.
    """

    number: int
    known: KnownBefore
    answer: Callable[[], m.TurnTaken]

    def whole(self, part: m.TurnTaken) -> m.TurnTaken:
        """Return the answer about all samples, from the part that was sent."""
        return self.known.whole(part, self.answer())


# What a run keeps, in its own folder, of the earlier run that it goes on from. It then needs no other folder.
#
# ::
#
# earlier/facts.json which run it was, with whom, how it was trained, and whose turns its result is made of
# earlier/people.npy who took part, as digests of their ids earlier/codes.npy the class codes of those who were trained
# on earlier/aside.npy which samples were held out earlier/held.npy which samples each agent held earlier/000003.msg
# the answer to each turn, about all samples earlier/still.npy which samples the new run begins with: those for which
# nothing has changed earlier/roles.npy of each sample of the new run: new, trained on before, or held out before
# earlier/goes_on.json what has changed, and which turns are taken again; written last


@dataclass(frozen=True)
class EarlierRun:
    """What another run needs of a finished run to go on from it.

    Attributes
    ----------
    facts : dict
        ``run``, ``agents``, ``contributions`` (turn, round, agent), ``settings`` (those of its plan), ``fingerprint``
        of the initiator's table.
    people : ndarray
        Digests of the ids of its samples.
    codes : ndarray
        The class codes of those who were trained on.
    aside : ndarray of bool
        Which samples were held out.
    held : ndarray of bool of shape (n_agents, n_samples)
        Which samples each agent held.
    """

    facts: dict[str, Any]
    people: CodedIds
    codes: Codes
    aside: Bools
    held: Bools

    @property
    def run(self) -> str:
        """Its name."""
        return str(self.facts["run"])

    @property
    def agents(self) -> list[str]:
        """Who took part, the initiator first."""
        return list(self.facts["agents"])

    def turns_of(self, agent: str) -> dict[int, int]:
        """Return the turns of an agent that the result is made of, by their rounds."""
        return {made["round"]: made["turn"] for made in self.facts["contributions"] if made["agent"] == agent}

    def held_by(self, agent: str) -> Bools:
        """Return which samples an agent held."""
        held: Bools = self.held[self.agents.index(agent)]
        return held


class EarlierRunFolder:
    """The folder ``earlier`` of a run.

    Parameters
    ----------
    run : path
        The run's folder.
    """

    def __init__(self, run: Path) -> None:
        self._folder = run / "earlier"
        self._files = FileDigests(self._folder)

    @property
    def exists(self) -> bool:
        """Whether the run goes on from an earlier one."""
        return (self._folder / "facts.json").exists()

    def write(self, earlier: EarlierRun, turns: dict[int, bytes]) -> None:
        """Keep an earlier run, and the answers to its turns."""
        arrays = {"people": earlier.people, "codes": earlier.codes, "aside": earlier.aside, "held": earlier.held}
        files = {self._folder / f"{name}.npy": storage.array_bytes(values) for name, values in arrays.items()}
        files |= {self._turn(number): content for number, content in turns.items()}
        self._files.write(files | {self._folder / "facts.json": storage.json_bytes(earlier.facts)})

    def read(self) -> EarlierRun | None:
        """Return the earlier run; None where there is none."""
        if not self.exists:
            return None
        path = self._folder / "facts.json"
        facts = storage.json_of(self._files.read(path), path)
        return EarlierRun(facts, *(self._array(name) for name in ("people", "codes", "aside", "held")))

    def turn(self, number: int) -> m.TurnTaken:
        """Return the answer to a turn of the earlier run."""
        reply = decode(self._files.read(self._turn(number)))
        assert isinstance(reply, m.TurnTaken)
        return reply

    def write_people(self, still: Bools, roles: Codes) -> None:
        """Keep with which earlier samples the new run begins, and what each of its own samples was before."""
        arrays = {"still": still, "roles": roles}
        self._files.write({self._folder / f"{name}.npy": storage.array_bytes(each) for name, each in arrays.items()})

    def still(self) -> Bools:
        """Return which samples of the earlier run the new one begins with."""
        still: Bools = self._array("still")
        return still

    def roles(self) -> Codes | None:
        """Return what each sample was before; None in a run that goes on from no other."""
        return self._array("roles") if (self._folder / "roles.npy").exists() else None

    def write_goes_on(self, facts: dict[str, Any]) -> None:
        """Keep what has changed, and which turns are taken again."""
        self._files.write({self._folder / "goes_on.json": storage.json_bytes(facts)})

    def goes_on(self) -> dict[str, Any] | None:
        """Return what has changed and which turns are taken again, once that is settled."""
        path = self._folder / "goes_on.json"
        facts: dict[str, Any] | None = storage.json_of(self._files.read(path), path) if path.exists() else None
        return facts

    def _array(self, name: str) -> Any:
        path = self._folder / f"{name}.npy"
        return np.asarray(storage.array_of(self._files.read(path), path))

    def _turn(self, number: int) -> Path:
        return self._folder / f"{number:06d}.msg"


# The people of an earlier run who take part again. Those with no change come first, in their earlier order.


@dataclass(frozen=True)
class EarlierPeople:
    """Some of the initiator's rows, and what they were in the earlier run.

    Attributes
    ----------
    earlier : EarlierRun
        The earlier run.
    rows : ndarray of int
        The initiator's rows.
    places : ndarray of int
        The position of each of them among the samples of the earlier run; -1 for new people.
    same : ndarray of bool
        For whom nothing has changed: neither the label, nor whether they are held out.
    """

    earlier: EarlierRun
    rows: Rows
    places: NDArray[np.intp]
    same: Bools

    @classmethod
    def of(cls, run: OpenRun, labelled: Rows) -> EarlierPeople | None:
        """Return the labelled rows in their new order; None in a run that goes on from no other.

        Labels of people who were held out are not compared: a helper that hears of a change would learn of the label.
        """
        earlier = EarlierRunFolder(run.folder.path).read()
        if earlier is None:
            return None
        places = places_among(people_of(run.ids_at(labelled), run.holdings.home), earlier.people)
        codes = np.asarray(run.folder.permutation())[run.table.labels[labelled]]
        there = places >= 0
        held_out = there & earlier.aside[places]
        before = np.full(len(earlier.aside), -1)
        before[~earlier.aside] = earlier.codes
        same = there & ~held_out & (before[places] == codes)
        if run.settings.plan.holdout is not None:
            same |= held_out
        first = np.flatnonzero(same)
        order = np.concatenate([first[np.argsort(places[first])], np.flatnonzero(~same)])
        return cls(earlier, labelled[order], places[order], same[order])

    def kept(self, kept: Bools) -> EarlierPeople:
        """Return only the rows that take part."""
        return EarlierPeople(self.earlier, self.rows[kept], self.places[kept], self.same[kept])

    @property
    def roles(self) -> Codes:
        """What each of them was in the earlier run: new, trained on or held out."""
        held_out = self.earlier.aside[self.places]
        return np.where(self.places < 0, NEW, np.where(held_out, HELD_OUT, TRAINED_ON))

    def write(self, run: OpenRun) -> None:
        """Write with which earlier samples the run begins, and what each of its own samples was before."""
        still = np.zeros(len(self.earlier.aside), dtype=bool)
        still[self.places[self.same]] = True
        EarlierRunFolder(run.folder.path).write_people(still, self.roles)


def roles_of(run: OpenRun) -> Codes | None:
    """Return what each sample of a run was in the earlier run; None in a run that goes on from no other."""
    return EarlierRunFolder(run.folder.path).roles()


# Going on from an earlier run: what has changed since, and which of its turns are taken again.


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


# Going on from an earlier run: check that this is possible, and copy what is needed into the new folder.


ANEW = "Start a new run without --from."

SAME_TERMS = ("method", "loss", "score_bits")
"""The settings that decide what an answer means. A run that goes on must have those of the earlier one."""


@dataclass(frozen=True)
class OwnSide:
    """What the initiator has now: where it keeps its models, and the ids of its table."""

    home: Path
    ids: Ids


def check_can_go_on(earlier: RunFolder, initiator: str, classes: Sequence[Any], plan: Plan) -> RunSettings:
    """Return the settings of an earlier run; refuse a run from which no other can go on.

    Parameters
    ----------
    earlier : RunFolder
        The earlier run.
    initiator : str
        Who wants to go on from it.
    classes : sequence
        The classes in the initiator's table now.
    plan : Plan
        How the new run trains.
    """
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
    """Refuse another value for a setting that decides what the turns of the earlier run mean.

    Parameters
    ----------
    earlier : RunSettings
        The settings of the earlier run.
    given : mapping
        Settings of the new run, by name; some or all.
    """
    for name in SAME_TERMS:
        before = getattr(earlier.plan, name)
        now = given.get(name, before)
        if before != now:
            raise SettingsError(
                f"Run {earlier.run!r} was trained with {name}={before!r}. A run with {name}={now!r} cannot use its "
                f"turns. Leave {name} as it was, or start a new run without --from."
            )


def take_over(new: RunFolder, earlier: RunFolder, own: OwnSide) -> None:
    """Copy what the new run needs of an earlier one into the new run's folder."""
    settings, result, rows = earlier.settings(), earlier.result(), earlier.samples()
    begin = RunStore(run_folder(own.home, settings.run)).task()
    task = None if begin is None else decode(begin)
    if not isinstance(task, m.Begin):
        raise RunError(f"Agent {settings.initiator!r} has forgotten run {settings.run!r}. {ANEW}")
    if result is None or rows is None:
        raise _missing(earlier, "samples.npy")
    n = len(rows)
    aside: Bools = np.zeros(n, bool) if task.holdout is None else unpack_bits(task.holdout, n)
    made = [{key: each[key] for key in ("turn", "round", "agent")} for each in result["contributions"]]
    facts = {
        "run": settings.run,
        "agents": settings.agents,
        "contributions": made,
        "settings": settings.plan.of_runs(),
        "fingerprint": settings.fingerprint,
    }
    codes = unpack_codes(task.labels, n - int(np.count_nonzero(aside)), task.n_classes)
    kept = EarlierRun(facts, _people(earlier, settings, own), codes, aside, _held(earlier, n))
    EarlierRunFolder(new.path).write(kept, {each["turn"]: _answer(earlier, each["turn"]) for each in made})


def _people(earlier: RunFolder, settings: RunSettings, own: OwnSide) -> CodedIds:
    people = earlier.people()
    if people is None:
        raise _missing(earlier, "people.npy")
    if not (places_among(people, people_of(own.ids, own.home)) >= 0).any():
        raise RunError(
            f"None of the {len(people):,} people of run {settings.run!r} is found in the table of "
            f"{settings.initiator!r} now. Either it is another table, or {own.home / KEY_FILE}, the key that "
            "recognises people, was lost or changed. People who were trained on would then count as new, and "
            f"could be held out. Restore the old file. {ANEW}"
        )
    return people


def _held(earlier: RunFolder, n_samples: int) -> Bools:
    held = earlier.held(n_samples)
    if held is None:
        raise _missing(earlier, "held.npy")
    return np.concatenate([np.ones((1, n_samples), dtype=bool), held])


def _missing(earlier: RunFolder, name: str) -> RunError:
    return RunError(f"{earlier.path}: {name} is missing. Restore it from a backup. {ANEW}")


def _answer(earlier: RunFolder, turn: int) -> bytes:
    content = earlier.whole_turn(turn)
    if content is None:
        raise RunError(f"{earlier.path}: the record of turn {turn} is missing. {ANEW}")
    return content
