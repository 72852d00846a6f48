"""A run whose helpers' owners must consent first: all of them are asked, and it begins everywhere or nowhere."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from assistlearn.agent.consent import Inbox
from assistlearn.agent.file import Allowance
from assistlearn.agent.limits import OwnerLimits
from assistlearn.agent.loading import gate
from assistlearn.agent.service import AgentService
from assistlearn.agent.store import runs_at
from assistlearn.errors import ConsentAwaitedError, RefusedError
from assistlearn.initiator.opening import withdraw
from assistlearn.protocol import MemoryTransport, decode, encode
from assistlearn.protocol import messages as m
from assistlearn.protocol.ledger import counted, read
from tests.agent.recording import three_agents
from tests.initiator.parties import Led, Parties

HELPERS = ("lab", "scans")
HOSPITAL, CLINIC = Allowance(("hospital",)), Allowance(("clinic",))


def led(parties: Parties, transport: MemoryTransport | None = None, **allowances: Allowance) -> Led:
    """A run whose helpers' owners allow so much."""
    answers = {}
    for name in HELPERS:
        own, owner = parties.holdings(name), allowances.get(name, HOSPITAL)
        held = replace(own, allow=gate(name, owner), limits=OwnerLimits(name, owner, len(own.ids)))
        answers[name] = AgentService(held).answer
    return parties.leader(transport or MemoryTransport(answers))


def inbox(parties: Parties, helper: str) -> Inbox:
    return Inbox(parties.folder / helper, 14)


def answer(parties: Parties, helper: str, reason: str = "") -> None:
    found = inbox(parties, helper)
    [request], _ = found.requests()
    if reason:
        found.reject(request, "Ada", reason)
    else:
        found.approve(request, "Ada")


def states(parties: Parties) -> list[str]:
    return [each.state for helper in HELPERS for each in inbox(parties, helper).requests()[0]]


@pytest.fixture
def parties(tmp_path: Path) -> Parties:
    return three_agents(tmp_path, n_rounds=2)


def test_all_whose_owners_must_consent_are_asked_at_once_and_named_and_the_run_begins_nowhere(parties):
    with pytest.raises(ConsentAwaitedError, match=r"owner of 'lab', since .* UTC .*owner of 'scans', since .* UTC"):
        list(led(parties).train())
    assert states(parties) == ["waiting", "waiting"]
    for helper in HELPERS:
        [request], _ = inbox(parties, helper).requests()
        assert (request.initiator, request.proof, request.purpose) == ("clinic", "nothing", "a test")
        assert (request.run, request.n_samples, request.n_rounds) == ("test-run", len(parties.labels), 2)
        assert runs_at(parties.folder / helper) == []


def test_with_consent_of_all_the_result_is_the_one_of_a_run_that_was_allowed_from_the_start(parties, tmp_path):
    with pytest.raises(ConsentAwaitedError):
        list(led(parties).train())
    answer(parties, "lab")
    with pytest.raises(ConsentAwaitedError, match="owner of 'scans'") as waits:
        list(led(parties).train())
    assert "'lab'" not in str(waits.value)
    answer(parties, "scans")
    agreed = led(parties)
    list(agreed.train())
    plain = three_agents(tmp_path / "plain", n_rounds=2)
    allowed = led(plain, lab=CLINIC, scans=CLINIC)
    list(allowed.train())
    assert agreed.folder.result()["contributions"] == allowed.folder.result()["contributions"]


def test_who_waits_opens_no_run_at_helpers_that_would_let_it(parties):
    for _ in range(3):
        waits = led(parties, lab=CLINIC)
        waits.run.asks_first = True
        with pytest.raises(ConsentAwaitedError):
            list(waits.train())
    assert counted(parties.folder / "lab" / "ledger.jsonl").of("clinic").units == {}
    types = [entry.type for entry in read(parties.folder / "lab" / "ledger.jsonl")]
    assert types == ["propose", "consent"] * 3


def test_a_no_is_told_beside_those_who_have_not_answered_and_is_a_refusal(parties):
    with pytest.raises(ConsentAwaitedError):
        list(led(parties).train())
    answer(parties, "scans", reason="no contract")
    with pytest.raises(RefusedError, match=r"owner of 'lab'.*owner of 'scans' does not consent .*: no contract"):
        list(led(parties).train())


def test_who_may_not_be_asked_refuses_as_before(parties):
    with pytest.raises(RefusedError, match="Agent 'lab' does not work for 'clinic', but for"):
        list(led(parties, lab=Allowance(("hospital",), unknown="refuse")).train())


def test_a_helper_of_an_earlier_release_refuses_as_before(parties):
    """It knows no requests for consent, and finds the message malformed."""

    def earlier(request: bytes) -> bytes:
        refusal = "refused" if isinstance(decode(request), m.Open) else "malformed"
        return encode(m.Problem(run="test-run", kind=refusal, text=f"Agent 'lab': {refusal}"))

    for asks_first in (False, True):
        run = led(parties, MemoryTransport(dict.fromkeys(HELPERS, earlier)))
        run.run.asks_first = asks_first
        with pytest.raises(RefusedError, match="Agent 'lab': refused"):
            list(run.train())


def test_who_asks_no_longer_tells_all_helpers(parties):
    run = led(parties, scans=CLINIC)
    with pytest.raises(ConsentAwaitedError):
        list(run.train())
    assert {name: reply.state for name, reply in withdraw(run.run).items()} == {"lab": "withdrawn", "scans": "allowed"}
    assert states(parties) == ["withdrawn"]


def test_words_of_a_helper_about_a_request_are_shown_as_letters(parties):
    reply = m.Consent(run="test-run", state="rejected", request="x" * 900, since="y" * 900, text="z" * 900)

    def long_winded(request: bytes) -> bytes:
        refusal = m.Problem(run="test-run", kind="refused", text="no")
        return encode(refusal if isinstance(decode(request), m.Open) else reply)

    with pytest.raises(RefusedError) as error:
        list(led(parties, MemoryTransport(dict.fromkeys(HELPERS, long_winded))).train())
    assert len(str(error.value)) < 1_500
