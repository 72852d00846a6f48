"""What a process of FLARE takes from others: laws of the guard, without a network."""

from __future__ import annotations

import threading
import time
import uuid

import pytest
from hypothesis import given
from hypothesis import strategies as st

pytest.importorskip("nvflare", reason="needs the extra [flare]")

from nvflare.fuel.f3.drivers.connector_info import ConnectorInfo, Mode
from nvflare.fuel.f3.drivers.net_utils import parse_url
from nvflare.private.admin_defs import Message as AdminMessage

from assistlearn.reach.flare.carrying.job_definition import meta
from assistlearn.reach.flare.guard.cell_names import CellName, parsed, plain
from assistlearn.reach.flare.guard.envelope import read as read_envelope
from assistlearn.reach.flare.guard.job_requests import refused
from assistlearn.reach.flare.guard.judging import TAKE, Judge
from assistlearn.reach.flare.guard.lists import CALL, METHODS, TAKEN
from assistlearn.reach.flare.guard.refusals import Refusals
from assistlearn.reach.flare.guard.unix_driver import UnixDriver

JOB, OTHER_JOB = (str(uuid.UUID(int=number)) for number in (1, 2))
BANK, SHOP, RELAY = CellName("bank"), CellName("shop"), CellName("server")
BANK_JOB, SHOP_JOB, RELAY_JOB = (CellName(cell.site, JOB) for cell in (BANK, SHOP, RELAY))


def headers(origin: str, to: str, form: str, channel: str, topic: str, method: str = "", kind: str = "req"):
    facts = {"cn__msg_type": kind, "cn__origin": origin, "cn__destination": to, "collab__method_name": method}
    facts |= {"cn__secure": True, "cn__encrypted": True}
    if form == "stream":
        return facts | {"cn__channel": "sm__STREAM", "cn__topic": "sm__DATA", "sm__ch": channel, "sm__tp": topic}
    return facts | {"cn__channel": channel, "cn__topic": topic}


def name(cell: CellName) -> str:
    return f"{cell.site}.{cell.job}" if cell.job else cell.site


def judged(process, me, row, origin, neighbour, side="outside", certified="", to=None):
    method = sorted(METHODS.get(row[1], {""}))[0] if row[3:] == CALL else ""
    written = read_envelope(headers(name(origin), name(to or me), *row[2:], method=method))
    return Judge(process, me).verdict(written, neighbour, side, certified)


SENDERS = {
    "relay": RELAY,
    "relay-job": RELAY_JOB,
    "site": SHOP,
    "job": SHOP_JOB,
    "admin": CellName(f"_admin_{JOB}"),
}


@pytest.mark.parametrize("row", sorted(row for row in TAKEN if row[0] in ("site", "job") and row[1] in SENDERS))
def test_what_is_on_the_list_is_taken_from_its_sender_over_the_relay_and_from_nobody_else(row):
    me = BANK if row[0] == "site" else BANK_JOB
    for who, origin in SENDERS.items():
        expected = (row[0], who, *row[2:]) in TAKEN
        verdict = judged(row[0], me, row, origin, RELAY)
        assert verdict == TAKE or not (expected and who == row[1]), (who, verdict)
        if not expected:
            assert verdict != TAKE, who
    assert judged(row[0], me, row, SENDERS[row[1]], SHOP) != TAKE  # not over somebody else's connection
    assert judged(row[0], me, row, BANK, RELAY) != TAKE  # not in our own name
    assert judged(row[0], me, row, CellName(SENDERS[row[1]].site, OTHER_JOB), RELAY) != TAKE  # not of another job


@pytest.mark.parametrize("certified", ["shop", "bank", "localhost", "admin@bank.org", ""])
def test_the_relay_takes_from_a_connection_only_the_name_in_its_certificate(certified):
    row = ("relay", "site", "plain", "task", "heart_beat")
    assert (judged("relay", RELAY, row, SHOP, SHOP, certified=certified) == TAKE) == (certified == "shop")
    admin = SENDERS["admin"]
    row = ("relay", "admin", "stream", "hci_channel", "command")
    assert (judged("relay", RELAY, row, admin, admin, certified=certified) == TAKE) == ("@" in certified)


def test_the_relay_passes_on_within_a_job_alone():
    row = ("job", "job", "stream", *CALL)
    for to, passed in ((BANK_JOB, True), (CellName("bank", OTHER_JOB), False), (BANK, False), (SHOP_JOB, False)):
        verdict = judged("relay", RELAY, row, SHOP_JOB, SHOP_JOB, certified="shop", to=to)
        assert (verdict == TAKE) == passed, (to, verdict)


def test_a_site_passes_on_to_its_own_jobs_alone():
    row = ("job", "relay-job", "stream", *CALL)
    assert judged("site", BANK, row, RELAY_JOB, RELAY, to=BANK_JOB) == TAKE
    assert judged("site", BANK, row, RELAY_JOB, RELAY, to=SHOP_JOB) != TAKE
    assert judged("site", BANK, row, SHOP, RELAY, to=BANK_JOB) != TAKE


