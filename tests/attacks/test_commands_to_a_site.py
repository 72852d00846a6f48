"""A member that nobody allows anything tries to command another's site, its job, and the relay.

Each is tried over a relay that holds to its list, and over one that passes everything on: the site stands alone.
"""

from __future__ import annotations

import os
import socket
import uuid
from pathlib import Path

import pytest

pytest.importorskip("nvflare", reason="needs the extra [flare]")

from nvflare.private.admin_defs import Message as AdminMessage

from tests.attacks.attack import attack
from tests.attacks.attackers import Door, HostileRelay, Member, relay_log, said_by_relay
from tests.attacks.forging import Forged, command, forged, streamed
from tests.reach.organisations import HELPERS, STRANGER

pytestmark = pytest.mark.network

LAB, SCANS, SHOP = HELPERS
DECOMPOSER = "nvflare.fuel.utils.fobs.decomposer.DataClassDecomposer"


def tried_both_ways(made, member: Member, message: Forged, *what: str, at: str = LAB) -> None:
    """Send something over a relay that holds to its list, which refuses it, then over one that lets all pass."""
    start = relay_log(made)
    member.send(message)
    said_by_relay(made, start, f"Refused from {STRANGER}", *what)
    door = Door(made, at)
    with HostileRelay(made):
        member.send(message)
        door.refused(*what)


@attack("member", "reads table, secret and key of another's site by FLARE's shell", "refused by relay and site")
@pytest.mark.parametrize("file", ["agents/lab.csv", "agents/shared.key", "kits/lab/startup/client.key"])
def test_a_member_reads_no_file_of_a_site(organisations, stranger, file):
    """FLARE's shell runs ``cat``, ``grep``, ``head``, ``tail`` and ``ls``, and sends what they say back."""
    message = AdminMessage(topic="sys.shell", body=f"cat {organisations.folder / file}")
    assert stranger.ask(LAB, "admin", "admin", message, 1.0) == ("timeout", None)
    door = Door(organisations, LAB)
    with HostileRelay(organisations):
        assert stranger.ask(LAB, "admin", "admin", message, 1.0) == ("timeout", None)
        door.refused("FLARE admin/admin", peer=STRANGER)


@attack("member", "has another's site remove its models and ledger (FLARE's DELETE_RUN)", "refused; nothing is removed")
@pytest.mark.parametrize("job_id", ["models", "../../agents", "8e2a1f0c-5b7d-4c3e-9a64-d1f0b2c3e4a5"])
def test_a_member_removes_nothing(organisations, stranger, job_id):
    kit = organisations.network.kit(LAB)
    kept = [kit / "models" / "kept", kit / "local" / "resources.json", organisations.files[LAB]]
    kept[0].parent.mkdir(exist_ok=True)
    kept[0].touch()
    message = command(LAB, "train.delete_run", job_id=job_id, origin=STRANGER)
    tried_both_ways(organisations, stranger, message, "FLARE admin/admin")
    assert all(file.exists() for file in kept)


@attack("member", "shuts another's site down, or restarts it", "refused; the same process goes on")
@pytest.mark.parametrize("topic", ["train.shutdown", "train.restart"])
def test_a_member_stops_no_site(organisations, stranger, topic):
    before = processes(organisations, LAB)
    tried_both_ways(organisations, stranger, command(LAB, topic, origin=STRANGER), "FLARE admin/admin")
    kit = organisations.network.kit(LAB)
    assert not (kit / "shutdown.fl").exists()
    assert not (kit / "restart.fl").exists()
    assert processes(organisations, LAB) == before


@attack("member", "ends a job of others, at a site's parent, at its job, at the relay", "refused; the job goes on")
def test_a_member_ends_no_job(organisations, stranger, job):
    before = processes(organisations, LAB)
    tried_both_ways(
        organisations, stranger, command(LAB, "train.abort", job_id=job, origin=STRANGER), "FLARE admin/admin"
    )
    own = f"{LAB}.{job}"
    tried_both_ways(
        organisations,
        stranger,
        forged(own, "client_command", "abort", {}, origin=STRANGER),
        "FLARE client_command/abort",
    )
    start = relay_log(organisations)
    stranger.send(streamed(f"server.{job}", "server_command", "abort", {}, origin=f"{STRANGER}.{job}"))
    stranger.send(forged("server", "server_parent_listener", "update_run_status", {}, origin=STRANGER))
    said_by_relay(organisations, start, "FLARE server_command/abort", "FLARE server_parent_listener/update_run_status")
    assert processes(organisations, LAB) == before


@attack("member", "gives commands in the relay's name, or in that of the site itself", "refused by the relay")
@pytest.mark.parametrize("name", ["server", LAB, "server.{job}", SCANS])
def test_a_member_speaks_in_nobody_elses_name(organisations, stranger, job, name):
    origin = name.format(job=job)
    door = Door(organisations, LAB)
    start = relay_log(organisations)
    for message in (
        command(LAB, "sys.shell", "id", origin=origin),
        streamed(f"{LAB}.{job}", "collab", "call", {}, origin=origin, method="leads"),
    ):
        stranger.send(message)
    said_by_relay(organisations, start, f"Refused from {origin}", f"it came from '{STRANGER}' in another's name")
    assert door.refused() == []


@attack("member", "uses FLARE's own tools on another's cell: stop it, move it to another relay, measure it", "refused")
@pytest.mark.parametrize("topic", ["stop", "stop_cell", "change_root", "speed", "stress", "config_vars"])
def test_flares_tools_obey_no_member(organisations, stranger, topic):
    message = forged(LAB, "_net_manager", topic, "http://localhost:1", origin=STRANGER)
    tried_both_ways(organisations, stranger, message, f"FLARE _net_manager/{topic}")


