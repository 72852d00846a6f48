"""The two roles of an alignment and its six steps, by keyed hashes and by private set intersection alike.

========  ===================  ==========================================================
step      who                  what
========  ===================  ==========================================================
1         initiator            ``request = start()``
2         helper               ``reply = answer(request)``
3         initiator            ``held = finish(reply)``: which of its samples the helper holds
4         initiator            ``order = settle(samples)``: the samples of the run
5         helper               ``reply = agree(order)``: from here on it has its ``rows``
6         initiator            ``confirm(reply)``
========  ===================  ==========================================================

Between steps 3 and 4 the initiator has asked all helpers and knows the samples of the run
(:func:`~assistlearn.alignment.samples.samples_of_run`). A step that fails raises an ``AlignmentError`` and changes
nothing. A message that comes twice gets the same answer.
"""

from __future__ import annotations

import hashlib
import secrets
from abc import ABC, abstractmethod

import numpy as np

from assistlearn.alignment import wire
from assistlearn.alignment.curve import POINT_BYTES
from assistlearn.alignment.ids import DIGEST_BYTES, Ids, Rows
from assistlearn.alignment.samples import Minimum, confirmation, order_digest
from assistlearn.errors import AlignmentError, SettingsError
from assistlearn.types import Bools

MAX_IDS = 10_000_000
"""How many ids an agent accepts from another, unless told otherwise."""


class Initiator(ABC):
    """The agent that has the samples of the run, its ``ids`` in the run's order; one object for each helper."""

    def __init__(self, ids: Ids, helper: str, minimum: Minimum | None, max_ids: int) -> None:
        self.ids = ids
        self._helper = helper
        self._minimum = minimum or Minimum()
        self._max_ids = _positive(max_ids)
        self._token: bytes | None = None
        self._places: Rows | None = None
        self._expected: bytes | None = None

    def start(self) -> bytes:
        """Step 1: return the request to the helper. A second call starts a new alignment."""
        token = secrets.token_bytes(wire.TOKEN_BYTES)
        request = self._request(token)
        self._token, self._places, self._expected = token, None, None
        return wire.encode(request)

    def finish(self, answer: bytes) -> Bools:
        """Step 3: return which of the samples the helper holds; raise ``OverlapError`` if they are too few."""
        if self._token is None:
            raise AlignmentError(f"The alignment with agent {self._helper!r} has not started.")
        places = self._read_answer(answer, self._token)
        held = places >= 0
        self._minimum.check(int(held.sum()), len(held), f"Agent {self._helper!r} holds")
        self._places, self._expected = places, None
        return held

    def settle(self, samples: Bools | None = None) -> bytes:
        """Step 4: return the order of the run for the helper; by default the run has all samples."""
        if self._places is None or self._token is None:
            raise AlignmentError(f"The alignment with agent {self._helper!r} has no answer yet.")
        kept = np.ones(len(self.ids), dtype=np.bool_) if samples is None else np.asarray(samples)
        if kept.dtype != np.bool_ or kept.shape != (len(self.ids),):
            raise SettingsError(f"samples must be {len(self.ids):,} truth values, one for each of the initiator's ids.")
        rows = np.where(self._places >= 0, np.arange(len(self.ids)), -1)[kept]
        key = secrets.token_bytes(wire.KEY_BYTES)
        digest = order_digest(self.ids, rows, key)
        self._expected = confirmation(digest, key)
        return wire.encode(wire.SampleOrder(self._token, key, digest, self._samples(self._places, kept)))

    def confirm(self, reply: bytes) -> None:
        """Step 6: raise unless the helper found the same samples in the same order."""
        if self._expected is None:
            raise AlignmentError(f"The alignment with agent {self._helper!r} has no order yet.")
        message = wire.decode(reply, wire.Confirmation, wire.CHECK_BYTES, self._token)
        if not secrets.compare_digest(message.digest, self._expected):
            raise AlignmentError(f"Agent {self._helper!r} did not confirm the samples of the run and their order.")

    @abstractmethod
    def _request(self, token: bytes) -> wire.AlignmentMessage: ...

    @abstractmethod
    def _read_answer(self, answer: bytes, token: bytes) -> Rows:
        """Return for each sample its place in the exchanged list, or -1 where the helper does not hold it."""

    @abstractmethod
    def _samples(self, places: Rows, kept: Bools) -> bytes: ...


class Helper(ABC):
    """An agent that is asked which of the initiator's samples it holds; one object for each alignment.

    ``max_ids`` bounds work and memory, and how many ids can be tried.
    """

    def __init__(self, ids: Ids, minimum: Minimum | None, max_ids: int) -> None:
        self.ids = ids
        self._minimum = minimum or Minimum()
        self._max_ids = _positive(max_ids)
        self._token: bytes | None = None
        self._request: bytes = b""
        self._reply: bytes = b""
        self._rows: Rows | None = None

    @property
    def rows(self) -> Rows:
        """For each sample of the run the helper's row, or -1 where it has none; known after step 5."""
        if self._rows is None:
            raise AlignmentError(f"{self.ids.owner}: the samples of the run are not settled yet.")
        return self._rows

    @property
    def n_found(self) -> int | None:
        """How many of the requested ids the helper holds; None where it cannot know this before step 5."""
        return None

    def answer(self, request: bytes) -> bytes:
        """Step 2: return the answer to the initiator's request. A different request starts a new alignment."""
        seen = hashlib.blake2b(request).digest() if isinstance(request, bytes) else b""
        if not seen or seen != self._request:
            answer = self._answer(request)
            self._token, self._request, self._reply, self._rows = answer.token, seen, wire.encode(answer), None
        return self._reply

    def agree(self, order: bytes) -> bytes:
        """Step 5: learn the samples of the run, check that they are the initiator's, and return the confirmation."""
        if self._token is None:
            raise AlignmentError(f"{self.ids.owner}: no alignment is under way here. Start it again.")
        message = wire.decode(order, wire.SampleOrder, 4 * self._max_ids, self._token)
        if len(message.key) != wire.KEY_BYTES:
            raise AlignmentError(f"SampleOrder: the key has {len(message.key)} bytes, not {wire.KEY_BYTES}.")
        rows = self._rows_of(message.samples)
        self._minimum.check(int(np.count_nonzero(rows >= 0)), len(rows), f"{self.ids.owner} holds")
        digest = order_digest(self.ids, rows, message.key)
        if not secrets.compare_digest(digest, message.digest):
            raise AlignmentError(
                f"{self.ids.owner}: the initiator means other samples, or another order, than this agent. Start the "
                "alignment again; if it happens twice, both should check that they use the same version of assistlearn."
            )
        self._rows = rows
        return wire.encode(wire.Confirmation(self._token, confirmation(digest, message.key)))

    @abstractmethod
    def _answer(self, request: bytes) -> wire.AlignmentMessage: ...

    @abstractmethod
    def _rows_of(self, samples: bytes) -> Rows: ...


def _positive(max_ids: int) -> int:
    if max_ids < 1:
        raise SettingsError(f"max_ids must be at least 1, not {max_ids}.")
    return max_ids


def ids_asked(request: bytes, alignment: str, max_ids: int = MAX_IDS) -> int:
    """Return how many ids the first step of an alignment asks about, before any of them is looked at."""
    if alignment == "psi":
        return len(wire.decode(request, wire.PsiRequest, POINT_BYTES * max_ids).points) // POINT_BYTES
    return len(wire.decode(request, wire.HashRequest, DIGEST_BYTES * max_ids).digests) // DIGEST_BYTES
