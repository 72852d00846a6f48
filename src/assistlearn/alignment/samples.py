"""The samples of a run, in one order for all agents, and the check that all agents mean the same samples."""

from __future__ import annotations

import hashlib
import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal, TypeAlias

import numpy as np

from assistlearn.alignment.ids import Ids, Rows, pack
from assistlearn.errors import OverlapError, SettingsError
from assistlearn.types import Bools

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
