"""A checkpoint: how far a ledger was verified, and its tally at that entry, so that opening the ledger is quick.

It lies beside the ledger and names one of its entries. Whoever opens the ledger looks at that entry, and verifies those
after it. A checkpoint that is missing, damaged, or names an entry that is not there is not used: the ledger is verified
from its start. ``assistlearn audit`` always does that, and compares the checkpoint with what it finds.

Whoever can write a checkpoint could lower the counts. But they could also write the ledger itself, and its head: only
the agent's owner can do that, and the limits are the owner's own. Of what others send, only names and numbers are in a
checkpoint.
"""

from __future__ import annotations

import logging
from pathlib import Path

import msgspec

from assistlearn import storage
from assistlearn.errors import LedgerError
from assistlearn.protocol.entries import Chain, check_unchanged, entry_on
from assistlearn.protocol.tally import Tally

EVERY = 250
"""Entries between two checkpoints."""

VERSION = 1
"""Raise it when a field is added, removed or changes its meaning: older ones are not used then."""

logger = logging.getLogger("assistlearn.protocol")


class Checkpoint(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """One entry of a ledger: its number, its hash, where its line begins, and what was counted up to it."""

    version: int = VERSION
    number: int
    hash: str
    start: int
    tally: Tally

    @classmethod
    def of(cls, chain: Chain) -> Checkpoint:
        """Return the checkpoint at the end of a chain."""
        return cls(number=chain.number, hash=chain.last, start=chain.start, tally=chain.tally)


def checkpoint_path(ledger: Path) -> Path:
    """Return where the checkpoint of a ledger lies."""
    return ledger.with_name(ledger.name + ".checkpoint")


def read_checkpoint(ledger: Path) -> Checkpoint | None:
    """Return the checkpoint of a ledger; None where there is none that can be read."""
    path = checkpoint_path(ledger)
    try:
        checkpoint = msgspec.json.decode(path.read_bytes(), type=Checkpoint)
    except FileNotFoundError:
        return None
    except (OSError, msgspec.MsgspecError, ValueError, RecursionError) as error:
        logger.warning("%s cannot be read (%s): the ledger is verified from its start.", path, error)
        return None
    if checkpoint.version != VERSION or checkpoint.number < 1 or checkpoint.start < 0:
        logger.warning("%s is of another release, or damaged: the ledger is verified from its start.", path)
        return None
    return checkpoint


def write_checkpoint(ledger: Path, chain: Chain) -> None:
    """Write down how far a ledger is verified. If that fails, the next opening verifies from an earlier entry."""
    try:
        storage.write_bytes(checkpoint_path(ledger), msgspec.json.encode(Checkpoint.of(chain)))
    except OSError as error:
        logger.warning("%s cannot be written: %s", checkpoint_path(ledger), error)


def chain_from_checkpoint(ledger: Path) -> Chain:
    """Return the chain of a ledger up to its checkpoint; an empty one where no checkpoint fits."""
    checkpoint = read_checkpoint(ledger)
    if checkpoint is None:
        return Chain()
    with ledger.open("rb") as file:
        file.seek(checkpoint.start)
        line = file.readline()
    where = f"{ledger}, entry {checkpoint.number}"
    try:
        entry = entry_on(line, where)
        check_unchanged(entry, line, where)
        if (entry.number, entry.hash) != (checkpoint.number, checkpoint.hash):
            raise LedgerError(f"{where} is not the entry that the checkpoint names.")
    except LedgerError as error:
        logger.warning(
            "%s does not fit (%s): the ledger is verified from its start.", checkpoint_path(ledger).name, error
        )
        return Chain()
    end = checkpoint.start + len(line)
    received = entry.direction == "received"
    return Chain(entry.number, entry.hash, entry.previous, checkpoint.start, end, checkpoint.tally, received)
