"""The transport between organisations: jobs are started, started again when they break, given up in the end.

A stand-in takes the relay's place, and starts a thread where FLARE starts a job; the socket to it is the real one.
"""

from __future__ import annotations

import json
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from assistlearn.errors import NetworkError, UnreachableError
from assistlearn.events import Event, EventLog, JobStarted, TroubleMet
from assistlearn.reach.flare.carrying import flare_transport, job
from assistlearn.reach.flare.carrying.command_socket import Errand, JobSocket, Outcome, notes_folder
from assistlearn.reach.flare.carrying.flare_transport import FlareTransport
from assistlearn.reach.flare.provisioning.kit import Kit

GIVE_UP_AFTER = 0.3


class StandIn:
    """A relay to which a test says who is connected, and what becomes of its jobs."""

    def __init__(self, site: Kit) -> None:
        self._site = site
        self.connected_now = ["clinic", "lab", "shop"]
        self.n_looks = 0
        self.status_now = "RUNNING"
        self.details: list[str] = []
        self.taking_part: list[list[str]] = []
        self.aborted: list[str] = []
        self.carried: list[Errand] = []
        self.on_errand: Callable[[Errand, int], Outcome | None] = lambda errand, job: _answer(errand)

    def connected(self) -> list[str]:
        self.n_looks += 1
        return self.connected_now

    def submit(self, folder: Path) -> str:
        self.taking_part.append(_read(folder / "meta.json")["deploy_map"]["site"])
        number = len(self.taking_part)
        if self.status_now == "RUNNING":
            (site,) = _read(folder / "site" / "config" / "config_fed_client.json")["components"]
            socket = JobSocket(notes_folder(self._site.folder), site["args"]["command"])
            threading.Thread(target=self._carry, args=(socket, number), daemon=True).start()
        return f"job-{number}"

    def _carry(self, socket: JobSocket, number: int) -> None:
        with socket:
            for errand in socket.errands():
                self.carried.append(errand)
                outcome = self.on_errand(errand, number)
                if outcome is None:
                    return
                if outcome.state == "done":  # a sign of life that led nowhere would begin the wait anew
                    socket.report(Outcome("working"))
                socket.report(outcome)

    def status(self, job: str) -> str:
        return self.status_now

    def facts(self, job: str) -> dict[str, Any]:
        return {"job_deploy_detail": self.details}

    def abort(self, job: str) -> None:
        self.aborted.append(job)

    def close(self) -> None:
        self.connected_now = []


def _read(path: Path) -> dict[str, Any]:
    return json.loads(path.read_text())


def _answer(errand: Errand) -> Outcome:
    return Outcome("done", errand.agent.encode() + b": " + errand.request)


@pytest.fixture
def kit(tmp_path) -> Kit:
    return Kit(tmp_path / "clinic", "site", "clinic", "n", "localhost", 1)


@pytest.fixture
def relay(kit, monkeypatch) -> StandIn:
    relay = StandIn(kit)
    monkeypatch.setattr(flare_transport, "Control", lambda admin: relay)
    monkeypatch.setattr(flare_transport, "RETRY", 0.02)
    monkeypatch.setattr(job, "LOOK", 0.05)
    return relay


@pytest.fixture
def events() -> list[Event]:
    return []


@pytest.fixture
def transport(kit, relay, events):
    log = EventLog()
    log.listen(events.append)
    with FlareTransport(kit, kit, ["lab", "shop"], GIVE_UP_AFTER, log) as made:
        yield made


def test_one_job_with_everybody_carries_all_messages_and_ends_with_the_block(transport, relay, events, kit):
    for agent, request in (("lab", b"one"), ("shop", b"two"), ("lab", b"three")):
        assert transport.ask(agent, request) == agent.encode() + b": " + request
    assert events == [JobStarted("job-1", ["clinic", "lab", "shop"])]
    assert relay.taking_part == [["clinic", "lab", "shop"]]
    assert [errand.give_up_after for errand in relay.carried] == [GIVE_UP_AFTER] * 3
    assert relay.aborted == []
    transport.close()
    assert relay.aborted == ["job-1"]
    assert list(notes_folder(kit.folder).iterdir()) == []


def test_the_same_request_has_the_same_number_and_another_has_another(transport, relay):
    for request in (b"one", b"two", b"one"):
        transport.ask("lab", request)
    first, second, third = (errand.number for errand in relay.carried)
    assert first == third != second


