"""A checkpoint makes opening a ledger quick, is never trusted further than it goes, and loses no count."""

from __future__ import annotations

import json
import logging
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from assistlearn.errors import LedgerError, RefusedError
from assistlearn.protocol import Ledger, ledger
from assistlearn.protocol.ledger import Claim, PeerCount, checkpoint_path, counted, read, verify

DAY = datetime(2030, 5, 1, 12, tzinfo=UTC)


def anything(count: PeerCount, amount: int, day: str) -> None:
    """Allow any amount."""


def at_most(n_ids: int):
    def check(count: PeerCount, amount: int, day: str) -> None:
        if count.used("ids", "all", day, "") + amount > n_ids:
            raise RefusedError("too many")

    return check


@pytest.fixture(autouse=True)
def often(monkeypatch):
    """A checkpoint every ten entries."""
    monkeypatch.setattr(ledger, "EVERY", 10)


def long(folder: Path, n_entries: int = 25) -> Path:
    """A ledger in which each entry asks about one id more than the one before."""
    path = folder / "ledger.jsonl"
    book = Ledger(path)
    for n_ids in range(n_entries):
        book.record("received", "clinic", "r1", "align", b"%d" % n_ids, Claim(n_ids, anything))
    return path


def total(path: Path) -> int:
    return counted(path).of("clinic").used("ids", "all", "", "")


def change(path: Path, at: int) -> None:
    """Change one entry."""
    lines = path.read_bytes().splitlines(keepends=True)
    lines[at] = lines[at].replace(b'"clinic"', b'"clinik"')
    path.write_bytes(b"".join(lines))


def test_opening_looks_at_what_came_after_the_checkpoint_and_the_audit_at_everything(tmp_path):
    path = long(tmp_path)
    assert json.loads(checkpoint_path(path).read_bytes())["number"] == 20
    change(path, 4)
    Ledger(path).record("sent", "clinic", "r1", "ended", b"x")
    with pytest.raises(LedgerError, match="line 5: entry 5 was changed"):
        verify(path)


@pytest.mark.parametrize("at", [19, 20, 24], ids=["its own entry", "the next", "the last"])
def test_what_was_changed_from_the_checkpoint_on_is_found_at_once(tmp_path, at):
    path = long(tmp_path)
    change(path, at)
    with pytest.raises(LedgerError, match=f"entry {at + 1} was changed"):
        Ledger(path)


@pytest.mark.parametrize(
    "content",
    [b"", b"{}", b"\xff", b"[" * 100_000, b'{"version": 9, "number": 20, "hash": "", "start": 0, "tally": {}}']
    + [json.dumps({"number": n, "hash": "0" * 64, "start": s, "tally": {}}).encode() for n in (-1, 3) for s in (0, 9)],
)
def test_a_damaged_checkpoint_is_passed_over_and_told_of_in_the_log(tmp_path, caplog, content):
    path = long(tmp_path)
    checkpoint_path(path).write_bytes(content)
    with caplog.at_level(logging.WARNING, "assistlearn.protocol"):
        Ledger(path)
    assert "verified from its start" in caplog.text
    assert (total(path), verify(path)) == (sum(range(25)), 25)
    assert json.loads(checkpoint_path(path).read_bytes())["number"] == 25


def test_a_checkpoint_of_another_ledger_is_passed_over(tmp_path, caplog):
    path, other = long(tmp_path / "one"), long(tmp_path / "other")
    checkpoint_path(path).write_bytes(checkpoint_path(other).read_bytes())
    with caplog.at_level(logging.WARNING, "assistlearn.protocol"):
        Ledger(path)
    assert "does not fit" in caplog.text


def test_a_missing_checkpoint_loses_no_count(tmp_path):
    path = long(tmp_path)
    checkpoint_path(path).unlink()
    assert total(path) == sum(range(25))
    with pytest.raises(RefusedError):
        Ledger(path).record("received", "clinic", "r1", "align", b"x", Claim(1, at_most(sum(range(25)))))


