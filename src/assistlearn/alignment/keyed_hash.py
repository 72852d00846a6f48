"""Digests of ids under a secret that all agents of a run share.

An id's digest is BLAKE2b with a 32-byte key and 16 bytes of output; the key is made from the shared secret and from the
alignment's token, so that digests of two alignments cannot be compared. Whoever has the secret can try ids until a
digest fits. Digests therefore hide ids from strangers, not from the agents that hold the secret.
"""

from __future__ import annotations

import hashlib

import numpy as np

from assistlearn.alignment.ids import Ids
from assistlearn.alignment.matching import CodedIds
from assistlearn.errors import SettingsError

DIGEST_BYTES = 16
"""With 10**6 ids on each side two different ids share a digest with a chance below 10**-26."""

SHORTEST_SECRET = 16


def key_from(secret: bytes, token: bytes) -> bytes:
    """Return the key of one alignment.

    >>> len(key_from(b"at least 16 bytes", token=b"0123456789abcdef"))
    32
    >>> key_from(b"too short", token=b"0123456789abcdef")
    Traceback (most recent call last):
        ...
    assistlearn.errors.SettingsError: The shared secret has 9 bytes; it needs at least 16. ...
    """
    if not isinstance(secret, bytes):
        raise SettingsError(f"The shared secret must be bytes, not {type(secret).__name__}.")
    if len(secret) < SHORTEST_SECRET:
        raise SettingsError(
            f"The shared secret has {len(secret)} bytes; it needs at least {SHORTEST_SECRET}. Make one with "
            "`python -c 'import secrets; print(secrets.token_hex(32))'` and give it to every agent."
        )
    return hashlib.blake2b(secret, digest_size=32, salt=token, person=b"alignment key").digest()


def key_check(key: bytes) -> bytes:
    """Return a digest of the key. It shows, before ids are compared, that two agents have the same secret."""
    return hashlib.blake2b(key=key, digest_size=DIGEST_BYTES, person=b"same secret").digest()


def digests(ids: Ids, key: bytes) -> CodedIds:
    """Return the digest of each id, one in each row.

    >>> key = key_from(b"at least 16 bytes", token=b"0123456789abcdef")
    >>> digests(Ids([17, 18]), key).shape
    (2, 16)
    >>> bool((digests(Ids([17]), key) == digests(Ids([" 17 "]), key)).all())
    True
    """
    keyed = hashlib.blake2b(key=key, digest_size=DIGEST_BYTES, person=b"id")

    def digest(text: str) -> bytes:
        state = keyed.copy()  # the key is hashed once, not for each id
        state.update(text.encode())
        return state.digest()

    joined = b"".join(map(digest, ids.texts.to_list()))
    return np.frombuffer(joined, dtype=np.uint8).reshape(-1, DIGEST_BYTES)
