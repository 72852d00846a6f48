"""Every transport carries the same bytes and fails in the same way: in memory, and to real processes."""

from __future__ import annotations

import os
import signal
import threading
import time
from pathlib import Path

import pytest

from assistlearn.agent.loading import holdings_of
from assistlearn.agent.service import AgentService
from assistlearn.errors import UnreachableError
from assistlearn.initiator.run import OwnTransport
from assistlearn.protocol import MemoryTransport, decode, encode
from assistlearn.protocol import messages as m
from assistlearn.reach.processes.process_transport import ProcessTransport

OPEN = m.Open(run="r1", initiator="clinic", purpose="", alignment="hash", overlap="abstain")


def agent(folder: Path, name: str) -> Path:
    folder.mkdir(exist_ok=True)
    (folder / f"{name}.csv").write_text("id,x\n" + "".join(f"p-{i},{i}\n" for i in range(30)))
    file = folder / f"{name}.toml"
    file.write_text(
        f'name = "{name}"\ntable = "{name}.csv"\nid = "id"\nlearner = "sklearn.tree.DecisionTreeClassifier"\n'
    )
    return file


@pytest.fixture(scope="module")
def processes(tmp_path_factory):
    folder = tmp_path_factory.mktemp("processes")
    with ProcessTransport({name: agent(folder, name) for name in ("lab", "scans")}, timeout=60) as transport:
        yield transport


@pytest.fixture(params=["memory", "processes"])
def transport(request, tmp_path):
    if request.param == "processes":
        return request.getfixturevalue("processes")
    services = {name: AgentService(holdings_of(agent(tmp_path, name))) for name in ("lab", "scans")}
    return MemoryTransport({name: service.answer for name, service in services.items()})


def test_a_request_gets_its_reply_from_the_agent_it_was_for(transport):
    for name in ("scans", "lab", "scans"):
        assert decode(transport.ask(name, encode(OPEN))) == m.Opened(run="r1", agent=name, n_rows=30)


def test_noise_and_large_messages_get_a_reply_too(transport):
    assert decode(transport.ask("lab", b"")).kind == "malformed"
    assert decode(transport.ask("lab", os.urandom(5_000_000))).kind == "malformed"
    large = m.Align(run="r9", purpose="train", step=1, data=bytes(5_000_000))
    assert decode(transport.ask("lab", encode(large))).kind == "unknown-run"


def test_an_agent_that_is_not_there_is_named(transport):
    with pytest.raises(UnreachableError, match=r"no agent 'shop' here. The agents are \['lab', 'scans'\]"):
        transport.ask("shop", encode(OPEN))


def test_a_process_that_dies_or_hangs_is_named_and_its_late_answer_is_not_taken(tmp_path):
    files = {name: agent(tmp_path, name) for name in ("lab", "scans")}
    with ProcessTransport(files, timeout=60) as patient:
        for name in files:
            patient.ask(name, encode(OPEN))
        os.kill(patient.pid("lab"), signal.SIGKILL)
        for _ in range(2):
            with pytest.raises(UnreachableError, match="Agent 'lab': its process ended with exit code -9"):
                patient.ask("lab", encode(OPEN))
        patient._started["scans"]._timeout = 0.5
        patient._started["scans"]._socket.settimeout(0.5)
        os.kill(patient.pid("scans"), signal.SIGSTOP)
        with pytest.raises(UnreachableError, match=r"Agent 'scans' \(process \d+\) has not answered for 0.5 seconds"):
            patient.ask("scans", encode(OPEN))
        os.kill(patient.pid("scans"), signal.SIGCONT)
        time.sleep(0.2)
        with pytest.raises(UnreachableError, match="has not answered"):
            patient.ask("scans", encode(OPEN))
        pids = [patient.pid(name) for name in files]
    for pid in pids:
        with pytest.raises(ProcessLookupError):
            os.kill(pid, 0)


def test_an_agent_whose_file_is_wrong_says_why(tmp_path):
    file = agent(tmp_path, "lab")
    file.write_text(file.read_text().replace('id = "id"', 'id = "patient"'))
    with (
        ProcessTransport({"lab": file}, timeout=60) as transport,
        pytest.raises(UnreachableError, match=r"Agent 'lab' cannot start: .*patient"),
    ):
        transport.ask("lab", encode(OPEN))


# -- the way to the initiator's own agent: it gives up when the agent takes too long, and asks again when it is done


LONG = 30.0
"""Seconds that no test needs, unless it fails."""


class Slow:
    """An agent that works on its first request until it is let go; it must never work on two at a time."""

    def __init__(self) -> None:
        self.let_go = threading.Event()
        self.finished = threading.Event()
        self.heard: list[bytes] = []

    def __call__(self, request: bytes) -> bytes:
        self.heard.append(request)
        if len(self.heard) == 1:
            self.let_go.wait(LONG)
            self.finished.set()
        return request.upper()


def test_an_agent_that_is_still_at_work_is_asked_nothing_else():
    slow = Slow()
    way = OwnTransport("clinic", slow, 0.05)
    for request in (b"one", b"two"):
        with pytest.raises(UnreachableError, match=r"'clinic', this organisation's own, has not answered for 0\.05"):
            way.ask("clinic", request)
    assert slow.heard == [b"one"]
    slow.let_go.set()


def test_an_agent_that_has_finished_late_is_asked_again():
    slow = Slow()
    way = OwnTransport("clinic", slow, 0.05)
    with pytest.raises(UnreachableError):
        way.ask("clinic", b"one")
    slow.let_go.set()
    assert slow.finished.wait(LONG)
    for thread in threading.enumerate():
        if thread.name == "own agent":
            thread.join(LONG)
    way._seconds = LONG  # the machine may be busy
    assert way.ask("clinic", b"one") == b"ONE"
    assert way.ask("clinic", b"two") == b"TWO"


def test_an_error_of_the_agent_is_passed_on_and_the_next_request_is_answered():
    def picky(request: bytes) -> bytes:
        if request == b"bad":
            raise ValueError("no")
        return request

    way = OwnTransport("clinic", picky, LONG)
    with pytest.raises(ValueError, match="no"):
        way.ask("clinic", b"bad")
    assert way.ask("clinic", b"good") == b"good"
