"""How many ids a request for alignment asks about, counted before any of them is looked at."""

from __future__ import annotations

from assistlearn.alignment import wire
from assistlearn.alignment.curve import POINT_BYTES
from assistlearn.alignment.keyed_hash import DIGEST_BYTES
from assistlearn.alignment.roles import MAX_IDS


def ids_asked(request: bytes, alignment: str, max_ids: int = MAX_IDS) -> int:
    """Return how many ids the first step of an alignment asks about.

    Parameters
    ----------
    request : bytes
        What the initiator sent.
    alignment : {"hash", "psi"}
        How the run matches samples.
    max_ids : int
        The most ids that are accepted.
    """
    if alignment == "psi":
        return len(wire.decode(request, wire.PsiRequest, POINT_BYTES * max_ids).points) // POINT_BYTES
    return len(wire.decode(request, wire.HashRequest, DIGEST_BYTES * max_ids).digests) // DIGEST_BYTES
