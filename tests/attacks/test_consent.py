"""Requests for consent are read by people: they can be many, long, strange or false, and let nobody in by that."""

from __future__ import annotations

import os
from datetime import UTC, datetime, timedelta
from pathlib import Path

import msgspec
import pytest

from assistlearn.agent import consent as permission
from assistlearn.agent.consent import MOST, MOST_OF_ONE
from assistlearn.agent.file import Allowance
from assistlearn.agent.store import runs_at
from assistlearn.protocol import decode, encode
from assistlearn.protocol import messages as m
from assistlearn.protocol.codec import mixed_scripts
from assistlearn.protocol.ledger import request_number, verify
from tests.agent.owned_lab import BANK, SHOP, Lab, opening, refused
from tests.attacks.attack import attack
from tests.cli.program import assistlearn
from tests.cli.small_agents import SECRET, toml

HOSPITAL = Allowance(("hospital",))
PROPOSAL = m.Propose(run="r", initiator=BANK, purpose="a test", method="ascii", n_samples=60, n_rounds=5)


@pytest.fixture
def lab(tmp_path: Path) -> Lab:
    return Lab(tmp_path / "lab-models", HOSPITAL)


def approve(lab: Lab, number: str) -> None:
    lab.inbox().approve(lab.inbox().find(number), "Ada")


def waiting(lab: Lab) -> list[str]:
    return [each.initiator for each in lab.inbox().requests()[0] if each.state == "waiting"]


def size(home: Path) -> int:
    return sum(path.stat().st_size for path in (home / "requests").iterdir())


@attack(
    "initiator",
    "asks for consent under ever other purposes, to fill the owner's inbox and disk",
    "eight wait, all others are refused; those of others still find room",
)
def test_one_initiator_cannot_fill_the_inbox(lab):
    first = lab.propose(SHOP)
    states = [type(lab.propose(BANK, purpose=f"{number} " + "é" * 990)) for number in range(30)]
    assert states.count(m.Consent) == MOST_OF_ONE
    refused(lab.propose(BANK, purpose="one more"), "8 requests of 'bank' already wait")
    assert lab.propose("charity").state == "waiting"
    assert lab.propose(SHOP) == first
    assert size(lab.home) < 40_000


