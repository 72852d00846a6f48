"""A ledger finds every change to it, survives crashes, and is shared by the processes of one agent."""

from __future__ import annotations

import hashlib
import json
from dataclasses import asdict
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import get_args

import msgspec
import pytest
from hypothesis import HealthCheck, assume, example, given, settings
from hypothesis import strategies as st

from assistlearn.errors import LedgerError
from assistlearn.protocol import Ledger
from assistlearn.protocol.ledger import FIRST, Decision, OwnersAnswer, read, verify
from tests.forked_agents import forks
from tests.reach.small_disk import small_disk

START = datetime(2026, 1, 2, 3, 4, 5, 678_000, tzinfo=UTC)
shared_folder = settings(max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture])


class Clock:
    """Time that passes a second with every look at it."""

    def __init__(self) -> None:
        self._now = START

    def __call__(self) -> datetime:
        self._now += timedelta(seconds=1)
        return self._now


def written(folder: Path, n_entries: int) -> Path:
    """A ledger of so many entries, fresh in this folder."""
    path = folder / "ledger.jsonl"
    for old in folder.glob("ledger.jsonl*"):
        old.unlink()
    ledger = Ledger(path, Clock())
    for number in range(n_entries):
        direction = "sent" if number % 2 else "received"
        ledger.record(direction, "clinic", "run-é", "take-turn", b"content %d" % number)
    return path


def lines(path: Path) -> list[bytes]:
    return path.read_bytes().splitlines(keepends=True)


def head(path: Path) -> Path:
    return path.with_name("ledger.jsonl.head")


# -- what is written --


def test_an_entry_says_when_who_what_how_much_and_which(tmp_path):
    ledger = Ledger(tmp_path / "ledger.jsonl", Clock())
    entry = ledger.record("sent", "clinic", "r1", "turn-taken", b"content")
    assert asdict(entry) == {
        "number": 1,
        "time": "2026-01-02T03:04:06.678+00:00",
        "direction": "sent",
        "peer": "clinic",
        "run": "r1",
        "type": "turn-taken",
        "bytes": 7,
        "digest": hashlib.sha256(b"content").hexdigest(),
        "previous": FIRST,
        "hash": entry.hash,
        "amount": None,
        "turn": None,
        "decision": None,
        "told": None,
        "counts": None,
    }
    assert list(read(ledger.path)) == [entry]
    assert b"content" not in ledger.path.read_bytes()


def test_the_chain_can_be_checked_without_this_package(tmp_path):
    previous = "0" * 64
    for line in lines(written(tmp_path, 5)):
        facts = json.loads(line)
        stated = facts.pop("hash")
        assert facts["previous"] == previous
        text = json.dumps(facts, sort_keys=True, ensure_ascii=False)
        assert hashlib.sha256(text.encode()).hexdigest() == stated
        previous = stated
    assert head(tmp_path / "ledger.jsonl").read_text() == f"5 {previous}\n"


@pytest.mark.parametrize("n_entries", [0, 1, 2, 7])
def test_an_untouched_ledger_is_whole(tmp_path, n_entries):
    assert verify(written(tmp_path, n_entries)) == n_entries


def test_a_ledger_is_gone_on_with_after_a_restart(tmp_path):
    path = written(tmp_path, 3)
    Ledger(path, Clock()).record("sent", "clinic", "r1", "ended", b"x")
    Ledger(path, Clock()).record("sent", "clinic", "r1", "scores", b"y")
    assert verify(path) == 5


@given(st.text(max_size=30), st.text(max_size=30), st.binary(max_size=30))
@shared_folder
def test_no_name_of_a_peer_or_run_breaks_the_ledger(tmp_path, peer, run, content):
    path = written(tmp_path, 1)
    Ledger(path).record("received", peer, run, "open", content)
    assert verify(path) == 2
    assert [(entry.peer, entry.run) for entry in read(path)][1:] == [(peer, run)]


# -- what is found --


