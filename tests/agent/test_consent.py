"""An owner's consent: whoever is not named in ``[allow]`` waits for it, and nothing is told or computed before."""

from __future__ import annotations

import json
import os
import signal
import time
from datetime import UTC, date, datetime, timedelta
from pathlib import Path

import pytest

from assistlearn.agent.consent import Inbox
from assistlearn.agent.file import Allowance
from assistlearn.agent.service import SMALL
from assistlearn.errors import LedgerError, RequestsError, SettingsError
from assistlearn.protocol import messages as m
from assistlearn.protocol.ledger import read, verify
from tests.agent.owned_lab import BANK, PEOPLE, SHOP, Lab, opening, refused
from tests.forked_agents import forks

NOON = datetime(2030, 6, 1, 12, tzinfo=UTC)


@pytest.fixture
def lab(tmp_path: Path) -> Lab:
    """A lab that works for a hospital, and hears of the bank for the first time."""
    return Lab(tmp_path / "lab", Allowance(("hospital",)), now=NOON)


def approve(lab: Lab, number: str, until: date | None = None) -> None:
    inbox = lab.inbox()
    inbox.approve(inbox.find(number), "Ada", until)


def reject(lab: Lab, number: str, reason: str = "no contract") -> None:
    inbox = lab.inbox()
    inbox.reject(inbox.find(number), "Ada", reason)


def states(lab: Lab) -> list[tuple[str, str]]:
    return [(each.initiator, each.state) for each in lab.inbox().requests()[0]]


# -- waiting --


def test_a_request_of_an_unknown_initiator_waits_and_nothing_else_happens(lab):
    reply = lab.propose()
    assert (reply.state, reply.since) == ("waiting", "2030-06-01T12:00:00.000+00:00")
    assert {path.name for path in lab.home.iterdir()} == {"ledger.jsonl", "ledger.jsonl.head", "requests"}
    [request], damaged = lab.inbox().requests()
    assert damaged == []
    assert (request.request, request.state, request.proof) == (reply.request, "waiting", "certificate")
    assert (request.purpose, request.method, request.n_samples, request.n_rounds) == ("a test", "ascii", 60, 5)
    assert request.answer_until == "2030-06-15T12:00:00.000+00:00"


def test_an_initiator_that_does_not_know_of_requests_is_refused_in_words_that_it_understands(lab):
    reply = lab.open()
    assert reply.kind == "refused"
    assert reply.text == "Agent 'lab' does not work for 'bank', but for ['hospital']."
    assert states(lab) == []


def test_who_asks_again_finds_the_same_request_as_it_was(lab):
    first = lab.propose()
    [path] = (lab.home / "requests").glob("*.json")
    before = path.read_bytes()
    lab.now += timedelta(days=3)
    lab.restart()
    assert lab.propose(run="another", n_samples=61) == m.Consent(
        run="another", state="waiting", request=first.request, since=first.since
    )
    assert path.read_bytes() == before


def test_another_purpose_of_a_known_initiator_waits_too(tmp_path):
    lab = Lab(tmp_path, Allowance((BANK,), purpose="credit"))
    assert lab.propose(purpose="credit").state == "allowed"
    assert lab.propose(purpose="marketing").state == "waiting"


@pytest.mark.parametrize("allowance", [None, Allowance((BANK,))], ids=["no [allow]", "the bank in it"])
def test_nobody_waits_who_may_ask_anyway(tmp_path, allowance):
    lab = Lab(tmp_path, allowance)
    assert lab.propose() == m.Consent(run="r1", state="allowed")
    assert not (tmp_path / "requests").exists()


def test_an_owner_who_does_not_want_to_be_asked_is_not(tmp_path):
    lab = Lab(tmp_path, Allowance(("hospital",), unknown="refuse"))
    refused(lab.propose(), "does not work for 'bank'")
    assert not (tmp_path / "requests").exists()


def test_nobody_is_asked_when_the_permission_as_a_whole_is_over(tmp_path):
    lab = Lab(tmp_path, Allowance(("hospital",), expires=date(2030, 5, 31)), now=NOON)
    refused(lab.propose(), "has expired", "2030-05-31")


def test_an_owner_may_name_nobody_and_be_asked_by_everybody(tmp_path):
    lab = Lab(tmp_path, Allowance((), unknown="ask"))
    assert lab.propose().state == "waiting"


# -- the answer --


def test_a_yes_holds_at_once_for_that_initiator_and_that_purpose_alone(lab):
    approve(lab, lab.propose().request)
    assert isinstance(lab.open(), m.Opened)
    assert lab.propose().state == "allowed"
    refused(lab.ask(opening("r2", purpose="a tests")), "does not work for 'bank'")
    refused(lab.open("r2", SHOP), "does not work for 'shop'")
    assert not (lab.home / "requests" / f"{lab.propose().request}.json").exists()


