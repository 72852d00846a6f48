"""The folder of a run at the initiator: settings, turns, events and the result; enough to go on and to predict."""

from __future__ import annotations

import io
import json
import os
import platform
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass, field, fields
from functools import cache
from importlib.metadata import version
from pathlib import Path
from typing import Any, TextIO

import numpy as np
from msgspec.structs import replace
from numpy.typing import NDArray

from assistlearn import storage
from assistlearn.errors import RunError, SettingsError
from assistlearn.evaluation.words import Terms
from assistlearn.events import (
    Answered,
    Asked,
    Event,
    EventLog,
    Predicted,
    RunFinished,
    SamplesSettled,
    TurnFinished,
    read,
)
from assistlearn.plan import SETTINGS, Plan
from assistlearn.protocol import messages as m
from assistlearn.protocol.codec import ReleasedBits, added_up, decode, releases_in, type_of, votes
from assistlearn.release import __version__
from assistlearn.storage import DIGESTS, REMEDY, FileDigests, appending, digest_of, remove_tree, take, taken_alone
from assistlearn.types import Bools, Codes, Floats

# What a run is about: who takes part, where they are, the plan, and the versions that made it.

FORMAT = 1


@dataclass(frozen=True, kw_only=True)
class RunSettings:
    """What a run is about, as it stands in the run's folder."""

    run: str  # its name, the same at every agent
    initiator: str
    agents: list[str]  # the initiator first
    classes: list[Any]  # in the order of the labels' values
    fingerprint: str  # of the initiator's table, to notice a change between runs
    files: dict[str, str]  # the agents' files that are on this machine; the initiator's always is
    plan: Plan
    reach: str  # how the agents are reached: a name in assistlearn.reach
    places: dict[str, Any] = field(default_factory=dict)  # further facts, such as what is needed to reach the agents
    label_only: bool = False  # the initiator has labels alone, and takes no turns

    @property
    def helpers(self) -> list[str]:
        return self.agents[1:]

    @property
    def turn_takers(self) -> list[str]:
        """Who takes turns and votes: all agents, or the helpers where the initiator has labels alone."""
        return self.helpers if self.label_only else self.agents

    def to_dict(self) -> dict[str, Any]:
        """Return the settings as plain values, in one flat dictionary."""
        facts = {each.name: getattr(self, each.name) for each in fields(self) if each.name not in ("plan", "places")}
        return facts | self.plan.of_runs() | self.places | {"format": FORMAT}

    def agreed(self) -> dict[str, Any]:
        """Return what must not change once the run has begun, as plain values: all but where the agents are."""
        facts: dict[str, Any] = json.loads(json.dumps(self.to_dict()))
        return {name: value for name, value in facts.items() if name not in {"files", "reach", *self.places}}

    @classmethod
    def from_dict(cls, facts: dict[str, Any], source: str) -> RunSettings:
        """Return the settings from what :meth:`to_dict` gave; ``source`` names their file in error messages."""
        if facts.get("format") != FORMAT:
            raise RunError(f"{source} has format {facts.get('format')}; this release reads format {FORMAT}.")
        own = {each.name for each in fields(cls)} - {"plan", "places"}
        missing = sorted((own | {name for name, known in SETTINGS.items() if known.runs}) - facts.keys())
        if missing:
            raise RunError(f"{source} is not complete: {', '.join(missing)} missing.")
        try:
            plan = Plan(**{name: value for name, value in facts.items() if name in SETTINGS})
        except SettingsError as error:
            raise RunError(f"{source} was changed or damaged: {error}") from None
        places = {name: value for name, value in facts.items() if name not in own | SETTINGS.keys() | {"format"}}
        return cls(plan=plan, places=places, **{name: facts[name] for name in own})


PILOT = "pilot"
"""The key of a pilot's terms in the settings of its run; other runs have no such key."""


