"""Bytes and work that others would leave with a site: it takes none from whom its owner does not allow to ask."""

from __future__ import annotations

import os
import threading
import time
import tracemalloc
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

pytest.importorskip("nvflare", reason="needs the extra [flare]")

from assistlearn.agent.consent import Inbox
from assistlearn.errors import NetworkError, RefusedError
from assistlearn.protocol import decode, encode
from assistlearn.protocol import messages as m
from assistlearn.protocol.ledger import read, verify
from assistlearn.reach.flare.carrying.pieces import MOST, PIECE, Arrivals
from assistlearn.reach.flare.site import apps
from assistlearn.reach.flare.site.environment import AGENT_FILE, SITE
from assistlearn.reach.flare.site.polled_work import PolledWork
from tests.attacks.attack import attack

ALLOW = '[allow]\ninitiators = ["bank"]\npurpose = "credit pilot"\n'
MUCH = 64 * 2**20


class SiteOf:
    """The part of a job at the shop's site, asked by whoever a test says."""

    def __init__(
        self, folder: Path, monkeypatch: pytest.MonkeyPatch, allow: str = ALLOW, table: str = "shop.csv"
    ) -> None:
        (folder / "shop.csv").write_text("id,x\na,1\nb,2\n")
        learner = '[learner]\nkind = "sklearn.tree.DecisionTreeClassifier"\n'
        label = "" if allow else 'label = "y"\n'
        (folder / "agent.toml").write_text(f'name = "shop"\ntable = "{table}"\nid = "id"\n{label}{learner}{allow}')
        monkeypatch.setenv(AGENT_FILE, str(folder / "agent.toml"))
        monkeypatch.setenv(SITE, "shop")
        self._monkeypatch = monkeypatch
        self._site = apps.Site("0" * 32)
        self.ledger = folder / "shop-models" / "ledger.jsonl"

    def by(self, asker: str) -> Any:
        self._monkeypatch.setattr(apps, "collab", SimpleNamespace(caller=asker))
        return self._site


def park(site: Any, n_bytes: int) -> int:
    """Bring so many bytes of a request that is never finished; return how many the site has."""
    piece = os.urandom(PIECE)
    there = 0
    for at in range(0, n_bytes, PIECE):
        there = site.bring("1", at, MOST, piece)
    return there


def opening(initiator: str, purpose: str = "credit pilot") -> bytes:
    return encode(m.Open(run="r1", initiator=initiator, purpose=purpose, alignment="hash", overlap="abstain"))


@attack(
    "member",
    "parks 64 MiB of a request in the memory of a site whose `[allow]` does not name it",
    "refused at the first piece; nothing is kept",
)
@pytest.mark.parametrize("allow", [ALLOW, ""])
def test_nothing_is_parked_by_whom_the_owner_does_not_allow_to_ask(tmp_path, monkeypatch, allow):
    site = SiteOf(tmp_path, monkeypatch, allow).by("lab")
    tracemalloc.start()
    try:
        with pytest.raises(RefusedError, match="Agent 'shop' does not work for 'lab'"):
            park(site, MUCH)
        kept, _ = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert kept < 2 * PIECE
    assert site.ask("1", None) == ["unknown", 0, b""]


def test_who_is_allowed_to_ask_brings_large_requests_as_before(tmp_path, monkeypatch):
    made = SiteOf(tmp_path, monkeypatch)
    assert park(made.by("bank"), 4 * PIECE) == 4 * PIECE
    request = opening("bank")
    for at in range(0, len(request), 7):
        assert made.by("bank").bring("2", at, len(request), request[at : at + 7]) == min(at + 7, len(request))
    state, _, answer = made.by("bank").ask("2", None)
    assert state == "done"
    assert isinstance(decode(answer), m.Opened)


