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
(:func:`samples_of_run`). A step that fails raises an ``AlignmentError`` and changes
nothing. A message that comes twice gets the same answer.
"""

from __future__ import annotations

import hashlib
import math
import secrets
from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal, TypeAlias, TypeVar

import msgspec
import numpy as np

from assistlearn.alignment.curve import POINT_BYTES
from assistlearn.alignment.ids import (
    DIGEST_BYTES,
    Ids,
    Rows,
    codes_from,
    digests,
    key_check,
    key_from,
    pack,
    positions,
    refuse_repeated,
    unpack,
)
from assistlearn.errors import AlignmentError, OverlapError, SettingsError
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
        token = secrets.token_bytes(TOKEN_BYTES)
        request = self._request(token)
        self._token, self._places, self._expected = token, None, None
        return encode(request)

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
        key = secrets.token_bytes(KEY_BYTES)
        digest = order_digest(self.ids, rows, key)
        self._expected = confirmation(digest, key)
        return encode(SampleOrder(self._token, key, digest, self._samples(self._places, kept)))

    def confirm(self, reply: bytes) -> None:
        """Step 6: raise unless the helper found the same samples in the same order."""
        if self._expected is None:
            raise AlignmentError(f"The alignment with agent {self._helper!r} has no order yet.")
        message = decode(reply, Confirmation, CHECK_BYTES, self._token)
        if not secrets.compare_digest(message.digest, self._expected):
            raise AlignmentError(f"Agent {self._helper!r} did not confirm the samples of the run and their order.")

    @abstractmethod
    def _request(self, token: bytes) -> AlignmentMessage: ...

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
            self._token, self._request, self._reply, self._rows = answer.token, seen, encode(answer), None
        return self._reply

    def agree(self, order: bytes) -> bytes:
        """Step 5: learn the samples of the run, check that they are the initiator's, and return the confirmation."""
        if self._token is None:
            raise AlignmentError(f"{self.ids.owner}: no alignment is under way here. Start it again.")
        message = decode(order, SampleOrder, 4 * self._max_ids, self._token)
        if len(message.key) != KEY_BYTES:
            raise AlignmentError(f"SampleOrder: the key has {len(message.key)} bytes, not {KEY_BYTES}.")
        rows = self._rows_of(message.samples)
        self._minimum.check(int(np.count_nonzero(rows >= 0)), len(rows), f"{self.ids.owner} holds")
        digest = order_digest(self.ids, rows, message.key)
        if not secrets.compare_digest(digest, message.digest):
            raise AlignmentError(
                f"{self.ids.owner}: the initiator means other samples, or another order, than this agent. Start the "
                "alignment again; if it happens twice, both should check that they use the same version of assistlearn."
            )
        self._rows = rows
        return encode(Confirmation(self._token, confirmation(digest, message.key)))

    @abstractmethod
    def _answer(self, request: bytes) -> AlignmentMessage: ...

    @abstractmethod
    def _rows_of(self, samples: bytes) -> Rows: ...


def _positive(max_ids: int) -> int:
    if max_ids < 1:
        raise SettingsError(f"max_ids must be at least 1, not {max_ids}.")
    return max_ids


def ids_asked(request: bytes, alignment: str, max_ids: int = MAX_IDS) -> int:
    """Return how many ids the first step of an alignment asks about, before any of them is looked at."""
    if alignment == "psi":
        return len(decode(request, PsiRequest, POINT_BYTES * max_ids).points) // POINT_BYTES
    return len(decode(request, HashRequest, DIGEST_BYTES * max_ids).digests) // DIGEST_BYTES


# Alignment by keyed hashes: fast, for agents that trust each other with a shared secret.


class HashInitiator(Initiator):
    """Sends the digests of its ids and learns which of them the helper holds; the secret has at least 16 bytes."""

    def __init__(self, ids: Ids, secret: bytes, helper: str = "helper", minimum: Minimum | None = None) -> None:
        super().__init__(ids, helper, minimum, max_ids=len(ids))
        self._secret = secret
        key_from(secret, bytes(TOKEN_BYTES))  # a bad secret is found here, not in the middle of a run

    def _request(self, token: bytes) -> AlignmentMessage:
        key = key_from(self._secret, token)
        codes = digests(self.ids, key)
        return HashRequest(token, key_check(key), codes.tobytes())

    def _read_answer(self, answer: bytes, token: bytes) -> Rows:
        message = decode(answer, HashAnswer, len(self.ids), token)
        held = unpack(message.held, len(self.ids), "helper's answers")
        return np.where(held, np.arange(len(self.ids)), -1)

    def _samples(self, places: Rows, kept: Bools) -> bytes:
        return pack(kept)