def terms_of(settings: RunSettings) -> Terms | None:
    """Return the terms of a pilot; None for a run that is no pilot."""
    said = settings.places.get(PILOT)
    try:
        return None if said is None else Terms(**said)
    except (TypeError, SettingsError) as error:
        raise RunError(f"The terms of the pilot {settings.run!r} were changed or damaged: {error}") from None


def asked(terms: Terms) -> dict[str, object]:
    return {PILOT: asdict(terms)}


def versions() -> dict[str, str]:
    return {
        "assistlearn": __version__,
        "Python": platform.python_version(),
        "numpy": np.__version__,
        "scikit-learn": version("scikit-learn"),
    }


# -- paths, kept so that a project can be copied or moved as a whole
#
# Each path is kept twice: as it was given, and relative to the run's folder. The relative path is used if something is
# there: in a copy of a project, that is the copy's own file. ``assistlearn move`` mends a path if neither is right.


BESIDE = "beside"
KEYS = ("files", "kits")
"""The settings that hold paths: the agents' files, and the kits of a network."""


def with_beside(facts: dict[str, Any], folder: Path) -> dict[str, Any]:
    """Return the facts of a run's settings, and every path once more, relative to the run's folder."""
    held, home = [key for key in KEYS if key in facts], folder.resolve()
    return facts | {
        BESIDE: {key: {name: os.path.relpath(path, home) for name, path in facts[key].items()} for key in held}
    }


def located(facts: dict[str, Any], folder: Path) -> dict[str, Any]:
    """Return the facts with every path as it is now, without what :func:`with_beside` has added.

    >>> located({"files": {"lab": "/old/lab.toml"}, "beside": {"files": {"lab": "."}}}, Path("/"))
    {'files': {'lab': '/'}}
    """
    found = {name: value for name, value in facts.items() if name != BESIDE}
    for key in found.keys() & facts.get(BESIDE, {}).keys():
        now = {name: (folder.resolve() / path).resolve() for name, path in facts[BESIDE][key].items()}
        found[key] = {
            name: str(now[name]) if name in now and now[name].exists() else path for name, path in found[key].items()
        }
    return found


# -- what lies in the folder
#
#     settings.json         what was agreed on: agents, method, rounds, seed, classes, how samples are matched
#     secret.json           the secret permutation of the class codes, and what decides who is held out (never sent)
#     samples.npy           the initiator's rows that take part
#     people.npy            digests of their ids, so that a run that goes on from this one knows them again
#     earlier/              what is kept of an earlier run that this one goes on from (continuing.py)
#     told.npy              the class codes that helpers are told, where the true ones stay with the initiator
#     labels.json           the entry of this run in the ledger of told labels, and its digest
#     held.npy              which samples each helper holds, a bit each
#     turns/000007.msg      the answer to each turn, as it came
#     whole/000001.msg      the answer about all samples, to a turn that was taken again
#     left.json             agents that were gone, and from which turn on the run went on without them
#     events.jsonl          what happened, one fact per line, as it happens
#     votes.npy             the agents' honest votes in training, with which those for new people are compared
#     votes_heard.npz       votes for new people that were not yet compared with them, and who votes otherwise
#     combination.bin       the learned combination, where votes are not just added up
#     result.json           the contributions, the stop reason, the bytes
#     opened/000003.npy     in a pilot: the losses on each block of samples that was opened, alone and with help
#     worth.json            in a pilot: its answer
#     digests.txt           the digests of the files, to notice one that has changed
#     serve.token           what clients of a prediction service must send (assistlearn serve)
#     lock                  which process uses the folder; the lock itself is the operating system's


OPENED = "opened"
LABELS = "labels.json"
VOTES_HEARD = "votes_heard.npz"
LOCK = "lock"
TOKEN_FILE = "serve.token"  # noqa: S105  the name of a file

BASIS = ("secret.json", "samples.npy", "people.npy", "told.npy", "held.npy", "left.json", "combination.bin")
"""The files that a result rests on, beside the answers to turns: as far as the run has them."""