@attack(
    "member",
    "asks a site that does not allow it anything, so that it reads its whole table",
    "refused at the door, before the table is opened; the ledger has the question and the refusal",
)
@pytest.mark.parametrize(
    ("allow", "words"), [(ALLOW, "does not work for 'lab', but for ['bank']"), ("", "works for nobody")]
)
def test_the_table_is_not_read_for_whom_the_owner_does_not_allow_to_ask(tmp_path, monkeypatch, allow, words):
    made = SiteOf(tmp_path, monkeypatch, allow, table="not-there.csv")
    state, _, answer = made.by("lab").ask("1", opening("lab"))
    reply = decode(answer)
    assert state == "done"
    assert isinstance(reply, m.Problem)
    assert reply.kind == "refused"
    assert words in reply.text
    verify(made.ledger)
    assert [(entry.direction, entry.peer, entry.type) for entry in read(made.ledger)] == [
        ("received", "lab", "open"),
        ("sent", "lab", "problem"),
    ]


@attack(
    "member",
    "asks for consent, so that a site reads its table or takes large requests before there is any",
    "its request waits at the door, without the table; nothing large is taken before the owner has answered",
)
def test_who_waits_for_consent_is_let_in_by_it_and_by_nothing_before(tmp_path, monkeypatch):
    made = SiteOf(tmp_path, monkeypatch, table="not-there.csv")
    proposal = m.Propose(run="r1", initiator="lab", purpose="mine", method="soft", n_samples=3, n_rounds=1)
    waits = decode(made.by("lab").ask("1", encode(proposal))[2])
    assert (waits.state, waits.run) == ("waiting", "r1")
    with pytest.raises(RefusedError, match="does not work for 'lab'"):
        park(made.by("lab"), PIECE)
    (tmp_path / "not-there.csv").write_text("id,x\na,1\nb,2\n")
    inbox = Inbox(tmp_path / "shop-models", 14)
    inbox.approve(inbox.find(waits.request), "Ada")
    assert park(made.by("lab"), PIECE) == PIECE
    assert isinstance(decode(made.by("lab").ask("2", opening("lab", "mine"))[2]), m.Opened)
    assert decode(made.by("lab").ask("3", opening("lab"))[2]).kind == "out-of-order"
    inbox.reject(inbox.find(waits.request), "Ada", "no more")
    with pytest.raises(RefusedError, match="does not work for 'lab'"):
        park(made.by("lab"), PIECE)
    assert "no more" in decode(made.by("lab").ask("4", opening("lab", "mine"))[2]).text
    verify(made.ledger)


def test_refusals_at_the_door_and_answers_from_the_table_are_in_one_ledger(tmp_path, monkeypatch):
    made = SiteOf(tmp_path, monkeypatch)
    for number, (asker, request) in enumerate(
        [
            ("lab", opening("lab")),
            ("bank", opening("bank")),
            ("lab", opening("bank")),
            ("lab", encode(m.Forget(run="r1"))),
        ]
    ):
        made.by(asker).ask(str(number), request)
    assert verify(made.ledger) == 8
    kinds = [(entry.peer, entry.type) for entry in read(made.ledger) if entry.direction == "sent"]
    assert kinds == [("lab", "problem"), ("bank", "opened"), ("lab", "problem"), ("lab", "problem")]
    assert (tmp_path / "shop-models" / "runs" / "r1").exists()


def test_who_was_allowed_to_ask_before_is_refused_but_may_let_its_run_be_forgotten(tmp_path, monkeypatch):
    SiteOf(tmp_path, monkeypatch).by("bank").ask("1", opening("bank"))
    assert (tmp_path / "shop-models" / "runs" / "r1").exists()
    later = SiteOf(tmp_path, monkeypatch, ALLOW.replace("bank", "hospital"), table="not-there.csv")
    assert decode(later.by("bank").ask("2", opening("bank"))[2]).kind == "refused"
    assert isinstance(decode(later.by("bank").ask("3", encode(m.Forget(run="r1")))[2]), m.Forgotten)
    assert not (tmp_path / "shop-models" / "runs" / "r1").exists()