def test_the_audit_finds_a_checkpoint_whose_totals_were_lowered(tmp_path):
    path = long(tmp_path)
    said = json.loads(checkpoint_path(path).read_bytes())
    said["tally"]["peers"]["clinic"]["units"]["ids"] -= 1
    checkpoint_path(path).write_text(json.dumps(said))
    with pytest.raises(LedgerError, match="differ about entry 20"):
        verify(path)


def test_removing_what_came_after_the_checkpoint_is_found_by_the_head(tmp_path):
    path = long(tmp_path)
    path.write_bytes(b"".join(path.read_bytes().splitlines(keepends=True)[:20]))
    with pytest.raises(LedgerError, match="ends at entry 20"):
        Ledger(path)


def test_a_disk_that_takes_no_checkpoint_stops_nobody(tmp_path, caplog):
    path = tmp_path / "ledger.jsonl"
    checkpoint_path(path).mkdir(parents=True)
    with caplog.at_level(logging.WARNING, "assistlearn.protocol"):
        long(tmp_path)
    assert "cannot be written" in caplog.text
    checkpoint_path(path).rmdir()
    assert verify(path) == 25


# -- what is counted --


def test_a_refused_claim_is_not_written(tmp_path):
    path = long(tmp_path)
    before = path.read_bytes()
    with pytest.raises(RefusedError):
        Ledger(path).record("received", "clinic", "r1", "align", b"x", Claim(5, at_most(sum(range(25)) + 4)))
    assert path.read_bytes() == before
    Ledger(path).record("received", "clinic", "r1", "align", b"x", Claim(4, at_most(sum(range(25)) + 4)))


def test_the_amount_is_part_of_the_chain(tmp_path):
    path = long(tmp_path, 5)
    lines = path.read_bytes().splitlines(keepends=True)
    lines[3] = lines[3].replace(b'"amount": 3', b'"amount": 2')
    path.write_bytes(b"".join(lines))
    with pytest.raises(LedgerError, match="entry 4 was changed"):
        Ledger(path)


def test_a_day_is_counted_by_itself(tmp_path):
    now = DAY
    book = Ledger(tmp_path / "ledger.jsonl", lambda: now)
    for days, content in ((0, b"1"), (0, b"2"), (1, b"3")):
        now = DAY + timedelta(days=days)
        book.record("received", "clinic", "r1", "align", content, Claim(10, anything))
    clinic = counted(book.path).of("clinic")
    assert clinic.used("ids", "all", "", "") == 30
    days = ("2030-05-01", "2030-05-02", "2030-05-03")
    assert [clinic.used("ids", "day", day, "") for day in days] == [0, 10, 0]


REQUESTS = st.lists(
    st.tuples(
        st.sampled_from(["open", "align", "take-turn", "predict", "forget"]),
        st.sampled_from(["clinic", "shop"]),
        st.sampled_from(["r1", "r2"]),
        st.integers(0, 3),
    ),
    max_size=40,
)


@given(REQUESTS, st.integers(1, 7))
@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_restarts_checkpoints_and_two_writers_change_no_count(tmp_path, requests, every):
    """The counts are what the amounts of the entries add up to, however the ledger was opened in between."""
    path = tmp_path / "ledger.jsonl"
    for old in tmp_path.glob("*ledger.jsonl*"):
        old.unlink()
    books = [Ledger(path), Ledger(path)]
    for place, (type_, peer, run, amount) in enumerate(requests):
        if place % every == 0:
            books[place % 2] = Ledger(path)
        turn = amount if type_ == "take-turn" else None
        books[place % 2].record("received", peer, run, type_, b"%d" % amount, Claim(amount, anything, turn))
    entries = list(read(path))
    for peer in ("clinic", "shop"):
        count = counted(path).of(peer)
        for type_, unit in (("open", "runs"), ("align", "ids"), ("take-turn", "turns"), ("predict", "votes")):
            added = sum(entry.amount or 0 for entry in entries if (entry.peer, entry.type) == (peer, type_))
            assert count.used(unit, "all", "", "") == added
    assert verify(path) == len(requests)