def test_a_job_that_dies_is_started_again_and_whoever_asked_gets_the_answer(transport, relay, events):
    relay.on_errand = lambda errand, job: None if job == 1 else _answer(errand)
    assert transport.ask("lab", b"hello") == b"lab: hello"
    everybody = ["clinic", "lab", "shop"]
    started, trouble, again = events
    assert (started, again) == (JobStarted("job-1", everybody), JobStarted("job-2", everybody))
    assert isinstance(trouble, TroubleMet)
    assert trouble.words.startswith("The job that carries the messages has ended")
    assert trouble.words.endswith(" Trying again.")
    assert relay.aborted == ["job-1"]


def test_after_trouble_a_job_is_started_with_those_only_who_are_needed_or_have_answered_since(transport, relay):
    silent = {"shop"}

    def on_errand(errand: Errand, job: int) -> Outcome:
        return Outcome("failed", failure="no answer in time.") if errand.agent in silent else _answer(errand)

    relay.on_errand = on_errand
    with pytest.raises(UnreachableError, match="no answer in time"):
        transport.ask("shop", b"hello")
    assert relay.taking_part[:2] == [["clinic", "lab", "shop"], ["clinic", "shop"]]
    n_before = len(relay.taking_part)
    transport.ask("lab", b"hello")
    silent.clear()
    transport.ask("shop", b"hello")
    assert relay.taking_part[n_before:] == [["clinic", "lab"], ["clinic", "lab", "shop"]]


def test_an_organisation_that_is_not_connected_is_tried_for_a_while_and_the_same_trouble_is_noted_once(
    transport, relay, events
):
    relay.connected_now = ["clinic", "lab"]
    with pytest.raises(UnreachableError, match=r"'shop' could not be reached for 0.3 seconds.*site check") as raised:
        transport.ask("shop", b"hello")
    assert "Organisation 'shop' is not connected to the relay." in str(raised.value)
    assert relay.n_looks > 3
    assert events == [TroubleMet("Organisation 'shop' is not connected to the relay. Trying again.")]
    assert relay.taking_part == []


def test_an_organisation_that_was_given_up_is_tried_once_until_it_is_heard_of_again(transport, relay, events):
    relay.connected_now = ["clinic", "lab"]
    for most in (1000, 1):
        before = relay.n_looks
        with pytest.raises(UnreachableError):
            transport.ask("shop", b"hello")
        assert relay.n_looks - before <= most
    relay.connected_now = ["clinic", "lab", "shop"]
    transport.ask("shop", b"hello")
    relay.on_errand = lambda errand, job: Outcome("failed", failure="no answer in time.")
    before = relay.n_looks
    with pytest.raises(UnreachableError):
        transport.ask("shop", b"again")
    assert relay.n_looks - before > 1


def test_a_job_that_a_site_refuses_is_ended_and_what_the_sites_said_is_passed_on(transport, relay, events, kit):
    relay.status_now, relay.details = "FINISHED:ABORTED", ["clinic: OK", "lab: BYOC not permitted"]
    with pytest.raises(UnreachableError, match=r"The job with \['lab'\] did not start: FINISHED:ABORTED"):
        transport.ask("lab", b"hello")
    n_jobs = len(relay.taking_part)
    assert relay.aborted == [f"job-{i + 1}" for i in range(n_jobs)]
    assert list(notes_folder(kit.folder).iterdir()) == []
    assert not any(isinstance(event, JobStarted) for event in events)
    words = "The job with ['lab', 'shop'] did not start: FINISHED:ABORTED. lab: BYOC not permitted Trying again."
    assert events[0] == TroubleMet(words)


def test_the_initiators_own_site_is_told_from_the_others(transport, relay):
    relay.connected_now = ["lab", "shop"]
    with pytest.raises(NetworkError, match="The site of 'clinic' itself is not connected") as raised:
        transport.ask("lab", b"hello")
    assert not isinstance(raised.value, UnreachableError)


def test_nobody_is_asked_who_has_no_part_in_the_run(transport, relay):
    known = r"no organisation 'bank' in this run\. The organisations are \['lab', 'shop'\]"
    with pytest.raises(UnreachableError, match=known):
        transport.ask("bank", b"hello")
    assert relay.n_looks == 0