def refused(path: Path) -> None:
    """Neither the audit nor the agent itself accepts the ledger."""
    with pytest.raises(LedgerError):
        verify(path)
    before = path.read_bytes()
    with pytest.raises(LedgerError):
        Ledger(path)
    assert path.read_bytes() == before


@given(st.data())
@shared_folder
def test_every_changed_byte_is_found(tmp_path, data):
    path = written(tmp_path, 4)
    content = bytearray(path.read_bytes())
    at = data.draw(st.integers(0, len(content) - 2))  # the last line end is another matter: see the torn lines below
    content[at] ^= 1 << data.draw(st.integers(0, 7))
    path.write_bytes(content)
    refused(path)


@given(st.data())
@shared_folder
def test_every_changed_value_is_found_even_if_its_own_hash_is_made_to_fit(tmp_path, data):
    path = written(tmp_path, 4)
    all_lines = lines(path)
    at = data.draw(st.integers(0, 3))
    facts = json.loads(all_lines[at])
    field = data.draw(st.sampled_from(sorted(set(facts) - {"hash"})))
    facts[field] = facts[field] + 1 if isinstance(facts[field], int) else facts[field] + "x"
    if data.draw(st.booleans()):
        facts.pop("hash")
        facts["hash"] = hashlib.sha256(json.dumps(facts, sort_keys=True, ensure_ascii=False).encode()).hexdigest()
    all_lines[at] = (json.dumps(facts, ensure_ascii=False) + "\n").encode()
    path.write_bytes(b"".join(all_lines))
    refused(path)


@given(st.lists(st.integers(0, 4), max_size=7) | st.permutations(range(5)))
@shared_folder
@example([0, 1, 2, 3])
@example([1, 2, 3, 4])
@example([0, 1, 2, 3, 4, 4])
@example([0, 1, 3, 2, 4])
def test_removed_repeated_and_swapped_entries_are_found_wherever_they_were(tmp_path, order):
    assume(order != list(range(5)))
    path = written(tmp_path, 5)
    all_lines = lines(path)
    path.write_bytes(b"".join(all_lines[at] for at in order))
    refused(path)


def test_entries_that_were_added_behind_the_head_are_found(tmp_path):
    path = written(tmp_path, 5)
    stale = head(path).read_bytes()
    ledger = Ledger(path)
    ledger.record("sent", "clinic", "r1", "ended", b"1")
    ledger.record("sent", "clinic", "r1", "ended", b"2")
    head(path).write_bytes(stale)
    refused(path)


def test_a_ledger_whose_head_is_missing_is_refused(tmp_path):
    for n_entries in (1, 2, 5):
        path = written(tmp_path, n_entries)
        head(path).unlink()
        refused(path)


def test_a_ledger_that_was_removed_but_for_its_head_is_found(tmp_path):
    path = written(tmp_path, 3)
    path.unlink()
    with pytest.raises(LedgerError, match=r"ends at entry 0, but ledger\.jsonl\.head says '3'"):
        Ledger(path)


@pytest.mark.parametrize(
    "content",
    [b"", b"5", b"5 \n", b"x y\n", b"-1 " + b"0" * 64, b"\xff\xfe", "² ".encode() + b"0" * 64, b"9" * 5_000, b"4 \n"],
)
def test_a_damaged_head_is_refused(tmp_path, content):
    path = written(tmp_path, 5)
    head(path).write_bytes(content)
    refused(path)


@pytest.mark.parametrize(
    "line", [b"\n", b"null\n", b"[1]\n", b"{}\n", b"\xff\n", b"[" * 100_000 + b"\n", b'{"number": 1}\n']
)
@pytest.mark.parametrize("at", [0, 1, 3])
def test_a_line_that_is_no_entry_is_refused(tmp_path, line, at):
    path = written(tmp_path, 3)
    all_lines = lines(path)
    all_lines.insert(at, line)
    path.write_bytes(b"".join(all_lines))
    refused(path)


