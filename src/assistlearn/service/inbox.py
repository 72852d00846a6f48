"""The inbox of an agent's owner: requests for consent that nobody has answered yet, a small file each.

::

    requests/333806532b0f.json     who asks, what for, since when

The owner's answers are not kept here but in the ledger: a file that is written or changed by hand lets nobody in. When
a request is answered, its file is removed. A request that nobody has answered in time stays until room is needed.
"""

from __future__ import annotations

import errno
import os
import re
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from datetime import datetime, timedelta
from pathlib import Path
from typing import Literal

import msgspec

from assistlearn import storage
from assistlearn.errors import RefusedError, RequestsError
from assistlearn.protocol.decision import Proof, request_number
from assistlearn.storage.file_locks import wait_for

MOST = 64
"""The most requests that are kept at a time; half as many of initiators whose name is not proved."""

MOST_OF_ONE = 8
"""Requests of one initiator that can wait at a time, each for another purpose."""

LARGEST = 32_768
"""The most bytes of a request's file."""

LAST_YEAR = 9_000
"""The last year of a request or a consent: dates need room for the days that are added to them."""

NO_LINK, NO_WAIT = getattr(os, "O_NOFOLLOW", 0), getattr(os, "O_NONBLOCK", 0)
"""Options to open a file without following links or waiting for pipes; zero on Windows, which does not have them."""

_NAME = re.compile(r"[0-9a-f]{12}\.json")


class KeptRequest(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """One request, as it came.

    Attributes
    ----------
    initiator, purpose : str
        Who asks, and what for.
    proof : {"certificate", "nothing"}
        What proves the initiator's name.
    run, method : str
        The run that the request came with, and the method of that run.
    n_samples, n_rounds : int
        How many samples the run would ask about, and its most rounds.
    since : str
        When it came, in UTC.
    ended : {"", "expired", "withdrawn"}
        Whether the request is over: the initiator was told that it expired, or has withdrawn it. If the initiator asks
        once more after that, it is a new request.
    """

    initiator: str
    purpose: str
    proof: Proof
    run: str
    method: str
    n_samples: int
    n_rounds: int
    since: str
    ended: Literal["", "expired", "withdrawn"] = ""

    @property
    def number(self) -> str:
        """The number of the request; there is one for each initiator and purpose."""
        return request_number(self.initiator, self.purpose, self.proof)

    def expired(self, now: datetime, answer_within: int) -> bool:
        """Whether nobody has answered the request in time: within ``answer_within`` days."""
        return now >= datetime.fromisoformat(self.since) + timedelta(days=answer_within)


class Inbox:
    """The requests that wait at one agent.

    Parameters
    ----------
    home : path
        Where the agent keeps its runs and its ledger.
    answer_within : int
        Days in which a request can be answered.
    """

    def __init__(self, home: Path, answer_within: int) -> None:
        self.folder = home / "requests"
        self.answer_within = answer_within

    @contextmanager
    def locked(self) -> Iterator[None]:
        """Lock the inbox, so that other processes of the agent and its owner's commands cannot change it meanwhile."""
        if self.folder.is_symlink():
            raise RequestsError(f"{self.folder} is a link, and is not followed. Put a folder in its place.")
        with storage.writing(self.folder):
            storage.private_folder(self.folder)
            lock = os.open(self.folder / ".lock", os.O_RDWR | os.O_CREAT | NO_LINK, 0o600)
        try:
            wait_for(lock)
            yield
        finally:
            os.close(lock)

    def get(self, number: str) -> KeptRequest | None:
        """Return a request; None where there is none of this number."""
        path = self._path(number)
        content = _content(path)
        return None if content is None else _request(content, path)

    def all(self) -> tuple[list[KeptRequest], list[str]]:
        """Return all requests, the oldest first, and in words what is wrong with files that are no requests."""
        found, damaged = [], []
        for path in sorted(self.folder.glob("*.json")):
            if not _NAME.fullmatch(path.name):
                damaged.append(f"{path} is not a request: its file name is not the number of a request.")
                continue
            with suppress(FileNotFoundError):
                try:
                    request = self.get(path.stem)
                except RequestsError as error:
                    damaged.append(str(error))
                    continue
                found += [] if request is None else [request]
        return sorted(found, key=lambda request: (request.since, request.number)), damaged

    def keep(self, request: KeptRequest) -> None:
        """Write the file of a request, new or changed. After a crash, either the old or the new file is there."""
        storage.write_json(self._path(request.number), msgspec.structs.asdict(request))

    def add(self, request: KeptRequest, now: datetime) -> None:
        """Keep a new request if there is room. Requests that are over are removed for it, but none that still waits."""
        there, damaged = self.all()
        there = [each for each in there if each.number != request.number]
        open_ = [each for each in there if not each.ended and not each.expired(now, self.answer_within)]
        if sum(each.initiator == request.initiator for each in open_) >= MOST_OF_ONE:
            raise RefusedError(f"{MOST_OF_ONE} requests of {request.initiator!r} already wait for its owner's consent.")
        alike = [each for each in open_ if each.proof == request.proof]
        if len(alike) >= (MOST if request.proof == "certificate" else MOST // 2):
            raise RefusedError(f"{len(alike)} requests already wait for its owner's consent. Ask again later.")
        while len(there) + len(damaged) >= MOST:
            over = next((each for each in there if each not in open_), None)
            if over is None:
                raise RefusedError(f"{MOST} requests already wait for its owner's consent. Ask again later.")
            there.remove(over)
            self.remove(over.number)
        self.keep(request)

    def remove(self, number: str) -> None:
        """Remove a request: it was answered, or room is needed."""
        self._path(number).unlink(missing_ok=True)

    def _path(self, number: str) -> Path:
        return self.folder / f"{number}.json"


def _content(path: Path) -> bytes | None:
    """Return the first bytes of a file that must not be a link; None where there is no file."""
    try:
        with open(os.open(path, os.O_RDONLY | NO_LINK | NO_WAIT), "rb") as file:
            return file.read(LARGEST + 1)
    except FileNotFoundError:
        return None
    except OSError as error:
        why = "it is a link" if error.errno == errno.ELOOP else error.strerror
        raise _damaged(path, f"{why}, and is not read") from None


def _request(content: bytes, path: Path) -> KeptRequest:
    if len(content) > LARGEST:
        raise _damaged(path, f"it has more than {LARGEST:,} bytes")
    try:
        request = msgspec.json.decode(content, type=KeptRequest)
        since = datetime.fromisoformat(request.since)
    except (msgspec.MsgspecError, ValueError, RecursionError) as error:
        raise _damaged(path, str(error)) from None
    if f"{request.number}.json" != path.name or since.tzinfo is None or since.year > LAST_YEAR:
        raise _damaged(path, "its number is not that of the file name, or its time is not valid")
    return request


def _damaged(path: Path, why: str) -> RequestsError:
    return RequestsError(
        f"{path} is not a valid request for consent ({why}): it was changed or damaged, and gives nobody access. Move "
        "it away; the initiator can ask again."
    )
