"""Keys that stay with the initiator: the secret order of the classes, and digests of who took part."""

from __future__ import annotations

import hashlib
import hmac
import os
import secrets
import tempfile
from contextlib import suppress
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from assistlearn.alignment import Ids
from assistlearn.alignment.ids import CodedIds, digests
from assistlearn.errors import RunError
from assistlearn.storage import private_folder

KEY_FILE = "class-order.key"

LABEL_LEDGER = "told-labels.sqlite"

KEY_BYTES = 32


def secret_order(key: bytes, fingerprint: str, seed: int, n_classes: int) -> list[int]:
    """Return the code that stands for each class in the messages of a run.

    A learner's sums, its ties and the folds it is scored on depend on the order of the class codes. If the order were
    random, the result would be, too. It therefore follows from the fingerprint of the initiator's table, labels
    included, the seed, and a key that the initiator draws once and keeps to itself. The same run again has the same
    order. A helper knows the seed and may guess the table, but cannot know the order without the key. The same order
    twice tells a helper nothing new, since the labels behind it are the same, too.

    >>> secret_order(b"known to the initiator alone", "a table", 0, 5)
    [4, 2, 3, 0, 1]
    """

    def lot(code: int) -> bytes:
        return hmac.digest(key, f"{fingerprint} {seed} {code}".encode(), hashlib.sha256)

    return sorted(range(n_classes), key=lot)


def secret_words(key: bytes, fingerprint: str, seed: int) -> list[int]:
    """Return secret numbers from which the hold-out samples are drawn.

    A helper knows the labels of training samples, which samples are held out, and the seed of the run. If hold-out
    samples were drawn from that seed, class by class, it could work out their labels. The secret numbers have 256 bits,
    so that nobody can guess them.

    >>> secret_words(b"known to the initiator alone", "a table", 0)[:2]
    [3765555809, 842490401]
    """
    drawn = hmac.digest(key, f"hold-out {fingerprint} {seed}".encode(), hashlib.sha256)
    return [int.from_bytes(drawn[place : place + 4], "big") for place in range(0, len(drawn), 4)]


def own_key(home: Path) -> bytes:
    """Return the key that an initiator keeps in its folder; draw it the first time."""
    path = home / KEY_FILE
    _refuse_another(path)
    try:
        if not path.exists():
            _draw(path)
        key = bytes.fromhex(path.read_text(encoding="ascii"))
    except OSError as error:
        raise RunError(f"{path}, the key for the order of class codes, cannot be read or written: {error}.") from None
    except ValueError:
        key = b""
    if len(key) != KEY_BYTES:
        raise RunError(
            f"{path}, the key for the order of class codes, was changed or damaged: it should hold {2 * KEY_BYTES} "
            "hexadecimal digits. Restore it from a backup. People are recognised by it: under another key those who "
            "were trained on count as new, and what helpers were told about their labels is told anew."
        )
    return key


def _refuse_another(path: Path) -> None:
    """Raise an error where a key is missing under which people were recorded: under a new one they would be others."""
    ledger = path.with_name(LABEL_LEDGER)
    if ledger.is_file() and not path.is_file():
        raise RunError(
            f"{path} is missing, but {ledger.name} beside it was written under this key. Under a new one nobody is "
            "recognised, and labels would be told anew, which gives away more. Restore the key from a backup."
        )


def _draw(path: Path) -> None:
    """Write a new key that only its owner may read, whole or not at all. If two runs do so at once, the first wins."""
    private_folder(path.parent)
    descriptor, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")  # with mode 0600
    fresh = Path(name)
    try:
        with os.fdopen(descriptor, "w", encoding="ascii") as file:
            file.write(secrets.token_hex(KEY_BYTES) + "\n")
            file.flush()
            os.fsync(file.fileno())
        with suppress(FileExistsError):
            path.hardlink_to(fresh)
    except OSError:  # not every file system has hard links; there, the last of two wins
        fresh.replace(path)
    finally:
        fresh.unlink(missing_ok=True)


def people_of(ids: Ids, home: Path) -> CodedIds:
    """Return a digest of each id, one in each row: later runs of this initiator know people again by these."""
    return digests(ids, own_key(home))


def places_among(now: CodedIds, then: CodedIds) -> NDArray[np.intp]:
    """Return the position of each person of ``now`` among those of ``then``; -1 for a person who is not there."""
    known = {row.tobytes(): place for place, row in enumerate(np.ascontiguousarray(then))}
    return np.array([known.get(row.tobytes(), -1) for row in np.ascontiguousarray(now)], dtype=np.intp)