def test_a_removal_under_a_running_agent_is_found_at_its_next_message(tmp_path):
    ledger = Ledger(tmp_path / "ledger.jsonl")
    for number in range(3):
        ledger.record("sent", "clinic", "r1", "ended", b"%d" % number)
    ledger.path.write_bytes(b"".join(lines(ledger.path)[:-1]))
    with pytest.raises(LedgerError, match="has shrunk"):
        ledger.record("sent", "clinic", "r1", "ended", b"3")


# -- crashes --


@given(st.integers(0, 4), st.data())
@shared_folder
def test_a_last_line_that_a_crash_cut_short_is_mended(tmp_path, n_entries, data):
    path = written(tmp_path, n_entries)
    whole, head_before = path.read_bytes(), head(path).read_bytes()
    Ledger(path, Clock()).record("sent", "clinic", "r1", "ended", b"never sent")
    line = lines(path)[-1]
    path.write_bytes(whole + line[: data.draw(st.integers(0, len(line) - 1))])
    head(path).write_bytes(head_before)
    Ledger(path, Clock())
    assert path.read_bytes() == whole
    Ledger(path, Clock()).record("sent", "clinic", "r1", "ended", b"sent again")
    assert verify(path) == n_entries + 1


@pytest.mark.parametrize("n_entries", [0, 1, 4])
def test_a_head_that_is_one_behind_is_accepted_and_brought_up_to_date(tmp_path, n_entries):
    path = written(tmp_path, n_entries)
    head_before = head(path).read_bytes()
    Ledger(path, Clock()).record("sent", "clinic", "r1", "ended", b"x")
    head(path).write_bytes(head_before)  # a crash between the entry and the head
    assert verify(path) == n_entries + 1
    Ledger(path, Clock()).record("sent", "clinic", "r1", "ended", b"y")
    assert verify(path) == n_entries + 2
    assert head(path).read_text().startswith(f"{n_entries + 2} ")


def test_a_full_disk_leaves_a_ledger_that_can_be_gone_on_with(tmp_path):
    """As if a line had been written in part and the write had failed, in a process that lives on."""
    ledger = Ledger(tmp_path / "ledger.jsonl")
    ledger.record("sent", "clinic", "r1", "ended", b"0")
    with ledger.path.open("ab") as file:
        file.write(b'{"number": 2, "time"')
    ledger.record("sent", "clinic", "r1", "ended", b"1")
    assert verify(ledger.path) == 2


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


# -- several processes --


def test_two_writers_of_one_ledger_do_not_break_the_chain(tmp_path):
    one, two = (Ledger(tmp_path / "ledger.jsonl") for _ in range(2))
    for number in range(6):
        (one, two)[number % 3 == 0].record("sent", "clinic", "r1", "ended", b"%d" % number)
    assert verify(one.path) == 6


def write_many(path: Path, n_entries: int) -> None:
    ledger = Ledger(path)
    for number in range(n_entries):
        ledger.record("sent", "clinic", "r1", "ended", b"%d" % number)


def test_processes_that_write_at_the_same_time_wait_for_each_other(tmp_path):
    path = tmp_path / "ledger.jsonl"
    writers = [forks().Process(target=write_many, args=(path, 20)) for _ in range(3)]
    for writer in writers:
        writer.start()
    for writer in writers:
        writer.join()
    assert [writer.exitcode for writer in writers] == [0, 0, 0]
    assert verify(path) == 60


# -- entries that another one makes last --


def stated(path: Path) -> int:
    """The entry that the head names."""
    return int(head(path).read_text().split()[0])


def with_one_that_need_not_last(folder: Path) -> tuple[Ledger, Path]:
    ledger = Ledger(folder / "ledger.jsonl")
    ledger.record("sent", "lab", "r", "predict", b"1")
    ledger.record("received", "lab", "r", "scores", b"2", lasting=False)
    return ledger, ledger.path


def test_an_entry_that_need_not_last_is_read_at_once_and_lasts_with_the_next(tmp_path):
    ledger, path = with_one_that_need_not_last(tmp_path)
    assert (len(lines(path)), stated(path)) == (2, 1)
    assert verify(path) == 2
    ledger.record("sent", "lab", "r", "predict", b"3")
    assert (len(lines(path)), stated(path)) == (3, 3)


