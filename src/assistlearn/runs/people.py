"""Who took part in a run: digests of ids, under a key that stays with the initiator. Later runs compare them."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from assistlearn.alignment import Ids
from assistlearn.alignment.keyed_hash import digests
from assistlearn.alignment.matching import CodedIds
from assistlearn.runs.class_order import own_key


def people_of(ids: Ids, home: Path) -> CodedIds:
    """Return a digest of each id, one in each row; the same in all runs of this initiator.

    Parameters
    ----------
    ids : Ids
        The ids of the samples.
    home : path
        Where the initiator keeps its models, and the key.
    """
    return digests(ids, own_key(home))


def places_among(now: CodedIds, then: CodedIds) -> NDArray[np.intp]:
    """Return the position of each person of ``now`` among those of ``then``; -1 for a person who is not there.

    >>> places_among(np.array([[7, 1], [9, 9]], np.uint8), np.array([[3, 3], [7, 1]], np.uint8))
    array([ 1, -1])
    """
    known = {row.tobytes(): place for place, row in enumerate(np.ascontiguousarray(then))}
    return np.array([known.get(row.tobytes(), -1) for row in np.ascontiguousarray(now)], dtype=np.intp)
