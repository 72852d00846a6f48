"""What an agent remembers of one run, in a folder: enough to go on after a crash, and to predict years later."""

from __future__ import annotations

import logging
import os
import re
import secrets
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from itertools import count, pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any

from numpy.typing import NDArray

from assistlearn import storage
from assistlearn.errors import AlignmentError, AssistLearnError, LedgerError, ProtocolError, RunError
from assistlearn.protocol import messages as m
from assistlearn.protocol.codec import type_of
from assistlearn.protocol.ledger import Entry, entries_of
from assistlearn.storage import REMEDY, FileDigests, appending, digest_of, remove_tree

if TYPE_CHECKING:
    from assistlearn.learners.model import Model

# The folder of a run:
#
#     opened.json           who asked, what for, how samples are matched
#     rows.npy              the agent's row for every sample of the run, or -1
#     table.json            the fingerprint of the table that these are rows of, and the names and kinds of its columns
#     columns.json          how the columns of that table are distributed, roughly
#     begin.msg             the task: labels, weights, hold-out samples
#     turns/000007/         one folder for each of the agent's turns
#         request.msg       what it was told before the turn
#         model.skops       the model, if it was kept
#         honest            empty; there if the agent's rewards had become honest
#         origin.txt        only if the turn is taken again from an earlier run: the run that the model was fitted in
#         whole.msg         only then, too: the answer about all samples; only the new part of it was sent
#         reply.msg         what it answered; written last: the turn is done when this file is there
#     again/                while the run goes on from an earlier one and trains: a copy of what it needs of that run,
#                           which may then be forgotten; as above, but without requests, and with whole replies
#         recall.msg        what was asked for
#         answer.msg        what was answered to that; written last
#     ended.json            how many rounds the result is made of, which turns there were, and whose models do not count
#     mark.txt              a random text that differs from that of any other run with the same name; for [privacy]
#     digests.txt           the digest of each file, to notice one that has changed
#
# Every file is written atomically. The state of the run is not stored: it is rebuilt from the messages.


logger = logging.getLogger("assistlearn.agent")

_NAME = re.compile(r"(?!\.)[A-Za-z0-9._-]{1,80}")

_FORGOTTEN = ".forgotten"
"""The end of the name of a folder that is being removed. That name begins with a dot, as no run's name does."""


@dataclass(frozen=True)
class PastTurn:
    """A turn that is done: what was asked and answered, and where the model is stored.

    ``honest``: the agent's rewards had become honest by then. If the turn was taken again, ``origin`` is the run in
    which its model was fitted. ``whole`` is the answer about all samples, also those about which nothing was sent.
    """

    number: int
    request: bytes
    reply: bytes
    model: Path | None
    honest: bool
    whole: bytes
    origin: str = ""