@attack("member", "hides a command in a packet of several messages", "refused: no process takes such packets")
def test_a_packet_of_messages_is_refused(organisations, stranger):
    inner = {"headers": {}, "payload": b""}
    packet = [{"target": LAB, "channel": "_net_manager", "topic": "stop_cell", "message": inner}]
    message = forged(LAB, "cellnet.channel", "bulk", packet, origin=STRANGER)
    tried_both_ways(organisations, stranger, message, "FLARE cellnet.channel/bulk")


@attack("member", "names an address for a site's job to connect to", "refused; nobody connects")
def test_a_site_connects_to_nobody_but_the_relay(organisations, stranger, job):
    with socket.create_server(("127.0.0.1", 0)) as trap:
        url = f"tcp://127.0.0.1:{trap.getsockname()[1]}"
        own = f"{LAB}.{job}"
        message = forged(own, "credential_manager", "key_exchange", {}, origin=f"{STRANGER}.{job}", cn__conn_url=url)
        tried_both_ways(organisations, stranger, message, "FLARE credential_manager/key_exchange")
        trap.settimeout(2)
        with pytest.raises(TimeoutError):
            trap.accept()


@attack("member", "asks an agent for something, unencrypted, in a job it is not part of", "refused: it is not sealed")
def test_an_open_request_to_a_job_is_refused(organisations, stranger, job):
    content = {"method_name": "ask", "kwargs": {"number": "1", "request": b"x"}}
    message = streamed(f"{LAB}.{job}", "collab", "call", content, origin=f"{STRANGER}.{job}", method="ask")
    tried_both_ways(organisations, stranger, message, "FLARE collab/call")


@attack("member", "calls methods of a site's part in a job that are not for others", "refused before it is decoded")
@pytest.mark.parametrize("method", ["_answer", "__init__", "lead", "leads", "__class__"])
def test_only_our_methods_are_called(organisations, stranger, job, method):
    message = streamed(f"{LAB}.{job}", "collab", "call", {}, origin=f"{STRANGER}.{job}", method=method)
    tried_both_ways(organisations, stranger, message, "FLARE collab/call")


@attack("member", "writes into a message that FLARE has found it to be the initiator", "refused: nobody may write that")
def test_nobody_writes_who_the_caller_is(organisations, stranger, job):
    message = streamed(
        f"{LAB}.{job}",
        "return_only",
        "collab:call",
        {},
        origin=f"{STRANGER}.{job}",
        collab__authenticated_caller="clinic",
        cn__secure=True,
        cn__encrypted=True,
    )
    tried_both_ways(organisations, stranger, message, "FLARE return_only/collab:call")


@attack(
    "member", "sends the relay a content that makes it build objects of a type it names", "refused; nothing is built"
)
def test_a_content_builds_nothing(organisations, stranger):
    import msgpack

    for type_ in ("nvflare.apis.fl_snapshot.RunSnapshot", "argparse.Namespace", "subprocess.Popen"):
        inner = {
            "__fobs_type__": type_,
            "__fobs_data__": {},
            "__fobs_dc__": "nvflare.fuel.utils.fobs.decomposer.DataClassDecomposer",
        }
        start = relay_log(organisations)
        stranger.send(forged("server", "task", "heart_beat", section(100, msgpack.packb(inner)), origin=STRANGER))
        said_by_relay(organisations, start, "The content of a message names a type that no message of this network has")


@attack(
    "member", "sends a file inside of a content, which FLARE would write to the disk", "refused; no file is written"
)
def test_a_content_brings_no_file(organisations, stranger):
    number = uuid.uuid4()
    content = section(100, b"\x80") + section(103, number.bytes + b"a file")
    start = relay_log(organisations)
    stranger.send(forged("server", "task", "quit", content, origin=STRANGER))
    said_by_relay(organisations, start, "The content of a message brings a file")
    assert not Path("/tmp/nvflare/datums", f"{number}.dat").exists()


@attack("member", "connects as if it were a session of the admin", "refused: its certificate is not the admin's")
def test_a_member_is_no_admin(organisations):
    name = f"_admin_{uuid.uuid4()}"
    member = Member(organisations.network.kit(STRANGER), name)
    try:
        assert member.connected()
        start = relay_log(organisations)
        member.send(streamed("server", "hci_channel", "command", {}, origin=name))
        member.send(forged("server", "task", "challenge", {}, origin=name))
        said_by_relay(organisations, start, f"opened with the certificate of '{STRANGER}'", "FLARE task/challenge")
    finally:
        member.close()


@attack("member", "writes a topic that would steer a terminal into a site's log and ledger", "shown without its power")
def test_a_topic_steers_no_terminal(organisations, stranger):
    door = Door(organisations, SCANS)
    with HostileRelay(organisations):
        stranger.send(forged(SCANS, "admin", "\x1b]0;owned\x07" + "x" * 5000, {}, origin=STRANGER))
        (entry,) = door.refused("FLARE admin/?]0;owned?" + "x" * 70)
    assert entry.type.isprintable()
    assert len(entry.type) < 200


def section(marker: int, content: bytes) -> bytes:
    """Return a part of a content, as FLARE writes it."""
    return bytes([marker, 0]) + len(content).to_bytes(8, "big") + content


def processes(made, name: str) -> set[int]:
    """Return the processes of a site."""
    import psutil

    family = psutil.Process(made.network.processes[name].pid).children(recursive=True)
    assert family
    return {one.pid for one in family if one.uids().real == os.getuid()}