class HashHelper(Helper):
    """Compares the initiator's digests with its own, and says which samples it holds."""

    def __init__(self, ids: Ids, secret: bytes, minimum: Minimum | None = None, max_ids: int = MAX_IDS) -> None:
        super().__init__(ids, minimum, max_ids)
        self._secret = secret
        key_from(secret, bytes(TOKEN_BYTES))
        self._found: Rows = np.empty(0, dtype=np.int64)

    @property
    def n_found(self) -> int:
        return int(np.count_nonzero(self._found >= 0))

    def _answer(self, request: bytes) -> AlignmentMessage:
        message = decode(request, HashRequest, DIGEST_BYTES * self._max_ids)
        key = key_from(self._secret, message.token)
        if not secrets.compare_digest(message.same_secret, key_check(key)):
            raise AlignmentError(
                f"{self.ids.owner}: the initiator uses another shared secret. Both agents need the same bytes. Compare "
                "the two; one of them may have a line end too many."
            )
        theirs = codes_from(message.digests, DIGEST_BYTES, "digests")
        if len(theirs) == 0:
            raise AlignmentError("HashRequest: it has no digests.")
        refuse_repeated(theirs, "digests")
        self._found = positions(theirs, digests(self.ids, key))
        return HashAnswer(message.token, pack(self._found >= 0))

    def _rows_of(self, samples: bytes) -> Rows:
        return self._found[unpack(samples, len(self._found), "samples of the run")]


# The samples of a run, in one order for all agents, and the check that all agents mean the same samples.

Overlap: TypeAlias = Literal["abstain", "intersection"]
"""``abstain``: the run has all of the initiator's samples, and a helper abstains on those it does not hold.
``intersection``: the run has the samples that every agent holds, as in the paper."""


@dataclass(frozen=True)
class Minimum:
    """How many samples two agents must share before anything is trained: a number, and a share of the initiator's.

    A tiny overlap is usually a mistake (ids of different kinds), and a run on it would tell much about few people.
    Where the initiator has fewer samples than the number, all of them must be shared.

    >>> Minimum().of(1_000_000), Minimum().of(500), Minimum().of(6)
    (10000, 20, 6)
    >>> Minimum(0, 0.0).of(500)
    0
    """

    samples: int = 20
    share: float = 0.01

    def __post_init__(self) -> None:
        if self.samples < 0 or not 0.0 <= self.share <= 1.0:
            raise SettingsError(
                f"The minimum overlap must have samples >= 0 and 0 <= share <= 1, not {self.samples} and {self.share}."
            )

    def of(self, n_samples: int) -> int:
        return max(min(self.samples, n_samples), math.ceil(self.share * n_samples))

    def check(self, n_shared: int, n_samples: int, who: str) -> None:
        needed = self.of(n_samples)
        if n_shared < needed:
            raise OverlapError(
                f"{who} {n_shared:,} of the initiator's {n_samples:,} samples ({n_shared / max(n_samples, 1):.2%}); at "
                f"least {needed:,} are needed. Check that all tables use the same kind of id, written the same way: "
                "ids are compared as text, and case and leading zeros count."
            )


def samples_of_run(held: Mapping[str, Bools], overlap: Overlap, minimum: Minimum | None = None) -> Bools:
    """Return which of the initiator's samples the run has; ``held`` says for each helper which of them it holds."""
    if overlap not in ("abstain", "intersection"):
        raise SettingsError(f"overlap must be 'abstain' or 'intersection', not {overlap!r}.")
    if not held:
        raise SettingsError("There is no helper to align with.")
    if len({len(flags) for flags in held.values()}) != 1:
        raise SettingsError("Every helper must be aligned on the same samples of the initiator.")
    everyone: Bools = np.logical_and.reduce(list(held.values()))
    if overlap == "abstain":
        return np.ones_like(everyone)
    (minimum or Minimum()).check(int(everyone.sum()), len(everyone), "All agents together hold")
    return everyone


def order_digest(ids: Ids, rows: Rows, key: bytes) -> bytes:
    """Return a digest of which samples two agents share, and in which order, under a key made for this alignment.

    It covers the number of samples of the run, which of them are shared, and the ids of those: exactly what both agents
    know. Both compute it from their own ids; if they agree, they mean the same samples in the same order. ``rows`` has
    for each sample of the run this agent's row, or -1 where the two do not share it.
    """
    shared = rows >= 0
    texts = ids.take(rows[shared])
    digest = hashlib.blake2b(key=key, digest_size=32, person=b"order")
    digest.update(len(rows).to_bytes(8, "little"))
    digest.update(pack(shared))
    digest.update(texts.str.len_bytes().to_numpy().astype("<u4").tobytes())
    digest.update("".join(texts.to_list()).encode())
    return digest.digest()


