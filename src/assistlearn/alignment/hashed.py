"""Alignment by keyed hashes: fast, for agents that trust each other with a shared secret."""

from __future__ import annotations

import secrets

import numpy as np

from assistlearn.alignment import wire
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
from assistlearn.alignment.roles import MAX_IDS, Helper, Initiator
from assistlearn.alignment.samples import Minimum
from assistlearn.errors import AlignmentError
from assistlearn.types import Bools


class HashInitiator(Initiator):
    """Sends the digests of its ids and learns which of them the helper holds; the secret has at least 16 bytes."""

    def __init__(self, ids: Ids, secret: bytes, helper: str = "helper", minimum: Minimum | None = None) -> None:
        super().__init__(ids, helper, minimum, max_ids=len(ids))
        self._secret = secret
        key_from(secret, bytes(wire.TOKEN_BYTES))  # a bad secret is found here, not in the middle of a run

    def _request(self, token: bytes) -> wire.AlignmentMessage:
        key = key_from(self._secret, token)
        codes = digests(self.ids, key)
        return wire.HashRequest(token, key_check(key), codes.tobytes())

    def _read_answer(self, answer: bytes, token: bytes) -> Rows:
        message = wire.decode(answer, wire.HashAnswer, len(self.ids), token)
        held = unpack(message.held, len(self.ids), "helper's answers")
        return np.where(held, np.arange(len(self.ids)), -1)

    def _samples(self, places: Rows, kept: Bools) -> bytes:
        return pack(kept)


class HashHelper(Helper):
    """Compares the initiator's digests with its own, and says which samples it holds."""

    def __init__(self, ids: Ids, secret: bytes, minimum: Minimum | None = None, max_ids: int = MAX_IDS) -> None:
        super().__init__(ids, minimum, max_ids)
        self._secret = secret
        key_from(secret, bytes(wire.TOKEN_BYTES))
        self._found: Rows = np.empty(0, dtype=np.int64)

    @property
    def n_found(self) -> int:
        return int(np.count_nonzero(self._found >= 0))

    def _answer(self, request: bytes) -> wire.AlignmentMessage:
        message = wire.decode(request, wire.HashRequest, DIGEST_BYTES * self._max_ids)
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
        return wire.HashAnswer(message.token, pack(self._found >= 0))

    def _rows_of(self, samples: bytes) -> Rows:
        return self._found[unpack(samples, len(self._found), "samples of the run")]
