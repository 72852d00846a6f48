"""A member wants a site's disk to fill up with what the site refuses."""

from __future__ import annotations

from assistlearn.protocol.ledger import Ledger, read, verify
from assistlearn.reach.flare.guard.refusals import BURST, MANY, QUIET, REFILL, Refusals
from tests.attacks.attack import attack


@attack("member", "sends 100,000 commands, to fill a site's ledger", "counted: a line, and one a minute later")
def test_a_flood_of_refusals_is_counted(tmp_path):
    now = [0.0]
    ledger = Ledger(tmp_path / "ledger.jsonl")
    refusals = Refusals(lambda peer, what, content: ledger.record("refused", peer, "", what, content), lambda: now[0])
    for _ in range(50_000):
        refusals.note("stranger", "FLARE admin/sys.shell", "no", b"content")
    refusals.write()
    refusals.note("stranger", "FLARE admin/sys.shell", "no", b"content")
    refusals.write()
    assert [entry.type for entry in read(ledger.path)] == ["FLARE admin/sys.shell, 50000 times"]
    now[0] = QUIET
    refusals.write()
    assert [entry.type for entry in read(ledger.path)][1:] == ["FLARE admin/sys.shell"]
    for number in range(50_000):
        refusals.note("stranger", f"FLARE admin/{number}", "no", b"content")
    for _ in range(10):
        refusals.write()
    assert len(list(read(ledger.path))) <= BURST + 2
    now[0] += 3600
    for _ in range(10):
        refusals.write()
    assert len(list(read(ledger.path))) <= BURST + 2 + 3600 / REFILL
    assert len(refusals._counts) <= MANY + 1
    verify(ledger.path)
