"""A helper that is killed, hangs, refuses or lacks an id: the others answer, the answer says so, and it comes back."""

from __future__ import annotations

import os
import signal
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import polars as pl
import pytest

from assistlearn.agent.consent import Inbox
from assistlearn.agent.file import load_description
from assistlearn.agent.loading import holdings_without_table
from assistlearn.agent.service import AgentService
from assistlearn.errors import BusyError
from assistlearn.initiator.folder import RunFolder
from assistlearn.protocol import encode
from assistlearn.protocol import messages as m
from assistlearn.protocol.ledger import counted, verify
from assistlearn.reach.standing_way import FIRST_WAIT, LEAST_WAIT
from tests.cli.small_agents import NEW, SECRET, toml
from tests.forked_agents import forked
from tests.web.served_run import Served, predicted, served, trained

LACKED, ONLY_AT_LAB = NEW[7], "q-001"

A_SECOND = LEAST_WAIT
AT_ONCE = FIRST_WAIT / 2
"""Seconds that nothing takes which waits for nobody, even on a busy machine that stalls."""


@pytest.fixture(scope="module")
def run(tmp_path_factory) -> Iterator[Path]:
    """A run whose scanner has lost somebody since training, and whose lab has got to know somebody."""
    with forked():
        made = trained(tmp_path_factory.mktemp("trouble"))
        scans, lab = (pl.read_csv(made.parent / f"{name}.csv") for name in ("scans", "lab"))
        scans.filter(pl.col("patient") != LACKED).write_csv(made.parent / "scans.csv")
        stranger = lab.head(1).with_columns(patient=pl.lit(ONLY_AT_LAB))
        pl.concat([lab, stranger]).write_csv(made.parent / "lab.csv")
        yield made


@pytest.fixture(scope="module")
def service(run) -> Iterator[Served]:
    with served(run) as made:
        made.predict(*NEW)
        yield made


def one(service: Served, id: str = NEW[0]) -> dict:
    (said,) = service.predict(id)["predictions"]
    return said


def warmed(service: Served) -> None:
    """Ask until the lab is waited for as shortly as can be: it was started lately, and was slow at first."""
    while service.predictor.ways["lab"].waited_for > A_SECOND:
        one(service)


def until_back(service: Served, helper: str) -> list[dict]:
    """Ask until a helper votes again; return all answers. Those without it did not wait for it."""
    answers, until = [], time.monotonic() + 30
    while True:
        begun = time.monotonic()
        answers.append(one(service))
        if helper in answers[-1]["voted"]:
            return answers
        assert time.monotonic() - begun < AT_ONCE
        assert time.monotonic() < until
        time.sleep(0.01)


def test_a_helper_that_lacks_an_id_is_named_and_the_others_answer(service):
    said = service.predict(LACKED)
    assert said["predictions"][0]["voted"] == ["clinic", "lab"]
    assert said["predictions"][0]["missing"] == {"scans": "It does not hold this id."}
    assert said["missing"] == {}


def test_an_id_that_only_a_helper_knows_is_answered_as_the_command_does(service, run):
    said = one(service, ONLY_AT_LAB)
    row = predicted(run, ONLY_AT_LAB)[ONLY_AT_LAB]
    assert said["voted"] == ["lab"]
    assert said["label"] == row["prediction"]
    assert list(said["probabilities"].values()) == [row["probability of no"], row["probability of yes"]]


def test_a_helper_whose_process_is_killed_is_named_and_comes_back_by_itself(service):
    before = one(service)
    pid = service.pid("lab")
    os.kill(pid, signal.SIGKILL)
    assert service.get("/v2/health/ready") == (200, {"ready": True})  # the others go on answering
    answers = until_back(service, "lab")
    without = [each for each in answers if "lab" not in each["voted"]]
    assert without
    assert all(each["voted"] == ["clinic", "scans"] for each in without)
    assert "its process ended with exit code -9" in without[0]["missing"]["lab"]
    assert answers[-1] == before
    assert service.pid("lab") != pid


def test_a_helper_that_is_killed_in_the_middle_of_requests_costs_no_answer(service):
    answers, stop = [], threading.Event()

    def ask() -> None:
        while not stop.is_set():
            answers.append(one(service))

    clients = [threading.Thread(target=ask) for _ in range(5)]
    for client in clients:
        client.start()
    time.sleep(0.2)
    os.kill(service.pid("scans"), signal.SIGKILL)
    time.sleep(0.2)
    stop.set()
    for client in clients:
        client.join()
    assert len(answers) > 5
    assert all(each["voted"][:1] == ["clinic"] for each in answers)
    until_back(service, "scans")


def test_a_helper_that_hangs_is_waited_for_once_and_answers_again_when_it_can(service):
    until_back(service, "lab")
    warmed(service)
    pid = service.pid("lab")
    os.kill(pid, signal.SIGSTOP)
    try:
        begun = time.monotonic()
        first = one(service)
        waited = time.monotonic() - begun
        second = one(service)
    finally:
        os.kill(pid, signal.SIGCONT)
    assert A_SECOND <= waited < A_SECOND + AT_ONCE
    assert "has not answered within" in first["missing"]["lab"]
    assert "has not answered an earlier request" in second["missing"]["lab"]
    assert "lab" in until_back(service, "lab")[-1]["voted"]
    assert service.pid("lab") == pid