class RunStore:
    """The folder of one run at one agent; it need not exist yet.

    ``packages`` are those of the agent's own learner: a stored model may hold their types, beside those of numpy and
    scikit-learn.
    """

    def __init__(self, folder: Path, packages: tuple[str, ...] = ()) -> None:
        self.folder = folder
        self._packages = packages
        self._files = FileDigests(folder)

    @classmethod
    def at(cls, home: Path, run: str, packages: tuple[str, ...] = ()) -> RunStore:
        return cls(run_folder(home, run), packages)

    @property
    def exists(self) -> bool:
        return (self.folder / "opened.json").exists()

    def open(self, facts: dict[str, Any]) -> None:
        self._files.write({self._path("opened.json"): storage.json_bytes(facts)})

    def opened(self) -> dict[str, Any]:
        path = self._path("opened.json")
        return storage.json_of(self._files.read(path), path)

    def keep_rows(self, rows: NDArray[Any], fingerprint: str, schema: Mapping[str, Any] | None) -> None:
        table = storage.json_bytes({"fingerprint": fingerprint, "schema": schema})
        self._files.write({self._path("table.json"): table, self._path("rows.npy"): storage.array_bytes(rows)})

    def check_table(self, fingerprint: str, owner: str) -> None:
        if self._table()["fingerprint"] != fingerprint:
            raise AlignmentError(
                f"Agent {owner!r}: its table has changed since run {self.folder.name!r} was aligned. Bring the old "
                "table back to go on, or start a new run."
            )

    def fingerprint(self) -> str | None:
        fingerprint: str | None = self._table().get("fingerprint")
        return fingerprint

    def keep_columns(self, columns: Mapping[str, Any]) -> None:
        self._files.write({self._path("columns.json"): storage.json_bytes(columns)})

    def columns(self) -> Mapping[str, Any] | None:
        columns: Mapping[str, Any] | None = self._json("columns.json")
        return columns

    def schema(self) -> Mapping[str, Any] | None:
        schema: Mapping[str, Any] | None = self._table().get("schema")
        return schema

    def rows(self) -> NDArray[Any] | None:
        path = self._path("rows.npy")
        return storage.array_of(self._files.read(path), path) if self._has(path) else None

    def keep_task(self, begin: bytes) -> None:
        self._files.write({self._path("begin.msg"): begin})

    def task(self) -> bytes | None:
        path = self._path("begin.msg")
        return self._files.read(path) if self._has(path) else None

    def keep_turn(
        self,
        number: int,
        request: bytes,
        reply: bytes,
        model: Model | None,
        honest: bool,
        whole: bytes | None = None,
        origin: str = "",
    ) -> None:
        """Store a turn. When this returns, the turn is on disk, and survives a crash.

        A turn that was taken again has the answer about all samples in ``whole``, and in ``origin`` the run of its
        model; empty if no model is kept.
        """
        folder = self._turn(number)
        files: dict[Path, bytes] = {}
        if whole is not None:
            files |= {folder / "origin.txt": origin.encode(), folder / "whole.msg": whole}
        if honest:
            files[folder / "honest"] = b""
        if model is not None:
            from assistlearn.learners.model import dump_model  # waits for scikit-learn, as audit need not

            files[folder / "model.skops"] = dump_model(model, self._packages)
        self._files.write(files | {folder / "request.msg": request, folder / "reply.msg": reply})

    def has_turn(self, number: int) -> bool:
        return (self._turn(number) / "reply.msg").exists()

    @property
    def n_turns(self) -> int:
        return len(self._done_turns())

    def past_turns(self) -> Iterator[PastTurn]:
        """Yield the turns that are done, in order; raise ``RunError`` if something of one is missing."""
        ended = self._ended()
        if ended is not None:
            self._remove_models(ended["removed"])  # a crash may have come before
        done = self._done_turns()
        for number in [] if ended is None else ended["turns"]:
            if number not in done:
                raise RunError(f"{self._turn(number) / 'reply.msg'} is missing. {REMEDY}")
        for number in done:
            if ended is None:
                yield self._past_turn(number, may_lack_model=False)
            else:
                yield self._past_turn(number, may_lack_model=number in ended["removed"])

    def _done_turns(self) -> list[int]:
        folders = (self.folder / "turns").glob("*")
        return sorted(int(each.name) for each in folders if each.name.isdecimal() and (each / "reply.msg").exists())

    def _past_turn(self, number: int, may_lack_model: bool) -> PastTurn:
        folder = self._turn(number)
        model, honest = folder / "model.skops", folder / "honest"
        for path in [honest] if may_lack_model else [honest, model]:
            if self._files.noted(path) and not path.exists():
                raise RunError(f"{path} is missing. {REMEDY}")
        reply = self._files.read(folder / "reply.msg")
        request = self._files.read(folder / "request.msg") if self.exists else b""  # a copy of a turn has none
        origin, whole = self._noted(folder / "origin.txt"), self._noted(folder / "whole.msg")
        kept = model if model.exists() else None
        return PastTurn(number, request, reply, kept, honest.exists(), whole or reply, origin.decode())

    def _noted(self, path: Path) -> bytes:
        """Return what a file holds that not every turn has; nothing if this turn never had it."""
        return self._files.read(path) if path.exists() or self._files.noted(path) else b""

    def model(self, path: Path) -> Model:
        """Return a stored model, after a check that its file is unchanged and holds only harmless types."""
        from assistlearn.learners.model import load_model

        self._files.read(path)
        try:
            return load_model(path, self._packages)
        except AssistLearnError:
            raise
        except Exception as error:  # a damaged file can cause any error in the reader
            raise RunError(f"{path} cannot be read as a model ({type(error).__name__}: {error}). {REMEDY}") from error

    # -- a run that goes on from an earlier one keeps a copy of that one's turns

    @property
    def again(self) -> RunStore:
        return RunStore(self.folder / "again", self._packages)

    def copy(self, earlier: RunStore, turns: Sequence[int]) -> None:
        """Copy the task, the rows and some turns of another run."""
        past = {turn.number: turn for turn in earlier.past_turns()}
        begin, rows = earlier.task(), earlier.rows()
        if begin is None or rows is None:
            raise RunError(f"Run {earlier.folder.name!r} has not begun here.")
        files = {self._path("begin.msg"): begin, self._path("rows.npy"): storage.array_bytes(rows)}
        for number in turns:
            turn, folder = past.get(number), self._turn(number)
            if turn is None or turn.model is None:
                raise RunError(f"No model of turn {number} of run {earlier.folder.name!r} is kept here.")
            files |= {folder / "model.skops": earlier._files.read(turn.model)}
            files |= {folder / "origin.txt": (turn.origin or earlier.folder.name).encode()}
            files |= {folder / "honest": b""} if turn.honest else {}
            files[folder / "reply.msg"] = turn.whole
        self._files.write(files)

    def keep_recall(self, request: bytes, answer: bytes) -> None:
        self._files.write({self._path("recall.msg"): request, self._path("answer.msg"): answer})

    def recalled(self) -> tuple[bytes, bytes] | None:
        """Return what was asked for when turns were copied, and what was answered; None where no copy is complete."""
        asked, answered = self._path("recall.msg"), self._path("answer.msg")
        return (self._files.read(asked), self._files.read(answered)) if answered.exists() else None

    def past_turn(self, number: int) -> PastTurn:
        return self._past_turn(number, may_lack_model=False)

    # -- the end

    def end(self, n_rounds: int, surplus: list[int]) -> None:
        """Store the end of training, and only then remove the models of ``surplus`` turns, which do not count."""
        facts = {"n_rounds": n_rounds, "turns": self._done_turns(), "removed": sorted(surplus)}
        self._files.write({self._path("ended.json"): storage.json_bytes(facts)})
        self._remove_models(surplus)
        remove_tree(self.again.folder)

    def _remove_models(self, numbers: Iterable[int]) -> None:
        for number in numbers:
            (self._turn(number) / "model.skops").unlink(missing_ok=True)

    def ended(self) -> int | None:
        facts = self._ended()
        return None if facts is None else int(facts["n_rounds"])

    def _ended(self) -> dict[str, Any] | None:
        facts: dict[str, Any] | None = self._json("ended.json")
        return facts

    def mark(self) -> str:
        """Return a random text that tells this run from any other with the same name."""
        path = self._path("mark.txt")
        if not path.exists() and not (self._files.noted(path) and self._done_turns()):
            self._files.write({path: secrets.token_hex(16).encode()})  # its digest may be there from before a crash
        return self._files.read(path).decode()

    def forget(self) -> int:
        """Remove everything; return how many models there were.

        The folder is renamed first. So after a crash, either the whole run is still there, or :func:`sweep` removes it.
        """
        n_models = len(list(self.folder.glob("turns/*/model.skops")))
        if self.folder.is_symlink():
            raise RunError(f"Run {self.folder.name!r} is not forgotten: {remove_tree(self.folder)}")
        if self.folder.exists():
            sweep(self.folder.parent.parent)
            gone = self._name_of_the_forgotten()
            os.replace(self.folder, gone)
            left = remove_tree(gone)
            if left is not None:
                raise RunError(f"Run {self.folder.name!r} is only partly forgotten: {left}")
        return n_models

    def _name_of_the_forgotten(self) -> Path:
        """Return a free name; a folder that could not be removed may have one."""
        names = (f".{self.folder.name}{f'-{number}' if number else ''}{_FORGOTTEN}" for number in count())
        return next(path for name in names if not os.path.lexists(path := self.folder.with_name(name)))

    def _has(self, path: Path) -> bool:
        """Whether a file is to be read: it is there, or it is lost, and all was written once.

        Before the end, a file whose digest is kept may be missing because a crash came between the two.
        """
        whole = self._path("ended.json").exists() or self._path("answer.msg").exists()
        return path.exists() or (whole and self._files.noted(path))

    def _table(self) -> dict[str, Any]:
        table: dict[str, Any] | None = self._json("table.json", needed=self._path("rows.npy").exists())
        return table or {}

    def _json(self, name: str, needed: bool = False) -> Any:
        path = self._path(name)
        return storage.json_of(self._files.read(path), path) if needed or self._has(path) else None

    def _path(self, name: str) -> Path:
        return self.folder / name

    def _turn(self, number: int) -> Path:
        return self.folder / "turns" / f"{number:06d}"


