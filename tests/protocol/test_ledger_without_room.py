"""A ledger on a full disk: what was not recorded as a whole is not there, and it goes on when there is room."""

from __future__ import annotations

import pytest

from assistlearn.protocol.ledger import Ledger, verify
from tests.reach.small_disk import small_disk


def test_an_entry_that_found_no_room_for_its_head_is_taken_back(tmp_path):
    """Otherwise the ledger would be taken for one to which somebody has added entries, and never be gone on with."""
    with small_disk(tmp_path / "disk", "16k") as disk:
        path = disk.path / "ledger.jsonl"
        ledger = Ledger(path)
        for _ in range(3):
            ledger.record("sent", "shop", "r1", "open", b"x")
        disk.fill()
        for _ in range(3):
            with pytest.raises(OSError, match="No space left on device"):
                ledger.record("sent", "shop", "r1", "open", b"x")
        assert verify(path) == 3
        disk.make_room()
        ledger.record("sent", "shop", "r1", "open", b"x")
        Ledger(path).record("sent", "shop", "r1", "open", b"x")
        assert verify(path) == 5