@attack(
    "member",
    "asks for consent under hundreds of names, to push out requests of others or fill a disk",
    "64 wait, half as many whose name nothing proves; no request that waits makes room for another",
)
def test_many_names_push_nobody_out(lab):
    lab.propose(SHOP)
    for number in range(MOST // 2 + 5):
        lab.propose(None, initiator=f"nobody-{number}")
    assert len(waiting(lab)) == MOST // 2 + 1
    for number in range(MOST // 2 + 5):
        lab.propose(f"member-{number}")
    assert len(waiting(lab)) == MOST
    assert SHOP in waiting(lab)
    refused(lab.propose("late"), "already wait for its owner's consent")
    lab.now = datetime.now(UTC) + timedelta(days=15)
    assert lab.propose("late").state == "waiting"
    assert len(list((lab.home / "requests").glob("*.json"))) == MOST
    verify(lab.home / "ledger.jsonl")


@attack(
    "initiator",
    "states a purpose with terminal escapes, line ends or marks that turn text around, for the owner to read",
    "refused as no message; the inbox has nothing of it",
)
@pytest.mark.parametrize("strange", ["\x1b[2J", "\n7f3a  approved", "\r", "\x00", "\u202e", "\u2028", "\x9b31m"])
def test_nothing_that_a_terminal_obeys_gets_into_the_inbox(lab, strange):
    for said in ({"purpose": f"a test{strange}"}, {"method": f"soft{strange}"}):
        assert lab.propose(**said).kind == "malformed"
    assert lab.propose(BANK + strange).kind == "malformed"
    assert not (lab.home / "requests").exists()


@attack(
    "initiator",
    "asks for consent with a purpose, a method or numbers that are too long or cannot be",
    "refused as no message",
)
def test_what_is_too_long_or_cannot_be_is_refused(lab):
    for said in ({"purpose": "x" * 1_001}, {"method": "x" * 81}, {"n_samples": -1}, {"n_rounds": 2**60}):
        assert lab.propose(**said).kind == "malformed"
    large = encode(msgspec.structs.replace(PROPOSAL, purpose="x" * 70_000))
    assert "at most 65,536 bytes are accepted" in lab.ask(large).text
    assert not (lab.home / "requests").exists()


@attack(
    "initiator",
    "asks under a name, or for a purpose, that looks like an approved one",
    "it waits as another request, with the strange letters spelled out",
)
def test_look_alikes_are_other_requests_and_are_spelled_out(tmp_path):
    (tmp_path / "lab.toml").write_text(toml("lab", SECRET + '[allow]\ninitiators = ["hospital"]\n'))
    lab = Lab(tmp_path / "lab-models", HOSPITAL)
    approve(lab, lab.propose(purpose="credit").request)
    alike = "b\u0430nk"
    assert lab.propose(alike, purpose="credit").state == "waiting"
    assert lab.propose(purpose="cr\u0435dit").state == "waiting"
    refused(lab.open("r2", alike), r"b\u0430nk")
    shown = assistlearn("requests", tmp_path / "lab.toml")
    assert shown.code == 0
    assert r"letters of several scripts: b\u0430nk" in shown.out
    assert r"letters of several scripts: cr\u0435dit" in shown.out
    assert mixed_scripts("Früherkennung für Zürich, 2030") == ""


@attack(
    "member",
    "claims the name of an initiator that was approved",
    "refused: the certificate says who asks, and consent to a proved name is none to an unproved one",
)
def test_an_approved_name_is_no_use_to_others(lab):
    approve(lab, lab.propose().request)
    refused(lab.ask(opening(), SHOP), "'shop' has no part in it")
    refused(lab.propose(SHOP, initiator=BANK), "'shop' has no part in it")
    refused(lab.ask(opening(), None), "does not work for 'bank'")
    assert lab.propose(None).state == "waiting"
    assert runs_at(lab.home) == []
    assert isinstance(lab.open(), m.Opened)


@attack(
    "local process",
    "gets consent for a name that nothing proves, to be let in over the network",
    "refused: such consent is for processes of that machine alone",
)
def test_consent_to_an_unproved_name_is_none_to_a_certificate(lab):
    approve(lab, lab.propose(None).request)
    refused(lab.open(), "does not work for 'bank'")
    assert isinstance(lab.ask(opening(), None), m.Opened)


@attack(
    "initiator",
    "sends a request for consent again that was rejected, to make it wait anew",
    "it hears the same answer; nothing waits",
)
def test_a_replayed_request_changes_nothing(lab):
    request = encode(PROPOSAL)
    number = decode(lab.service.answer(request, BANK)).request
    lab.inbox().reject(lab.inbox().find(number), "Ada", "no")
    for _ in range(20):
        assert decode(lab.service.answer(request, BANK)).state == "rejected"
    assert waiting(lab) == []
    assert list((lab.home / "requests").glob("*.json")) == []


@attack(
    "initiator",
    "gets consent for one purpose, and changes it in the middle of the run",
    "refused: a run has the purpose that it was opened with, and consent is looked up before every answer",
)
def test_the_purpose_cannot_change_after_consent(lab):
    approve(lab, lab.propose().request)
    lab.ready()
    assert lab.ask(opening(purpose="marketing")).kind == "out-of-order"
    refused(lab.ask(opening("r2", purpose="marketing")), "does not work for 'bank'")
    assert lab.propose(purpose="marketing").state == "waiting"
    assert isinstance(lab.take(1), m.TurnTaken)


@attack(
    "initiator",
    "finds a purpose whose request has the number of one that was approved",
    "refused: the ledger has whom and what for in full, and these are compared",
)
def test_a_number_alone_proves_nothing(lab, monkeypatch):
    approve(lab, lab.propose().request)
    same = request_number(BANK, "a test", "certificate")
    monkeypatch.setattr(permission, "request_number", lambda *named: same)
    refused(lab.ask(opening("r2", purpose="marketing")), "does not work for 'bank'")
    refused(lab.open("r3", SHOP), "does not work for 'shop'")


JUNK = {
    "junk": b"\xff\x00\x1b[2J",
    "no JSON": b"{",
    "a list": b"[]",
    "nothing": b"",
    "deep": b"[" * 100_000,
    "large": b" " * 1_000_000,
}


@attack(
    "local process",
    "spoils a file of the owner's inbox: junk, no JSON, too large, a link to another file",
    "the file is named; it lets nobody in, other requests stay, and no decision is lost",
)
@pytest.mark.parametrize("what", [*JUNK, "a link", "a folder", "another's request"])
def test_a_spoiled_file_is_named_and_loses_nothing(tmp_path, what, caplog):
    caplog.set_level("CRITICAL", "assistlearn.agent")
    file = tmp_path / "lab.toml"
    file.write_text(toml("lab", SECRET + '[allow]\ninitiators = ["hospital"]\n'))
    lab = Lab(tmp_path / "lab-models", HOSPITAL)
    approve(lab, lab.propose(purpose="approved").request)
    lab.propose(SHOP)
    path = lab.home / "requests" / f"{lab.propose().request}.json"
    path.unlink()
    if what == "a link":
        (tmp_path / "elsewhere.json").write_text("{}")
        path.symlink_to(tmp_path / "elsewhere.json")
    elif what == "a folder":
        path.mkdir()
    elif what == "another's request":
        os.link(next((lab.home / "requests").glob("*.json")), path)
    else:
        path.write_bytes(JUNK[what])
    listed = assistlearn("requests", file, "--json")
    assert listed.code == 2
    assert [(each["initiator"], each["state"]) for each in listed.json["requests"]] == [
        (BANK, "approved"),
        (SHOP, "waiting"),
    ]
    assert str(path) in listed.json["damaged"][0]
    shown = assistlearn("requests", file)
    assert shown.code == 2
    assert str(path) in shown.err
    assert "\x1b[2J" not in shown.out + shown.err
    assert lab.propose().kind == "failed"
    assert lab.open().kind == "refused"
    assert lab.propose("charity").state == "waiting"
    assert isinstance(lab.ask(opening("r2", purpose="approved")), m.Opened)
