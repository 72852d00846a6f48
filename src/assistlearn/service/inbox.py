"""The inbox of an agent's owner: requests for consent that nobody has answered yet, a small file each.

::

    requests/333806532b0f.json     who asks, what for, since when

What the owner answers is not kept here but in the ledger: a file that is written or changed by hand lets nobody in. A
file goes when its request is answered. One that nobody has answered in time stays to be read, until room is needed.
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
"""Requests that are kept at a time; of those whose name nothing proves, half as many."""

MOST_OF_ONE = 8
"""Requests of one initiator that can wait at a time, each for another purpose."""

LARGEST = 32_768
"""Bytes of a request's file."""

LAST_YEAR = 9_000
"""No request comes later: there must be room for the days in which it can be answered."""

NO_LINK, NO_WAIT = getattr(os, "O_NOFOLLOW", 0), getattr(os, "O_NONBLOCK", 0)
"""Links are not followed and pipes not waited for, where the system can be told so; Windows cannot."""

_NAME = re.compile(r"[0-9a-f]{12}\.json")


class KeptRequest(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """One request, as it came.

    Attributes
    ----------
    initiator, purpose : str
        Who asks, and what for.
    proof : {"certificate", "nothing"}
        What proves the name of who asks.
    run, method : str
        The run that it came with, and how that is to train.
    n_samples, n_rounds : int
        How many samples it would ask about, and its rounds at the most.
    since : str
        When it came, in UTC.
    ended : {"", "expired", "withdrawn"}
        What the initiator was told of its end, or has said itself; to ask once more after that is to ask anew.
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
        """Whether nobody has answered it in time, given how many days there were for that."""
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
        """Keep other processes of the agent, and its owner's commands, from changing the inbox meanwhile."""
        if self.folder.is_symlink():
            raise RequestsError(f"{self.folder} is a link, and is not followed. Put a folder in its place.")
        with storage.writing(self.folder):
            self.folder.mkdir(parents=True, exist_ok=True)
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
        """Return all requests, the oldest first, and in words what is wrong with files that hold none."""
        found, damaged = [], []
        for path in sorted(self.folder.glob("*.json")):
            if not _NAME.fullmatch(path.name):
                damaged.append(f"{path} is no request: its name is not a request's number.")
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
        """Keep a request that is here already, as it is now; a crash leaves the old file or the new one."""
        storage.write_json(self._path(request.number), msgspec.structs.asdict(request))

    def add(self, request: KeptRequest, now: datetime) -> None:
        """Keep a new request if there is room; no request that still waits makes room for another."""
        there, damaged = self.all()
        there = [each for each in there if each.number != request.number]
        open_ = [each for each in there if not each.ended and not each.expired(now, self.answer_within)]
        if sum(each.initiator == request.initiator for each in open_) >= MOST_OF_ONE:
            raise RefusedError(f"{MOST_OF_ONE} requests of {request.initiator!r} wait for its owner's consent already.")
        alike = [each for each in open_ if each.proof == request.proof]
        if len(alike) >= (MOST if request.proof == "certificate" else MOST // 2):
            raise RefusedError(f"{len(alike)} requests wait for its owner's consent already. Ask again later.")
        while len(there) + len(damaged) >= MOST:
            over = next((each for each in there if each not in open_), None)
            if over is None:
                raise RefusedError(f"{MOST} requests wait for its owner's consent already. Ask again later.")
            there.remove(over)
            self.remove(over.number)
        self.keep(request)

    def remove(self, number: str) -> None:
        """Remove a request that was answered."""
        self._path(number).unlink(missing_ok=True)

    def _path(self, number: str) -> Path:
        return self.folder / f"{number}.json"


def _content(path: Path) -> bytes | None:
    """Return what a file holds, which must be a small one of its own; None where there is none."""
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
        raise _damaged(path, "it says something else than when it came")
    return request


def _damaged(path: Path, why: str) -> RequestsError:
    return RequestsError(
        f"{path} is no request for consent ({why}): it was changed or damaged, and lets nobody in. Move it away; "
        "whoever asked can ask again."
    )