def test_ledgers_are_whole_after_all_this(service):
    for name in ("clinic", "lab", "scans"):
        verify(service.home / f"{name}-models" / "ledger.jsonl")


def test_more_requests_than_can_wait_are_turned_away(service, monkeypatch):
    monkeypatch.setattr("assistlearn.web.predictor.MOST_WAITING", 0)
    with pytest.raises(BusyError, match="wait already"):
        service.predictor.submit([NEW[0]])
    status, said = service.get(f"/predict?id={NEW[0]}")
    assert status == 503
    assert "Ask again" in said["error"]


def allowing(run: Path, **limits: object) -> None:
    """Let the lab's owner set limits."""
    allowed = "".join(f"{key} = {value}\n" for key, value in limits.items())
    (run.parent / "lab.toml").write_text(toml("lab", f'{SECRET}[allow]\ninitiators = ["clinic"]\n{allowed}'))


def votes_counted(run: Path) -> int:
    return counted(run.parent / "lab-models" / "ledger.jsonl").of("clinic").units["votes"]


@pytest.mark.parametrize(("key", "words"), [("max_votes_a_day", "votes a day"), ("max_total_votes", "votes in all")])
def test_a_limit_of_a_helper_holds_over_restarts_and_is_named(run, key, words):
    before = votes_counted(run)
    allowing(run, **{key: before + 5})
    with served(run) as service:
        assert one(service)["missing"] == {}
        assert service.predict(*NEW[:4])["missing"] == {}
        refused = one(service)
        assert refused["voted"] == ["clinic", "scans"]
        assert f"allows 'clinic' {before + 5:,} {words}" in refused["missing"]["lab"]
    with served(run) as service:
        assert words in one(service)["missing"]["lab"]
        assert votes_counted(run) == before + 5
    allowing(run, **{key: before + 6})
    with served(run) as service:
        assert one(service)["missing"] == {}


def test_a_helper_whose_owner_takes_the_permission_back_is_named(run):
    (run.parent / "lab.toml").write_text(toml("lab", f'{SECRET}[allow]\ninitiators = ["somebody else"]\n'))
    with served(run) as service:
        assert "does not work for 'clinic'" in one(service)["missing"]["lab"]


def test_a_service_goes_on_by_an_owners_consent_and_ends_with_it_without_a_restart(run):
    settings = RunFolder(run).settings()
    file = run.parent / "lab.toml"
    file.write_text(toml("lab", f'{SECRET}[allow]\ninitiators = ["somebody else"]\n'))
    home = load_description(file).models
    facts = {"run": settings.run, "initiator": "clinic", "purpose": settings.plan.purpose, "method": "ascii"}
    AgentService(holdings_without_table(load_description(file))).answer(
        encode(m.Propose(**facts, n_samples=72, n_rounds=1))
    )
    inbox = Inbox(home, 14)
    [request], _ = inbox.requests()
    inbox.approve(request, "Ada")
    with served(run) as service:
        assert one(service)["missing"] == {}
        inbox.reject(inbox.find(request.request), "Ada", "the contract has ended")
        assert "was taken back" in one(service)["missing"]["lab"]


def test_a_helper_whose_file_is_wrong_is_named_and_comes_back_when_it_is_put_right(run):
    file = run.parent / "lab.toml"
    file.write_text('name = "lab"\n')
    with served(run, wait=False) as service:
        service.predictor.ways["lab"].wait(30)
        assert "cannot start" in one(service)["missing"]["lab"]
        assert service.get("/v2/health/ready") == (503, {"ready": False})
        assert service.get(f"/v2/models/{service.model}/ready") == (503, {"name": service.model, "ready": False})
        file.write_text(toml("lab"))
        until_back(service, "lab")
        assert service.get("/v2/health/ready") == (200, {"ready": True})


def test_a_request_that_is_under_way_is_answered_when_the_service_is_to_stop(run):
    with served(run) as service, ThreadPoolExecutor(1) as client:
        warmed(service)
        pid = service.pid("lab")
        os.kill(pid, signal.SIGSTOP)
        try:
            answer = client.submit(one, service)
            time.sleep(0.2)
            service.stop()
            assert answer.result(30)["voted"] == ["clinic", "scans"]
        finally:
            os.kill(pid, signal.SIGCONT)
        with pytest.raises(ConnectionError):
            one(service)


def test_nothing_is_left_behind(run):
    descriptors = len(os.listdir("/proc/self/fd"))
    threads = threading.active_count()
    with served(run) as service:
        pids = [service.pid(name) for name in ("lab", "scans")]
        one(service)
    assert not any(Path(f"/proc/{pid}/cmdline").exists() and _lives(pid) for pid in pids)
    assert threading.active_count() <= threads
    assert len(os.listdir("/proc/self/fd")) <= descriptors
    assert not list(run.glob("*.new"))


def _lives(pid: int) -> bool:
    return " Z " not in Path(f"/proc/{pid}/stat").read_text()