def run_folder(home: Path, run: str) -> Path:
    """Return the folder of a run; the run's name comes from outside and is checked."""
    if not _NAME.fullmatch(run):
        raise ProtocolError(f"{run!r} is not the name of a run: use up to 80 letters, digits, '-', '_' and '.'.")
    return home / "runs" / run


def runs_at(home: Path) -> list[str]:
    names = (path.parent.name for path in (home / "runs").glob("*/opened.json"))
    return sorted(name for name in names if not name.startswith("."))


def runs_with_models_of(home: Path, run: str) -> list[str]:
    origins = (home / "runs").glob("*/turns/*/origin.txt")
    names = {path.parents[2].name for path in origins if path.is_file() and path.read_bytes() == run.encode()}
    return sorted(name for name in names if name != run and not name.startswith("."))


def ledger_of(home: Path) -> Path:
    """Return the path of an agent's ledger; raise ``LedgerError`` if the ledger was removed."""
    path = home / "ledger.jsonl"
    if not path.exists() and (runs_at(home) or path.with_name("ledger.jsonl.head").exists()):
        raise LedgerError(f"{path} is missing, although this agent took part in runs: it was removed.")
    return path


def sweep(home: Path) -> None:
    """Remove what a crash has left of forgotten runs; log a warning for what cannot be removed."""
    for left in (home / "runs").glob(f".*{_FORGOTTEN}"):
        words = remove_tree(left)
        if words is not None:
            logger.warning("What is left of a run that was forgotten: %s", words)


