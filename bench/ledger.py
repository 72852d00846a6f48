"""How long a long ledger takes to open, with and without its checkpoint, to write to, and to verify.

    python -m bench.ledger [--entries 300000]

An agent opens its ledger at every job; ``assistlearn audit`` verifies it.
"""

from __future__ import annotations

import argparse
import hashlib
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from assistlearn.protocol import Ledger
from assistlearn.protocol.ledger import EVERY, FIRST, line_of, made, verify


def write(path: Path, n_entries: int) -> None:
    """Write a ledger of so many entries, without waiting for the disk at each; it has no checkpoint."""
    last = FIRST
    with path.open("wb") as file:
        for number in range(1, n_entries + 1):
            facts = {
                "number": number,
                "time": "2026-01-02T03:04:05.678+00:00",
                "direction": "received" if number % 2 else "sent",
                "peer": "bank",
                "run": f"run-{number // 1_000}",
                "type": "take-turn" if number % 2 else "turn-taken",
                "bytes": 1_000,
                "digest": hashlib.sha256(b"%d" % number).hexdigest(),
                "amount": 1 if number % 2 else 8_000,
                "previous": last,
            }
            entry = made(facts)
            file.write(line_of(entry))
            last = entry.hash
    path.with_name("ledger.jsonl.head").write_text(f"{n_entries} {last}\n")


def timed(what: str, work: Callable[[], object]) -> None:
    """Do something, and print how long it took."""
    begun = time.perf_counter()
    work()
    print(f"{what}: {time.perf_counter() - begun:.4f} s")


def main() -> None:
    """Print the times."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--entries", type=int, default=300_000)
    n_entries = parser.parse_args().entries
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "ledger.jsonl")
        write(path, n_entries)
        timed(f"open {n_entries:,} entries, no checkpoint", lambda: Ledger(path))
        ledger = Ledger(path)
        for _ in range(EVERY - 1):
            ledger.record("sent", "bank", "r", "ended", b"x")
        timed(f"open again, {EVERY - 1} entries after the checkpoint", lambda: Ledger(path))
        timed("record one entry", lambda: ledger.record("sent", "bank", "r", "ended", b"x"))
        timed("open again, right after a checkpoint", lambda: Ledger(path))
        timed("verify from the start, as the audit does", lambda: verify(path))


if __name__ == "__main__":
    main()