def test_the_head_is_never_more_than_one_entry_behind(tmp_path):
    path = tmp_path / "ledger.jsonl"
    ledger, other = Ledger(path), Ledger(path)
    for number in range(12):
        (ledger if number % 5 else other).record("received", "lab", "r", "scores", b"%d" % number, lasting=False)
        assert len(lines(path)) - stated(path) <= 1
        verify(path)
    Ledger(path)


def test_to_settle_makes_every_entry_last(tmp_path):
    ledger, path = with_one_that_need_not_last(tmp_path)
    ledger.settle()
    assert stated(path) == 2
    before = head(path).stat().st_mtime_ns
    ledger.settle()
    assert head(path).stat().st_mtime_ns == before


def test_a_crash_before_the_head_is_written_leaves_a_ledger_that_can_be_gone_on_with(tmp_path, monkeypatch):
    ledger, path = with_one_that_need_not_last(tmp_path)
    with monkeypatch.context() as crashing:
        crashing.setattr("assistlearn.protocol.ledger._write_head", _crash)
        with pytest.raises(KeyboardInterrupt):
            ledger.record("sent", "lab", "r", "predict", b"3")
    assert (len(lines(path)), stated(path)) == (3, 1)
    assert verify(path) == 3
    Ledger(path).record("sent", "lab", "r", "predict", b"4")
    assert (verify(path), stated(path)) == (4, 4)


def test_only_what_was_received_is_left_to_the_next_entry(tmp_path):
    path = tmp_path / "ledger.jsonl"
    Ledger(path).record("sent", "lab", "r", "predict", b"1", lasting=False)
    assert stated(path) == 1


def _crash(*arguments):
    raise KeyboardInterrupt


@shared_folder
@given(lasting=st.lists(st.booleans(), min_size=1, max_size=12), cut=st.integers(0, 400))
def test_a_power_cut_loses_nothing_that_was_to_last(tmp_path, lasting, cut):
    """What is on disk for sure is all up to the last entry that lasts; of the rest, any part may be missing."""
    path = written(tmp_path, 0)
    ledger = Ledger(path)
    sure = 0
    for number, last in enumerate(lasting):
        ledger.record("received", "lab", "r", "predict", b"%d" % number, lasting=last)
        if stated(path) == number + 1:
            sure = path.stat().st_size
    n_sure = len(path.read_bytes()[:sure].splitlines())
    path.write_bytes(path.read_bytes()[: max(sure, path.stat().st_size - cut)])
    Ledger(path)
    assert n_sure <= verify(path) <= len(lasting)
    assert n_sure >= max((place + 1 for place, last in enumerate(lasting) if last), default=0)


# -- what an owner has decided: only a yes can end --

BEFORE, END = datetime(2026, 11, 15, 23, 59, tzinfo=UTC), datetime(2026, 11, 16, tzinfo=UTC)


def decided(answer: OwnersAnswer, until: str = "") -> Decision:
    said = {"initiator": "clinic", "purpose": "pilot", "proof": "nothing", "by": "owner", "time": "", "since": ""}
    return msgspec.convert({"request": "0123456789ab", "answer": answer, "until": until} | said, Decision)


def test_a_yes_holds_until_its_time_is_over():
    yes = decided("approved", END.isoformat())
    assert (yes.holds(BEFORE), yes.ended(BEFORE)) == (True, False)
    assert (yes.holds(END), yes.ended(END)) == (False, True)


def test_a_yes_without_a_time_holds_for_ever():
    yes = decided("approved")
    assert (yes.holds(END), yes.ended(END)) == (True, False)


@pytest.mark.parametrize("until", ["", END.isoformat()])
@pytest.mark.parametrize("answer", [each for each in get_args(OwnersAnswer) if each != "approved"])
def test_a_no_never_holds_and_never_ends(answer, until):
    """If it ended, the initiator could ask again. The program gives a no no time; a ledger may come from elsewhere."""
    no = decided(answer, until)
    assert (no.holds(END), no.ended(END)) == (False, False)