NAMES = (
    *("turns", "whole", "earlier", OPENED, *BASIS, LABELS, "events.jsonl", "votes.npy", VOTES_HEARD),
    *("result.json", "worth.json", "settings.json", DIGESTS, LOCK, TOKEN_FILE),
)
"""All that a run writes, in the order in which it is removed."""

AGREED, RESTS_ON = "agreed", "rests_on"


class RunFolder:
    """The folder of one run at the initiator. What is read is None where it is not there yet.

    For repeated predictions, what they need of a ``finished`` run is read once: whoever has opened it has locked it.
    """

    def __init__(self, path: Path, finished: bool = False) -> None:
        self.path = path
        self._files = FileDigests(path)
        for name in ("permutation", "combination", "result", "left", "check_whole") if finished else ():
            setattr(self, name, cache(getattr(self, name)))

    # -- files with a digest each

    def _write(self, files: Mapping[str, bytes]) -> None:
        """Write files: when this returns, a crash no longer loses them."""
        self._files.write({self.path / name: content for name, content in files.items()})

    def _read(self, name: str) -> bytes | None:
        path = self.path / name
        return self._files.read(path) if path.exists() else None

    def _json(self, name: str) -> Any:
        content = self._read(name)
        return None if content is None else storage.json_of(content, self.path / name)

    def _array(self, name: str) -> NDArray[Any] | None:
        content = self._read(name)
        return None if content is None else storage.array_of(content, self.path / name)

    # -- the settings, and what stays secret

    @property
    def exists(self) -> bool:
        return (self.path / "settings.json").exists()

    def write_settings(self, settings: RunSettings, permutation: list[int], holdout_words: Sequence[int] = ()) -> None:
        self._write({"secret.json": storage.json_bytes({"permutation": permutation, "holdout": [*holdout_words]})})
        self._write_settings(settings.to_dict())

    def move(self, files: Mapping[str, str], kits: Mapping[str, str]) -> None:
        with locked(self.path, alone=True):
            facts = self.settings().to_dict()
            facts["files"] = facts["files"] | files
            if kits:
                facts["kits"] = facts["kits"] | kits
            self._write_settings(facts)

    def _write_settings(self, facts: dict[str, Any]) -> None:
        self._write({"settings.json": storage.json_bytes(with_beside(facts, self.path))})

    def settings(self) -> RunSettings:
        path, facts = self.path / "settings.json", self._json("settings.json")
        if facts is None:
            raise RunError(f"{self.path} holds no run: {path.name} is missing. Name the folder of a run.")
        return RunSettings.from_dict(located(facts, self.path), str(path))

    def _secret(self, key: str) -> list[int]:
        path = self.path / "secret.json"
        numbers: list[int] = storage.json_of(self._files.read(path), path)[key]
        return numbers

    def holdout_words(self) -> list[int]:
        """Return the secret numbers from which the hold-out samples are drawn."""
        return self._secret("holdout")

    def permutation(self) -> list[int]:
        """Return the secret permutation: the code that stands for each class."""
        return self._secret("permutation")

    def remove(self) -> list[str]:
        """Remove the run; files that it has not written stay. Return what could not be removed, in words."""
        kept = [words for name in NAMES if (words := remove_tree(self.path / name)) is not None]
        with suppress(OSError):  # something else lies in the folder
            self.path.resolve().rmdir()
            if self.path.is_symlink():
                self.path.unlink()
        return kept

    # -- the samples

    def write_samples(self, rows: NDArray[Any], held: Bools) -> None:
        """Write which rows take part, and which of them each helper holds; from now on the samples are settled."""
        arrays = {"held.npy": np.packbits(held, axis=1), "samples.npy": rows}
        self._write({name: storage.array_bytes(values) for name, values in arrays.items()})

    def samples(self) -> NDArray[Any] | None:
        """Return which of the initiator's rows take part."""
        return self._array("samples.npy")

    def held(self, n_samples: int) -> Bools | None:
        """Return which samples each helper holds, a row for each; None before the samples are settled."""
        path = self.path / "held.npy"
        if not path.exists() and self.samples() is None:
            return None
        bits = storage.array_of(self._files.read(path), path)
        return np.unpackbits(bits, axis=1, count=n_samples).astype(bool)

    def write_people(self, people: NDArray[Any]) -> None:
        self._write({"people.npy": storage.array_bytes(people)})

    def people(self) -> NDArray[Any] | None:
        return self._array("people.npy")

    def write_told(self, codes: Codes) -> None:
        self._write({"told.npy": storage.array_bytes(codes)})

    def told(self) -> Codes | None:
        return self._array("told.npy")

    def write_labels(self, noted: dict[str, Any]) -> None:
        self._write({LABELS: storage.json_bytes(noted)})

    def labels(self) -> dict[str, Any] | None:
        """Return which entry in the label ledger is this run's; None where no label was told."""
        path = self.path / LABELS
        if not path.exists() and not self._files.noted(path):
            return None
        noted: dict[str, Any] = storage.json_of(self._files.read(path), path)
        return noted

    # -- the turns

    def write_turn(self, number: int, reply: bytes) -> None:
        self._write({f"turns/{number:06d}.msg": reply})

    def turn(self, number: int) -> bytes | None:
        return self._read(f"turns/{number:06d}.msg")

    def write_whole_turn(self, number: int, reply: bytes) -> None:
        self._write({f"whole/{number:06d}.msg": reply})

    def whole_turn(self, number: int) -> bytes | None:
        """Return the answer to a turn about all samples."""
        whole = self._read(f"whole/{number:06d}.msg")
        return self.turn(number) if whole is None else whole

    @property
    def n_turns(self) -> int:
        return len(list((self.path / "turns").glob("*.msg")))

    def leave(self, agent: str, turn: int, reason: str, doubted: bool = False) -> None:
        """Remember that the run goes on without an agent from this turn on: it was gone, or is not believed."""
        known = {"turn": turn, "reason": reason} | ({"doubted": True} if doubted else {})
        self._write({"left.json": storage.json_bytes(self.left() | {agent: known})})

    def left(self) -> dict[str, Any]:
        left: dict[str, Any] = self._json("left.json") or {}
        return left

    # -- events, and the result

    @property
    def events(self) -> Path:
        return self.path / "events.jsonl"

    def log(self) -> EventLog:
        return EventLog(self.events)

    def write_combination(self, content: bytes) -> None:
        self._write({"combination.bin": content})

    def combination(self) -> bytes | None:
        """Return the learned combination, as bytes; None where votes are added up."""
        return self._read("combination.bin")

    def write_votes_in_training(self, votes: NDArray[Any]) -> None:
        self._write({"votes.npy": storage.array_bytes(votes)})

    def votes_in_training(self) -> NDArray[Any] | None:
        return self._array("votes.npy")

    @property
    def votes_heard(self) -> Path:
        return self.path / VOTES_HEARD

    def write_result(self, result: dict[str, Any]) -> None:
        """Write the result, with what was agreed and the digests of the files it rests on. The run is then finished."""
        rests_on = {path.relative_to(self.path).as_posix(): digest_of(self._files.read(path)) for path in self._basis()}
        facts = result | {AGREED: self.settings().agreed(), RESTS_ON: rests_on}
        self._write({"result.json": storage.json_bytes(facts)})

    def _basis(self) -> list[Path]:
        found = [self.path / name for name in BASIS] + [
            path for name in ("turns", "whole") for path in sorted((self.path / name).glob("*.msg"))
        ]
        return [path for path in found if path.exists()]

    def check_whole(self) -> None:
        """Raise ``RunError`` if the run is finished and its folder is not what the result was made of.

        Every file must be the one that the result rests on, none may be missing or new, and the settings must be those
        that were agreed on. Where the agents' files are may have changed (``move``).
        """
        result = self.result()
        if result is None:
            return
        if not isinstance(result.get(AGREED), dict) or not isinstance(result.get(RESTS_ON), dict):
            raise RunError(f"{self.path / 'result.json'} does not say what it rests on. {REMEDY}")
        rests_on: dict[str, str] = result[RESTS_ON]
        for name, digest in rests_on.items():
            if digest_of(self._files.read(self.path / name)) != digest:
                raise RunError(f"{self.path / name} is not the one that result.json was made with. {REMEDY}")
        for path in self._basis():
            if path.relative_to(self.path).as_posix() not in rests_on:
                raise RunError(f"{path} was not there when result.json was made. Move it away.")
        now = self.settings().agreed()
        for name, then in result[AGREED].items():
            if now.get(name) != then:
                raise RunError(
                    f"{self.path / 'settings.json'} says {name} = {now.get(name)!r}, but the run was trained with "
                    f"{then!r}. {REMEDY}"
                )

    def result(self) -> dict[str, Any] | None:
        """Return the result, if the run is finished."""
        result: dict[str, Any] | None = self._json("result.json")
        return result

    @property
    def lost_result(self) -> bool:
        """Whether the run was finished once, but its result is lost; resuming the run makes the same result again."""
        path = self.path / "result.json"
        return not path.exists() and self._files.noted(path)

    def write_opened(self, number: int, losses: Floats) -> None:
        """Keep a pilot's losses on a block of opened samples: a row without help, and one for each set of helpers.

        When this returns, a crash no longer loses them, and nobody is asked again.
        """
        self._write({f"{OPENED}/{number:06d}.npy": storage.array_bytes(losses)})

    def opened(self) -> list[Floats]:
        paths = sorted((self.path / OPENED).glob("*.npy"))
        return [storage.array_of(self._files.read(path), path) for path in paths]

    def write_worth(self, worth: dict[str, Any]) -> None:
        self._write({"worth.json": storage.json_bytes(worth)})

    def worth(self) -> dict[str, Any] | None:
        worth: dict[str, Any] | None = self._json("worth.json")
        return worth