def confirmation(order: bytes, key: bytes) -> bytes:
    """Return a helper's answer to the initiator's digest; a helper gives it only if it computed the same digest."""
    return hashlib.blake2b(order, key=key, digest_size=32, person=b"confirmed").digest()


# The messages of an alignment as bytes: plain data, whose size is checked before they are decoded. A message is a mark
# of four bytes, a version, and a MessagePack map. The caller carries it to the other agent.

MARK = b"ALGN"
VERSION = 1
"""Raise it when a field is added, removed or changes its meaning."""

TOKEN_BYTES = 16
KEY_BYTES = 32
CHECK_BYTES = 32
ENVELOPE = 512
"""The most bytes a message has beyond its lists."""


class AlignmentMessage(msgspec.Struct, frozen=True, forbid_unknown_fields=True, tag=True):
    """What all messages have: the token of their alignment, a random number that the initiator drew."""

    token: bytes


class HashRequest(AlignmentMessage, frozen=True):
    """Initiator to helper: a check that both have the same secret, and the digests of its ids, in its order."""

    same_secret: bytes
    digests: bytes


class HashAnswer(AlignmentMessage, frozen=True):
    """Helper to initiator: which of these samples it holds, one bit each."""

    held: bytes


class PsiRequest(AlignmentMessage, frozen=True):
    """Initiator to helper: its ids as points under its own key, sorted by their bytes."""

    points: bytes


class PsiAnswer(AlignmentMessage, frozen=True):
    """Helper to initiator: its own ids as points under its key, sorted, and the initiator's points under both keys."""

    own: bytes
    both: bytes


class SampleOrder(AlignmentMessage, frozen=True, tag="Order"):  # the tag of version 1
    """Initiator to helper: the samples of the run, and the check that both mean the same ones in the same order.

    After keyed hashes ``samples`` has one bit for each digest of the request: is it in the run? After private set
    intersection it has four bytes for each sample of the run: its position among the helper's points, or -1.
    """

    key: bytes
    digest: bytes
    samples: bytes


class Confirmation(AlignmentMessage, frozen=True):
    """Helper to initiator: it found the same samples in the same order."""

    digest: bytes


Kind = TypeVar("Kind", bound=AlignmentMessage)


def encode(message: AlignmentMessage) -> bytes:
    return MARK + bytes([VERSION]) + msgspec.msgpack.encode(message)


def decode(data: bytes, kind: type[Kind], limit: int, token: bytes | None = None) -> Kind:
    """Return the message in these bytes, if it is of this kind and belongs to this alignment.

    ``limit`` is the most bytes that its lists may have; it is checked before anything is decoded. The first message of
    an alignment brings the token. Whatever the bytes are, the only error is an ``AlignmentError``.
    """
    name = kind.__name__
    if not isinstance(data, bytes | bytearray | memoryview):
        raise AlignmentError(f"{name}: expected bytes, not {type(data).__name__}.")
    data = bytes(data)
    if len(data) > limit + ENVELOPE:
        raise AlignmentError(f"{name}: {len(data):,} bytes came in, but at most {limit + ENVELOPE:,} are accepted.")
    if data[: len(MARK)] != MARK or len(data) <= len(MARK):
        raise AlignmentError(f"{name}: these {len(data):,} bytes are not a message of the alignment.")
    if data[len(MARK)] != VERSION:
        raise AlignmentError(
            f"{name}: the message has version {data[len(MARK)]}, but this agent speaks version {VERSION}. "
            "Install the same version of assistlearn at every agent."
        )
    try:
        message = msgspec.msgpack.decode(memoryview(data)[len(MARK) + 1 :], type=kind)
    except (msgspec.MsgspecError, ValueError, RecursionError) as error:  # ValueError: text that is not UTF-8
        raise AlignmentError(f"{name}: the message is malformed ({error}).") from None
    if len(message.token) != TOKEN_BYTES:
        raise AlignmentError(f"{name}: the token has {len(message.token)} bytes, not {TOKEN_BYTES}.")
    if token is not None and not secrets.compare_digest(message.token, token):
        raise AlignmentError(f"{name}: the message belongs to another alignment. Start this one again.")
    return message
