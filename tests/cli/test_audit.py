"""The audit knows every kind of message, and tells a ledger that was removed from one that was never written."""

from __future__ import annotations

from assistlearn.cli.audit import WORDS
from assistlearn.protocol import Ledger
from assistlearn.protocol import messages as m
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
    assistlearn("audit", agents[1]).failed(4, "ledger.jsonl is not there", "it was removed")


def test_a_path_that_leads_nowhere_is_no_removed_ledger(tmp_path):
    assistlearn("audit", tmp_path / "ledger.jsonl").failed(2, "There is no ledger")


def test_what_was_turned_away_is_shown_by_itself(agents):
    ledger = Ledger(agents[1].parent / "lab-models" / "ledger.jsonl")
    ledger.record("refused", "shop", "", "FLARE admin/sys.shell", b"cat shared.key")
    words = " ".join(assistlearn("audit", agents[1]).out.split())
    assert "What was turned away at the door: 14 bytes in 1 message" in words
    refused = assistlearn("audit", agents[1], "--json").json["totals"]
    assert [(row["direction"], row["peer"], row["type"]) for row in refused] == [
        ("refused", "shop", "FLARE admin/sys.shell")
    ]
