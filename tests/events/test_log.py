"""Facts are written down as they happen, and read back whatever a crash has left."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from dataclasses import fields
from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from assistlearn.core import Contribution
from assistlearn.errors import RunError
from assistlearn.events import (
    Answered,
    Event,
    EventLog,
    Predicted,
    RoundFinished,
    RunFinished,
    StopReason,
    TroubleMet,
    TurnFinished,
    UnknownEvent,
    read,
)

MADE = Contribution(1, 1, "lab", 0.7, 0.8, 0.9, False)
FACTS = [
    Answered("lab", "turn-taken", 120, 0.25),
    TurnFinished(1, 1, "lab", 0.7, 0.8, MADE),
    TurnFinished(2, 1, "scans", -0.1, 0.2, None),
    RoundFinished(1, None),
    RoundFinished(2, 0.5),
    RunFinished(StopReason.ALL_ROUNDS_DONE, 2),
    Predicted(3, 1, {"lab": 2}, {"scans": "gone, for good: 'ü'"}),
]


def test_what_is_written_is_read_back_with_its_time(tmp_path):
    moment = datetime(2030, 5, 17, 12, 30, 15, 250_000, tzinfo=UTC)
    log = EventLog(tmp_path / "events.jsonl", clock=lambda: moment)
    for fact in FACTS:
        log.append(fact)
    found = list(read(tmp_path / "events.jsonl"))
    assert [recorded.event for recorded in found] == FACTS
    assert {recorded.time for recorded in found} == {moment}


def test_a_fact_is_on_disk_before_anybody_hears_of_it(tmp_path):
    path = tmp_path / "events.jsonl"
    log = EventLog(path)
    heard = []
    log.listen(lambda event: heard.append((event, [r.event for r in read(path)][-1])))
    for fact in FACTS:
        log.append(fact)
    assert heard == [(fact, fact) for fact in FACTS]


@given(cut=st.integers(min_value=1, max_value=60))
def test_a_line_that_a_crash_cut_short_is_passed_over_and_replaced(tmp_path_factory, cut):
    path = tmp_path_factory.mktemp("log") / "events.jsonl"
    log = EventLog(path)
    for fact in FACTS[:3]:
        log.append(fact)
    content = path.read_bytes()
    last = content.splitlines(keepends=True)[-1]
    path.write_bytes(content[: -min(cut, len(last))])
    assert [r.event for r in read(path)] == FACTS[:2]
    log.append(FACTS[3])
    assert [r.event for r in read(path)] == [*FACTS[:2], FACTS[3]]


def test_following_a_log_yields_what_is_appended_meanwhile(tmp_path):
    path = tmp_path / "events.jsonl"
    log = EventLog(path)
    coming = iter(FACTS)

    def wait() -> bool:
        following = next(coming, None)
        if following is not None:
            log.append(following)
        return following is not None

    assert [r.event for r in read(path, wait)] == FACTS


def test_half_a_line_is_not_read_until_its_end_has_come(tmp_path):
    path = tmp_path / "events.jsonl"
    EventLog(path).append(FACTS[0])
    whole = path.read_bytes()
    path.write_bytes(whole[:30])
    rest = iter([lambda: path.write_bytes(whole), None])

    def wait() -> bool:
        come = next(rest)
        if come is not None:
            come()
        return come is not None

    assert [r.event for r in read(path, wait)] == FACTS[:1]


def test_a_damaged_line_in_the_middle_is_named(tmp_path):
    path = tmp_path / "events.jsonl"
    for fact in FACTS[:3]:
        EventLog(path).append(fact)
    lines = path.read_text().splitlines()
    path.write_text("\n".join([lines[0], lines[1][:-5], lines[2]]) + "\n")
    with pytest.raises(RunError, match=r"events\.jsonl, line 2"):
        list(read(path))


def test_a_fact_of_another_release_is_not_lost(tmp_path):
    path = tmp_path / "events.jsonl"
    path.write_text(json.dumps({"time": "2030-01-31T09:00:00+00:00", "event": "Regressed", "by": 3}) + "\n")
    assert [r.event for r in read(path)] == [UnknownEvent("Regressed", {"by": 3})]


def test_no_fact_has_room_for_a_table_or_a_model():
    """What a fact may hold: words, numbers, and counts by agent; nothing per sample."""
    allowed = {"str", "int", "float", "float | None", "bool", "Contribution | None", "StopReason", "list[str]"}
    allowed |= {"dict[str, int]", "dict[str, float]", "dict[str, str]"}
    allowed |= {"dict[str, float | None]", "dict[str, dict[str, float] | None]"}  # by metric
    for kind in set(Event.kinds.values()) - {UnknownEvent}:
        for field in fields(kind):
            assert field.type in allowed, f"{kind.__name__}.{field.name}"


def test_a_damaged_line_may_be_passed_over_by_whoever_only_counts(tmp_path):
    path = tmp_path / "events.jsonl"
    for fact in FACTS[:2]:
        EventLog(path).append(fact)
    with path.open("ab") as file:
        file.write(b"\0\0\0\0\n")
    EventLog(path).append(FACTS[3])
    assert [r.event for r in read(path, strict=False)] == [*FACTS[:2], UnknownEvent("damaged"), FACTS[3]]


APPEND = """
import sys
from pathlib import Path
from assistlearn.events import EventLog, TroubleMet
log = EventLog(Path(sys.argv[1]))
for number in range(200):
    log.append(TroubleMet(f"{sys.argv[2]} {number} " + "x" * 20_000))
"""


def test_processes_that_append_at_the_same_time_lose_nothing(tmp_path):
    path = tmp_path / "events.jsonl"
    writers = [subprocess.Popen([sys.executable, "-c", APPEND, str(path), name]) for name in "ab"]
    assert [writer.wait(60) for writer in writers] == [0, 0]
    said = [r.event.words.split()[:2] for r in read(path)]
    for name in "ab":
        assert [number for who, number in said if who == name] == [str(number) for number in range(200)]


def test_a_log_that_cannot_be_written_is_complained_of_once_and_stops_nobody(tmp_path, monkeypatch):
    path = tmp_path / "events.jsonl"
    monkeypatch.setattr("assistlearn.events.appending", _on_a_full_disk)
    log, heard = EventLog(path), []
    log.listen(heard.append)
    for fact in FACTS[:3]:
        log.append(fact)
    assert [fact for fact in heard if not isinstance(fact, TroubleMet)] == FACTS[:3]
    (trouble,) = [fact for fact in heard if isinstance(fact, TroubleMet)]
    assert str(path) in trouble.words
    assert "No space left" in trouble.words


def _on_a_full_disk(path):
    return os.fdopen(os.open("/dev/full", os.O_RDWR), "r+b")