# -- the lock: a command that trains or forgets has a run's folder alone; commands that predict share it
#
# The lock is the operating system's, on a file in the folder. It ends with the process that has it, however that ends.
# The file names that process, for error messages. It stays behind, and means nothing by itself.


@contextmanager
def locked(folder: Path, *, alone: bool) -> Iterator[None]:
    """Lock a folder, which must exist, during a ``with`` block; raise ``RunError`` if another process has it."""
    try:
        file = io.TextIOWrapper(appending(folder / LOCK), encoding="utf-8", write_through=True)
    except OSError:
        if alone:
            raise
        yield  # where nobody may write, nobody trains
        return
    with file:
        if not take(file, alone=alone):
            raise RunError(
                f"{folder} is in use by {_holder(file)}. Two commands at once would spoil the run: wait until that one "
                "has ended, or stop it; then type this one again."
            )
        if alone:
            file.truncate(0)
        file.write(f"{os.getpid()} {_command()}\n")
        file.flush()
        yield


def somebody_works(folder: Path) -> bool:
    """Return whether another process has a folder alone, as training does; this locks nothing."""
    try:
        with (folder / LOCK).open("rb") as file:
            return taken_alone(file)
    except OSError:  # there is no lock, or it may not be looked at
        return False


def _command() -> str:
    return sys.argv[1] if len(sys.argv) > 1 and sys.argv[1].isalpha() else "python"


