"""What tells an agent that its table has changed since a run was aligned on it."""

from __future__ import annotations

import hashlib
import secrets

import msgspec
import numpy as np

from assistlearn.alignment import keyed_hash
from assistlearn.alignment.ids import Ids
from assistlearn.errors import TableChangedError


class Fingerprint(msgspec.Struct, frozen=True):
    """What an agent keeps of its ids beside a run, to notice later that the table is not the same any more.

    It stays with the agent: the salt is random for each fingerprint, but whoever has the fingerprint can try ids.

    Parameters
    ----------
    n_ids : int
        How many ids there are.
    salt : bytes
        Random.
    in_order : bytes
        A digest of the ids in the table's order.
    as_set : bytes
        A digest of the ids in whatever order.

    Examples
    --------
    >>> seen = Fingerprint.of(Ids(["a", "b", "c"]))
    >>> seen.check(Ids(["a ", "b", "c"]))
    >>> seen.check(Ids(["c", "b", "a"], owner="Agent 'lab'"))
    Traceback (most recent call last):
        ...
    assistlearn.errors.TableChangedError: Agent 'lab': the table has the same 3 ids as when the run was aligned, but in
    another order. ...
    """

    n_ids: int
    salt: bytes
    in_order: bytes
    as_set: bytes

    @classmethod
    def of(cls, ids: Ids) -> Fingerprint:
        """Return the fingerprint of these ids, under a fresh salt."""
        return cls._under(ids, secrets.token_bytes(32))

    def check(self, ids: Ids) -> None:
        """Raise ``TableChangedError`` unless these are the same ids in the same order."""
        now = self._under(ids, self.salt)
        if now == self:
            return
        if now.as_set == self.as_set:
            changed = f"the table has the same {self.n_ids:,} ids as when the run was aligned, but in another order"
        elif now.n_ids == self.n_ids:
            changed = f"the table still has {self.n_ids:,} ids, but not the same ones as when the run was aligned"
        else:
            changed = f"the table had {self.n_ids:,} ids when the run was aligned, and now has {now.n_ids:,}"
        raise TableChangedError(f"{ids.owner}: {changed}. Put the old table back, or start a new run.")

    @classmethod
    def _under(cls, ids: Ids, salt: bytes) -> Fingerprint:
        codes = keyed_hash.digests(ids, salt)
        in_order = hashlib.blake2b(codes.tobytes(), digest_size=32).digest()
        as_set = hashlib.blake2b(np.sort(codes.view(f"S{codes.shape[1]}"), axis=0).tobytes(), digest_size=32).digest()
        return cls(len(ids), salt, in_order, as_set)
