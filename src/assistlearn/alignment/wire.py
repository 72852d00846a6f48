"""The messages of an alignment as bytes: plain data, whose size is checked before they are decoded.

A message is a mark of four bytes, a version, and a MessagePack map. The caller carries it to the other agent.
"""

from __future__ import annotations

import secrets
from typing import TypeVar

import msgspec

from assistlearn.errors import AlignmentError

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