def test_who_was_approved_trains_and_predicts_within_the_limits_of_everybody(tmp_path):
    lab = Lab(tmp_path, Allowance(("hospital",), max_runs=1, max_votes_a_day=100))
    approve(lab, lab.propose().request)
    lab.trained(2)
    assert isinstance(lab.vote(PEOPLE), m.Scores)
    refused(lab.vote(PEOPLE[:50]), "allows 'bank' 100 votes a day")
    refused(lab.open("r2"), "allows 'bank' 1 runs in all")


def test_who_was_approved_may_send_as_much_as_anybody_who_is_named(lab):
    many = [f"p-{i:05d}" for i in range(SMALL // 8)]
    refusal = lab.find(many)
    assert "at most 65,536 bytes are accepted for this kind" in refusal.text
    approve(lab, lab.propose().request)
    lab.open()
    assert lab.find(many).sum() == len(PEOPLE)


def test_a_yes_is_in_the_ledger_with_who_and_when_and_the_chain_holds(lab):
    reply = lab.propose()
    approve(lab, reply.request, date(2030, 12, 31))
    ledger = lab.home / "ledger.jsonl"
    [entry] = [entry for entry in read(ledger) if entry.direction == "decided"]
    assert (entry.peer, entry.type) == (BANK, "approved")
    assert entry.decision["by"] == "Ada"
    assert entry.decision["time"] == "2030-06-01T12:00:00.000+00:00"
    assert entry.decision["until"] == "2031-01-01T00:00:00+00:00"
    assert verify(ledger) == len(list(read(ledger)))


def test_a_yes_that_has_ended_is_named_and_can_be_asked_for_anew(lab):
    approve(lab, lab.propose().request, date(2030, 6, 30))
    lab.trained(1)
    lab.now = datetime(2030, 6, 30, 23, 59, tzinfo=UTC)
    assert isinstance(lab.vote(PEOPLE[:5]), m.Scores)
    lab.now += timedelta(minutes=1)
    refused(lab.vote(PEOPLE[:5]), "consent to runs of 'bank' for this purpose ended at 2030-07-01 00:00 UTC")
    assert states(lab) == [(BANK, "ended")]
    assert lab.propose().state == "waiting"
    assert states(lab) == [(BANK, "waiting")]


def test_a_no_is_told_with_its_reason_however_often_one_asks(lab):
    reject(lab, lab.propose().request)
    for _ in range(2):
        reply = lab.propose()
        assert (reply.state, reply.text) == ("rejected", "no contract")
    refused(lab.open(), "was not given", "no contract")
    assert states(lab) == [(BANK, "rejected")]


def test_a_yes_is_taken_back_in_the_middle_of_a_run_from_the_next_request_on(lab):
    number = lab.propose().request
    approve(lab, number)
    lab.ready()
    assert isinstance(lab.take(1), m.TurnTaken)
    reject(lab, number, "the contract has ended")
    refused(lab.take(2), "was taken back", "the contract has ended")
    assert states(lab) == [(BANK, "taken back")]
    approve(lab, number)
    assert isinstance(lab.take(2), m.TurnTaken)


def test_a_run_can_be_forgotten_whatever_the_owner_says_by_now(lab):
    number = lab.propose().request
    approve(lab, number)
    lab.ready()
    reject(lab, number)
    assert isinstance(lab.ask(m.Forget(run="r1")), m.Forgotten)


def test_a_request_that_nobody_answers_expires_which_is_told_once_and_can_be_asked_anew(lab):
    first = lab.propose()
    lab.now += timedelta(days=14)
    assert states(lab) == [(BANK, "expired")]
    told = lab.propose()
    assert (told.state, told.since, told.text) == ("expired", first.since, "14 days")
    again = lab.propose()
    assert (again.state, again.since) == ("waiting", "2030-06-15T12:00:00.000+00:00")


def test_a_late_answer_counts_all_the_same(lab):
    number = lab.propose().request
    lab.now += timedelta(days=100)
    approve(lab, number)
    assert isinstance(lab.open(), m.Opened)


def test_who_asks_no_longer_says_so_and_may_ask_anew(lab):
    number = lab.propose().request
    assert lab.propose(withdrawn=True).state == "withdrawn"
    assert states(lab) == [(BANK, "withdrawn")]
    with pytest.raises(RequestsError, match="no longer asks"):
        approve(lab, number)
    assert lab.propose().state == "waiting"
    assert lab.propose(SHOP, withdrawn=True).state == "withdrawn"
    assert states(lab) == [(BANK, "waiting")]


# -- the owner reads and answers --


def test_a_request_is_found_by_how_its_number_begins(lab):
    number = lab.propose().request
    assert lab.inbox().find(number[:4].upper()).request == number
    with pytest.raises(RequestsError, match=f"There is no request 'zz'. The requests are: {number}"):
        lab.inbox().find("zz")
    with pytest.raises(RequestsError, match="There is no request ''"):
        lab.inbox().find("")


def test_an_answer_that_says_nothing_or_too_much_is_refused(lab):
    number = lab.propose().request
    for reason in ("", "  ", "a\x1b[2J", "x" * 501):
        with pytest.raises(SettingsError, match="--reason"):
            reject(lab, number, reason)
    with pytest.raises(SettingsError, match="2030-05-31 is in the past"):
        approve(lab, number, date(2030, 5, 31))
    with pytest.raises(SettingsError, match="9999-12-31 is too far in the future"):
        approve(lab, number, date(9999, 12, 31))
    assert states(lab) == [(BANK, "waiting")]


def test_an_answer_to_what_has_changed_in_the_meantime_is_none(lab):
    inbox = lab.inbox()
    seen = inbox.find(lab.propose().request)
    reject(lab, seen.request)
    with pytest.raises(RequestsError, match="has changed in the meantime"):
        inbox.approve(seen, "Ada")
    assert states(lab) == [(BANK, "rejected")]


# -- forging, and crashes --


def test_no_file_lets_anybody_in(lab):
    number = lab.propose().request
    path = lab.home / "requests" / f"{number}.json"
    kept = json.loads(path.read_text())
    for forged in (
        {"ended": "approved"},
        {"state": "approved"},
        {"purpose": "everything"},
        {"since": "2030-06-01"},
        {"since": f"{date.max}T00:00Z"},
    ):
        path.write_text(json.dumps(kept | forged))
        refused(lab.open(), "does not work for 'bank'")
        found, [damaged] = lab.inbox().requests()
        assert (found, damaged.startswith(str(path))) == ([], True)
    path.write_text(json.dumps(kept))
    assert states(lab) == [(BANK, "waiting")]


def test_a_decision_that_is_written_into_the_ledger_by_hand_lets_nobody_in_and_is_noticed(lab):
    number = lab.propose().request
    other = Lab(lab.home.parent / "other", lab.allowance, now=NOON)
    other.propose(run="another")
    approve(other, number)
    with (lab.home / "ledger.jsonl").open("ab") as file:
        file.write((other.home / "ledger.jsonl").read_bytes().splitlines(keepends=True)[-1])
    assert lab.open().kind == "failed"
    with pytest.raises(LedgerError):
        lab.restart()
    with pytest.raises(LedgerError):
        lab.inbox().requests()


def test_a_crash_between_the_ledger_and_the_inbox_loses_no_answer(lab):
    number = lab.propose().request
    path = lab.home / "requests" / f"{number}.json"
    kept = path.read_bytes()
    approve(lab, number)
    path.write_bytes(kept)
    assert states(lab) == [(BANK, "approved")]
    assert lab.propose().state == "allowed"
    assert not path.exists()


def ask_for_ever(home: str, begin: int) -> None:
    """A helper that is asked by ever others, each approved or not by its owner in the same process."""
    lab = Lab(Path(home), Allowance(("hospital",), answer_within=1))
    for number in range(begin, begin + 10_000):
        reply = lab.propose(f"bank-{number}")
        if number % 2 and isinstance(reply, m.Consent):
            approve(lab, reply.request)
        (lab.home.parent / "done").write_text(str(number))


def test_a_helper_that_is_killed_at_any_moment_has_every_request_and_answer_it_has_told_of(tmp_path):
    home, begin = tmp_path / "lab", 0
    for attempt in range(6):
        process = forks().Process(target=ask_for_ever, args=(str(home), begin))
        process.start()
        told = tmp_path / "done"
        told.unlink(missing_ok=True)
        end = time.monotonic() + 60
        while not told.exists() or not told.read_text():
            assert time.monotonic() < end
            time.sleep(0.001)
        time.sleep(0.013 * attempt)
        os.kill(process.pid, signal.SIGKILL)
        process.join()
        last = int(told.read_text() or begin)
        verify(home / "ledger.jsonl")
        found, damaged = Inbox(home, 1).requests()
        assert damaged == []
        known = {each.initiator: each.state for each in found}
        for number in range(begin, last + 1):
            if number % 2:
                assert known[f"bank-{number}"] == "approved"
            elif number < 64:
                assert known[f"bank-{number}"] == "waiting"
        begin = last + 2