def test_inside_a_process_bears_its_own_name():
    row = ("site", "own job", "plain", "admin", "train.notify_job_status")
    assert judged("site", BANK, row, BANK_JOB, BANK_JOB, "inside") == TAKE
    for origin, neighbour in ((RELAY, RELAY), (RELAY, BANK_JOB), (SHOP_JOB, SHOP_JOB), (BANK, BANK)):
        assert judged("site", BANK, row, origin, neighbour, "inside") != TAKE


WORDS = st.sampled_from(["admin", "task", "sm__STREAM", "sm__DATA", "collab", "call", "server", "", 3, None, ["x"]])


@given(st.dictionaries(st.sampled_from(sorted(headers("", "", "stream", "", ""))), WORDS))
def test_no_envelope_breaks_the_guard(facts):
    envelope = read_envelope(facts)
    for process, me in (("site", BANK), ("job", BANK_JOB), ("relay", RELAY), ("relay-job", RELAY_JOB)):
        for neighbour in (RELAY, BANK_JOB, None):
            for side in ("inside", "outside"):
                Judge(process, me).verdict(envelope, neighbour, side, "")


@given(st.text())
def test_no_text_is_a_name_unless_it_is_one_and_plain_words_are_short_and_printable(text):
    cell = parsed(text)
    assert cell is None or name(cell) == text
    assert plain(text).isprintable()
    assert len(plain(text)) <= 80


def test_a_ledger_that_cannot_be_written_stops_nothing(caplog):
    def full(peer: str, what: str, content: bytes) -> None:
        raise OSError("No space left on device")

    refusals = Refusals(full)
    refusals.note("stranger", "FLARE admin/sys.shell", "no", b"")
    refusals.write()
    assert "Refused from stranger: FLARE admin/sys.shell: no." in caplog.text
    assert "No space left on device" in caplog.text


def test_parent_and_job_talk_over_a_socket_in_a_folder_of_any_length(tmp_path):
    folder = tmp_path / ("a long name with spaces? " * 4) / ("x" * 100)
    url, listening = UnixDriver.get_urls("unix", {"folder": str(folder)})
    assert url == listening
    assert folder.stat().st_mode & 0o777 == 0o700
    parent, child = UnixDriver(), UnixDriver()
    connected = threading.Event()

    class Monitor:
        def state_change(self, connection):
            connected.set()

    for driver in (parent, child):
        driver.register_conn_monitor(Monitor())
    ends = [ConnectorInfo("x", driver, parse_url(url), mode, 0, 0, False, threading.Event())
            for driver, mode in ((parent, Mode.PASSIVE), (child, Mode.ACTIVE))]  # fmt: skip
    threading.Thread(target=parent.listen, args=(ends[0],), daemon=True).start()
    threading.Thread(target=connect_when_it_listens, args=(child, ends[1]), daemon=True).start()
    assert connected.wait(10)
    assert (folder / "jobs.socket").is_socket()
    child.shutdown()
    parent.shutdown()


def connect_when_it_listens(driver: UnixDriver, end: ConnectorInfo) -> None:
    while True:
        try:
            return driver.connect(end)
        except (FileNotFoundError, ConnectionRefusedError):
            time.sleep(0.01)


def request(topic: str, body: object = b"", **headers: object) -> AdminMessage:
    made = AdminMessage(topic=topic, body=body)
    for key, value in headers.items():
        made.set_header(key, value)
    return made


def test_a_job_of_ours_is_taken_and_started_and_one_whose_members_are_misnamed_is_not():
    said = meta("bank", ["bank", "shop"]) | {"job_id": JOB, "study": "default", "status": "SUBMITTED"}
    for members, taken in (
        ([{"name": "bank", "site_config": {}}, {"name": "shop", "fqcn": "shop"}], True),
        ([{"name": "bank", "fqcn": "shop"}, {"name": "shop"}], False),
        ([{"name": "bank", "fqsn": "shop"}], False),
        ([{"name": "mallory"}], False),
        ([{"name": ["bank"]}], False),
        ([{"name": "bank", "token": "x"}], False),
        ("bank", False),
    ):
        start = request("train.start_job", {}, job_id=JOB, job_meta=said | {"job_clients": members})
        assert (refused(start, RELAY, "shop") == "") == taken, members
    assert refused(request("train.start_job", {}, job_id=JOB, job_meta=said), RELAY, "lab") != ""
    assert "8 jobs run here already" in refused(request("scheduler.check_resource", {}, job_id=JOB), RELAY, "shop", 8)
    assert refused(request("train.abort", job_id=JOB), RELAY, "shop", 8) == ""
    assert refused(request("train.abort", job_id=JOB), BANK, "shop") != ""