def _holder(file: TextIO) -> str:
    file.seek(0)
    for line in reversed(file.read().splitlines()):
        pid, _, command = line.partition(" ")
        if pid.isdecimal() and _lives(int(pid)):
            return f"another command (assistlearn {command}, process {pid})"
    return "another process"


def _lives(pid: int) -> bool:
    if os.name == "nt":  # there, os.kill would interrupt the process
        return True
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except OSError:
        return True
    return True


# -- what the agents of a run have released to each other about samples


def releases_of_run(folder: RunFolder) -> dict[str, list[ReleasedBits]]:
    """Return what each agent has released, by kind, in a run that need not be finished.

    The initiator releases the labels and, where helpers hear of its models, its own rewards or scores.
    """
    settings = folder.settings()
    n_classes = len(settings.classes)
    # where all agents boost alone, the answers of the initiator's own go nowhere
    hears_own = settings.plan.make_method().shares_state
    logged = [recorded.event for recorded in read(folder.events)]
    owner = {event.turn: event.agent for event in logged if isinstance(event, TurnFinished)}
    released: dict[str, list[ReleasedBits]] = {name: [] for name in settings.agents}
    released[settings.initiator] += _labels(logged, n_classes)
    for turn, agent in sorted(owner.items()):
        content = folder.turn(turn)
        reply = None if content is None else decode(content)
        if isinstance(reply, m.TurnTaken) and (agent != settings.initiator or hears_own):
            answer = replace(reply, holdout=None) if agent == settings.initiator else reply
            released[agent] += releases_in(answer, n_classes)
    for agent in settings.helpers:
        released[agent] += _votes(logged, agent, n_classes, settings.plan)
    return {agent: added_up(releases) for agent, releases in released.items()}