@attack(
    "member",
    "gives its request a number of 64 MiB, which the site would keep",
    "refused: a number has at most 64 letters",
)
@pytest.mark.parametrize("verb", ["ask", "bring"])
def test_a_huge_number_is_refused(tmp_path, monkeypatch, verb):
    site = SiteOf(tmp_path, monkeypatch).by("bank")
    number = "1" * MUCH
    with pytest.raises(NetworkError, match="1 to 64 characters, not 67108864"):
        site.ask(number, b"x") if verb == "ask" else site.bring(number, 0, 1, b"x")


@attack(
    "initiator",
    "sends a site pieces that are too large, or claims a request that is larger than any can be",
    "refused, before anything is kept",
)
@pytest.mark.parametrize(
    ("at", "total", "piece"),
    [
        (0, 2**40, b"a"),
        (0, MOST, bytes(PIECE + 1)),
        (0.0, 5, b"a"),
        (0, float("nan"), b"a"),
        (True, 5, b"a"),
        (0, 5, "abc"),
    ],
)
def test_pieces_that_cannot_be_are_refused_and_nothing_is_kept(tmp_path, monkeypatch, at, total, piece):
    site = SiteOf(tmp_path, monkeypatch).by("bank")
    with pytest.raises(NetworkError, match="piece"):
        site.bring("1", at, total, piece)
    assert site._arrivals._of == {}
    with pytest.raises(NetworkError, match="must come in pieces"):
        site.ask("1", bytes(PIECE + 1))


@attack(
    "initiator",
    "begins request after request at a site and finishes none",
    "one is kept, the last; and all askers together have room for one of the largest size",
)
def test_of_requests_that_are_not_finished_one_is_kept():
    arrivals = Arrivals(most=10 * PIECE)
    for number in range(50):
        arrivals.bring("bank", str(number), 0, 6 * PIECE, bytes(PIECE))
    assert sum(len(arrival.content) for arrival in arrivals._of.values()) == PIECE
    with pytest.raises(NetworkError, match=f"requests of {6 * PIECE} bytes are on their way already"):
        arrivals.bring("shop", "1", 0, 6 * PIECE, bytes(PIECE))
    assert arrivals.bring("shop", "1", 0, 4 * PIECE, bytes(PIECE)) == PIECE


@attack(
    "initiator",
    "asks a site a thousand new things while the first is still being worked at",
    "refused until the first is done: no queue of work or of bytes grows",
)
def test_new_questions_wait_until_the_first_is_answered():
    let_go = threading.Event()
    polled = PolledWork(lambda asker, request: (let_go.wait(30), request)[1], hold=0.0)
    threads = threading.active_count()
    assert polled.ask("bank", "0", b"first") == ("working", b"")
    for number in range(1, 1_000):
        with pytest.raises(NetworkError, match="The last request of 'bank' is still being answered"):
            polled.ask("bank", str(number), bytes(PIECE))
    assert threading.active_count() <= threads + 1
    let_go.set()
    while polled.ask("bank", "0", None)[0] != "done":
        pass
    assert polled.ask("bank", "1", b"next")[0] in ("working", "done")


def test_the_last_answers_of_so_many_askers_are_kept_and_no_more():
    polled = PolledWork(lambda asker, request: request * 2, hold=30, most=3)
    for i in range(20):
        assert polled.ask(f"site-{i}", "1", b"x") == ("done", b"xx")
    assert [polled.ask(f"site-{i}", "1", None)[0] for i in range(20)] == ["unknown"] * 17 + ["done"] * 3


@attack(
    "member",
    "sends request after request to an agent that does not work for it, to fill its ledger",
    "the first fifty are answered and written down, the others counted in one line a minute",
)
def test_requests_of_strangers_do_not_fill_the_ledger(tmp_path, monkeypatch):
    site = SiteOf(tmp_path, monkeypatch)
    stranger = site.by("lab")
    for number in range(200):
        state, _, _ = stranger.ask(str(number), opening("lab"))
        assert state == "done"
    until = time.monotonic() + 20
    while not any(entry.direction == "refused" for entry in read(site.ledger)) and time.monotonic() < until:
        time.sleep(0.1)
    entries = [entry.direction for entry in read(site.ledger)]
    assert entries.count("received") == entries.count("sent") == 50
    assert 1 <= entries.count("refused") <= 2