LARGEST_LOG = 1_000_000
"""When ``problems.log`` has more bytes than this, it is renamed ``problems.log.1``, and a new file begins."""


def note_problem(home: Path, text: str) -> None:
    """Write something to the log in an agent's home; where that is not possible, the request is answered all the same.

    Others decide how often an agent fails. So the log is bounded: the oldest problems are dropped.
    """
    path = home / "problems.log"
    with suppress(OSError):
        if path.exists() and path.stat().st_size > LARGEST_LOG:
            os.replace(path, path.with_name("problems.log.1"))
        with appending(path) as file:
            file.write(text.encode(errors="backslashreplace")[:LARGEST_LOG] + b"\n")


def check_with_ledger(store: RunStore, ledger: Path) -> None:
    """Raise ``RunError`` for a stored task, request or reply that the ledger does not have.

    If the ledger has no entry of a task of this run, nothing is checked: it is another ledger, or was begun later. (The
    initiator has no such entry either: its own agent is asked without a ledger.) A reply may be missing in the ledger
    if a crash came just before it was sent.
    """
    entries = entries_of(ledger, store.folder.name)
    begin = store.task()
    tasks = _digests(entries, "received", m.Begin)
    if begin is None or not tasks:
        return
    if digest_of(begin) not in tasks:
        raise _unknown(store.folder / "begin.msg", ledger)
    turns = list(store.past_turns())
    for turn, span in zip(turns, _spans(entries, turns), strict=True):
        folder = store.folder / "turns" / f"{turn.number:06d}"
        if span is None:
            raise _unknown(folder / "request.msg", ledger)
        answers = _digests(span, "sent", m.TurnTaken)
        if answers and digest_of(turn.reply) not in answers:
            raise _unknown(folder / "reply.msg", ledger)


def _spans(entries: Sequence[Entry], turns: Sequence[PastTurn]) -> Iterator[Sequence[Entry] | None]:
    """Yield for each turn the entries from its request to the next request; None if its request is missing."""
    first: dict[str, int] = {}
    asking = {type_of(m.TakeTurn), type_of(m.TakeAgain)}
    for place, entry in enumerate(entries):
        if entry.direction == "received" and entry.type in asking:
            first.setdefault(entry.digest, place)
    places = [first.get(digest_of(turn.request)) for turn in turns]
    for this, following in pairwise([*places, None]):
        yield None if this is None else entries[this:following]


def _digests(entries: Sequence[Entry], direction: str, kind: type[m.Message]) -> set[str]:
    return {entry.digest for entry in entries if entry.direction == direction and entry.type == type_of(kind)}


def _unknown(path: Path, ledger: Path) -> RunError:
    return RunError(f"{path} holds a message that is not in {ledger.name}: it was changed or damaged. {REMEDY}")