def log_is_whole(folder: RunFolder) -> bool:
    """Return whether the log of a finished run has its end. A log that was removed or cut off does not have it."""
    return any(isinstance(recorded.event, RunFinished) for recorded in read(folder.events))


def refuse_incomplete(folder: RunFolder) -> None:
    """Raise ``RunError`` if a run has lost files without which its releases cannot all be counted."""
    if folder.result() is not None and not log_is_whole(folder):
        raise RunError(
            f"{folder.events} lacks the end of the run, so not all that was released can be counted. Restore it from a "
            "backup. Each helper can count what it has released itself: assistlearn privacy FILE"
        )
    made = (told.event for told in read(folder.events) if isinstance(told.event, TurnFinished))
    lost = [event.turn for event in made if event.contribution is not None and folder.turn(event.turn) is None]
    if lost:
        raise RunError(
            f"{folder.path / 'turns'}: the answer to turn {lost[0]} is missing ({len(lost)} in all), so not all that "
            "was released can be counted. Restore it from a backup."
        )


def _labels(logged: Sequence[Event], n_classes: int) -> Iterator[ReleasedBits]:
    """Yield the release of the labels, if they were told; every helper is told the same.

    As sent, these are the bits of the whole message that tells them, for each training sample. It also tells the
    weights of the samples, if there are any, and which samples are held out; labels of these are not told. The log has
    no length of the labels alone.
    """
    n_training = max((event.n_samples for event in logged if isinstance(event, SamplesSettled)), default=0)
    asked = (event for event in logged if isinstance(event, Asked) and event.type == type_of(m.Begin))
    told = max((event.bytes for event in asked), default=0)
    if told and n_training:
        yield ReleasedBits("labels", "training", 1, float((n_classes - 1).bit_length()), 8 * told / n_training)


def _votes(logged: Sequence[Event], agent: str, n_classes: int, plan: Plan) -> Iterator[ReleasedBits]:
    answers = [each for each in logged if isinstance(each, Answered) and each.agent == agent]
    n_bytes = [each.bytes for each in answers if each.type == type_of(m.Scores)]
    n_votes = sum(each.known.get(agent, 0) for each in logged if isinstance(each, Predicted))
    if n_bytes:
        yield votes(plan.make_method().vote_bits(n_classes), n_classes, len(n_bytes), sum(n_bytes), n_votes)
