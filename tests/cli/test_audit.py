"""The audit knows every kind of message, and tells a ledger that was removed from one that was never written."""

from __future__ import annotations

from assistlearn.protocol import Ledger
from assistlearn.protocol import messages as m
from assistlearn.protocol.ledger import Claim
from assistlearn.report.story import WORDS
from tests.cli.program import assistlearn


def test_every_kind_of_message_has_words():
    kinds = {str(kind.__struct_config__.tag) for kind in (*m.REQUESTS, *m.REPLIES)}
    assert WORDS.keys() == kinds | {"unreadable"}


def test_an_agent_that_has_not_spoken_has_nothing_to_tell(agents):
    said = assistlearn("audit", agents[1])
    assert said.code == 0
    assert said.out == "No message has left this organisation or come in.\n"
    assert assistlearn("audit", agents[1], "--json").json["totals"] == []


def test_a_ledger_that_was_removed_is_missed(agents):
    opened = agents[1].parent / "lab-models" / "runs" / "first" / "opened.json"
    opened.parent.mkdir(parents=True)
    opened.write_text("{}")
    assistlearn("audit", agents[1]).failed(4, "ledger.jsonl is missing", "it was removed")


def test_a_path_that_leads_nowhere_is_no_removed_ledger(tmp_path):
    assistlearn("audit", tmp_path / "ledger.jsonl").failed(2, "There is no ledger")


def test_what_was_turned_away_is_shown_by_itself(agents):
    ledger = Ledger(agents[1].parent / "lab-models" / "ledger.jsonl")
    ledger.record("refused", "shop", "", "FLARE admin/sys.shell", b"cat shared.key")
    words = " ".join(assistlearn("audit", agents[1]).out.split())
    assert "What was refused unread: 14 bytes in 1 message" in words
    refused = assistlearn("audit", agents[1], "--json").json["totals"]
    assert [(row["direction"], row["peer"], row["type"]) for row in refused] == [
        ("refused", "shop", "FLARE admin/sys.shell")
    ]


def test_what_is_used_of_the_limits_is_shown_with_forgotten_runs_in_it(agents):
    agents[1].write_text(
        agents[1].read_text() + '[allow]\ninitiators = ["clinic"]\nmax_runs = 3\nmax_ids_a_day = "none"\n'
    )
    ledger = Ledger(agents[1].parent / "lab-models" / "ledger.jsonl")
    for run in ("first", "second"):
        ledger.record("received", "clinic", run, "open", run.encode(), Claim(1, lambda *_: None))
        ledger.record("received", "clinic", run, "forget", b"", Claim(0, lambda *_: None))
    assert assistlearn("audit", agents[1], "--json").json["counted"] == {
        "clinic": {"runs": 2, "turns": 0, "ids": 0, "votes": 0, "bits": 0}
    }
    assert "Counted for clinic, since the first run: 2 runs, 0 turns" in assistlearn("audit", agents[1]).out
    limits = assistlearn("check", agents[1], "--json").json["limits"]
    [runs] = [row for row in limits if row["key"] == "allow.max_runs"]
    assert (runs["initiator"], runs["spent"], runs["allowed"], runs["left"]) == ("clinic", 2, 3, 1)
    assert "allow.max_ids_a_day" not in {row["key"] for row in limits}
    of_one_run = {row["key"]: row["allowed"] for row in limits if row["initiator"] is None}
    assert of_one_run == {"allow.max_turns": 100, "allow.max_samples": None, "allow.min_people": 20}
    assert "What remains of the limits" in assistlearn("check", agents[1]).out


def test_a_ledgers_words_reach_no_terminal_as_commands(agents):
    ledger = Ledger(agents[1].parent / "lab-models" / "ledger.jsonl")
    ledger.record("received", "shop\x1b[2J", "run\x1b]0;x\x07", "open", b"x")
    assert "\x1b" not in assistlearn("audit", agents[1]).out
