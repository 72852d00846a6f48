"""An agent's own random numbers, which nobody else can know: they are computed from a secret key.

The seeds of a run come from its initiator, which could remove any noise that was drawn from them. The numbers here come
from a key that never leaves the agent's home. The same question gets the same draw, so asking again tells nothing new.
"""

from __future__ import annotations

import hashlib
import json
import os
import secrets
from collections.abc import Iterable
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from assistlearn import storage
from assistlearn.core.ignorance import Floats
from assistlearn.core.votes import Codes
from assistlearn.errors import RunError

KEY_BYTES = 32


class Coin:
    """Random numbers, each a keyed digest (BLAKE2b) of what it is for.

    Parameters
    ----------
    path : path
        The file of the key. If it does not exist, a key is drawn, and only the owner can read the file.

    Examples
    --------
    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as home:
    ...     coin = Coin(Path(home, "coin.key"))
    ...     again = Coin(Path(home, "coin.key"))
    ...     bool(coin.people(["ann"]) == again.people(["ann"])), oct(Path(home, "coin.key").stat().st_mode)[-3:]
    (True, '600')
    """

    def __init__(self, path: Path) -> None:
        if not path.exists():
            _draw_key(path)
        self._key = path.read_bytes()
        if len(self._key) != KEY_BYTES:
            raise RunError(
                f"{path} has {len(self._key)} bytes; the key for this agent's random answers must have {KEY_BYTES}. "
                "Restore it from a backup: the counts of what was told about each person depend on it."
            )

    def people(self, ids: Iterable[str]) -> NDArray[np.uint64]:
        """Return a number for each id. Nobody can find the id from the number without the key."""
        return self._digests(b"person", b"", (text.encode() for text in ids))

    def mark(self, *what: str | int) -> int:
        """Return a number that identifies something that has happened, such as a turn of a run."""
        return int(self._digests(b"mark", b"", [json.dumps(what).encode()])[0])

    def draws(self, what: tuple[str | int, ...], ids: Iterable[str], truth: Codes) -> Floats:
        """Return for one question a uniform random number from zero to one for each id and its true answer.

        If a true answer changes, it gets another draw. With the same draw, the two answers together would tell more
        than each by itself.
        """
        pairs = zip(ids, truth.tolist(), strict=True)
        drawn = self._digests(b"coin", json.dumps(what).encode(), (f"{code} {text}".encode() for text, code in pairs))
        even: Floats = (drawn >> np.uint64(11)).astype(np.float64) * 2.0**-53
        return even

    def _digests(self, person: bytes, what: bytes, texts: Iterable[bytes]) -> NDArray[np.uint64]:
        keyed = hashlib.blake2b(what + b"\0", key=self._key, digest_size=8, person=person)

        def digest(text: bytes) -> bytes:
            state = keyed.copy()  # the key is hashed once, not for each text
            state.update(text)
            return state.digest()

        return np.frombuffer(b"".join(map(digest, texts)), dtype="<u8").astype(np.uint64)


def _draw_key(path: Path) -> None:
    """Draw a key; where another process does so at the same time, the first one counts."""
    fresh = path.with_name(f".{path.name}.{os.getpid()}")
    with storage.writing(path):
        storage.private_folder(path.parent)
        fresh.unlink(missing_ok=True)
        with os.fdopen(os.open(fresh, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as file:
            file.write(secrets.token_bytes(KEY_BYTES))
            file.flush()
            os.fsync(file.fileno())
        try:
            os.link(fresh, path)
        except FileExistsError:
            pass
        finally:
            fresh.unlink()
