"""Whoever runs the relay has changed its software: it may let sites take part in our jobs, and no more."""

from __future__ import annotations

import io
import json
import uuid
import zipfile
from pathlib import Path

import pytest

pytest.importorskip("nvflare", reason="needs the extra [flare]")

from assistlearn.reach.flare.carrying.job_definition import SITE_FILE, meta, write_job
from assistlearn.reach.flare.guard.job_requests import SIGNED
from tests.attacks.attack import attack
from tests.attacks.attackers import Door, HostileRelay
from tests.attacks.forging import Forged, command, forged, streamed
from tests.attacks.test_commands_to_a_site import processes
from tests.reach.organisations import HELPERS, INITIATOR, NAMES

pytestmark = pytest.mark.network

LAB, SCANS, SHOP = HELPERS
NUMBER = str(uuid.uuid4())


@pytest.fixture
def relay(organisations) -> HostileRelay:
    return HostileRelay(organisations)


@pytest.fixture
def door(organisations) -> Door:
    return Door(organisations, SCANS)


@attack("relay", "reads files of a site by FLARE's shell", "refused; in the site's ledger")
def test_the_relay_has_no_shell_at_a_site(organisations, relay, door):
    relay.say(command(SCANS, "sys.shell", f"cat {organisations.folder / 'agents' / 'shared.key'}", origin="server"))
    door.refused("FLARE admin/sys.shell", peer="server")
    frames = organisations.taps.glob("relay-*.frames")
    assert not any(b"a secret that all agents share" in file.read_bytes() for file in frames)


@attack(
    "relay", "removes folders, shuts down, restarts, reconfigures, calls components of a site", "refused; in its ledger"
)
@pytest.mark.parametrize(
    "topic",
    ["train.delete_run", "train.shutdown", "train.restart", "sys.configure_site_log", "comp_caller.call", "sys.info"],
)
def test_the_relay_gives_no_other_commands(organisations, relay, door, topic):
    before = processes(organisations, SCANS)
    relay.say(command(SCANS, topic, {}, job_id="models", origin="server"))
    door.refused(f"FLARE admin/{topic}", peer="server")
    assert processes(organisations, SCANS) == before


@attack("relay", "has a site take, start or end a job that is called like a folder", "refused: a job is a UUID")
@pytest.mark.parametrize("topic", ["train.deploy", "train.start_job", "train.abort", "scheduler.check_resource"])
def test_a_job_is_called_by_a_uuid(relay, door, topic):
    relay.say(command(SCANS, topic, b"", job_id="../models", job_meta={"job_id": "../models"}, origin="server"))
    door.refused(f"FLARE admin/{topic}", peer="server")


def files_of(tmp_path: Path, **others: str) -> dict[str, str]:
    """Return the files of a job of ours at a site, and others."""
    job = write_job(tmp_path / "job", "0" * 32, INITIATOR, NAMES)
    return {SITE_FILE: (job / "site" / SITE_FILE).read_text()} | dict.fromkeys(SIGNED, "{}") | others


def deployed(files: dict[str, str], name: str = "site", **facts: object) -> Forged:
    """Return a request to take a job."""
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w") as archive:
        for path, text in files.items():
            archive.writestr(path, text)
    said = meta(INITIATOR, NAMES) | {"job_id": NUMBER, "study": "default"} | facts
    return command(
        SCANS, "train.deploy", packed.getvalue(), job_id=NUMBER, job_meta=said, app_name=name, origin="server"
    )


@attack("relay", "sends a site a job with code of its own", "refused: a job has one file, which is always the same")
@pytest.mark.parametrize("path", ["custom/mine.py", "config/mine.py", "mine.py"])
def test_a_job_brings_no_code(organisations, relay, door, tmp_path, path):
    relay.say(deployed(files_of(tmp_path) | {path: f"open({str(tmp_path / 'it ran')!r}, 'w')"}))
    door.refused("FLARE admin/train.deploy", peer="server")
    assert not (organisations.network.kit(SCANS) / NUMBER).exists()


@attack("relay", "sends a site a job whose files lie outside of its folder", "refused; nothing is written")
@pytest.mark.parametrize("path", ["../../agent.toml", "/tmp/assistlearn-was-here", "config/../../x"])
def test_a_job_writes_nowhere_else(relay, door, tmp_path, path):
    relay.say(deployed(files_of(tmp_path) | {path: "mine"}))
    door.refused("FLARE admin/train.deploy", peer="server")
    assert not Path("/tmp/assistlearn-was-here").exists()


@attack(
    "relay", "sends a site a job with other classes, tasks or filters, or another socket", "refused: it is not our job"
)
@pytest.mark.parametrize(
    "change",
    [
        lambda values: values["components"].append({"id": "x", "path": "subprocess.Popen", "args": {"args": ["id"]}}),
        lambda values: values["components"][0].update(path="assistlearn.reach.flare.site.apps.Relay"),
        lambda values: values["components"][0]["args"].update(command="../agent.toml"),
        lambda values: values["executors"][0].update(tasks=["sync"]),
        lambda values: values.update(task_data_filters=[]),
    ],
)
def test_a_job_names_nothing_but_ours(relay, door, tmp_path, change):
    files = files_of(tmp_path)
    values = json.loads(files[SITE_FILE])
    change(values)
    relay.say(deployed(files | {SITE_FILE: json.dumps(values)}))
    door.refused("FLARE admin/train.deploy", peer="server")


@attack("relay", "sends a site a job to be run in a container, with resources or rights of its own", "refused")
@pytest.mark.parametrize(
    "facts",
    [
        {"launcher_spec": {"docker": {"image": "x"}}},
        {"resource_spec": {SCANS: {"gpu": 1}}},
        {"byoc": True},
        {"scope": "x"},
    ],
)
def test_a_job_asks_for_nothing_more(relay, door, tmp_path, facts):
    relay.say(deployed(files_of(tmp_path), **facts))
    door.refused("FLARE admin/train.deploy", peer="server")


@attack(
    "relay", "starts a job that no admin of the initiator has signed", "refused: the signature is missing, or wrong"
)
@pytest.mark.parametrize("signed", [True, False])
def test_a_job_is_signed_by_the_initiators_admin(organisations, relay, door, tmp_path, signed):
    files = files_of(tmp_path)
    relay.say(deployed(files if signed else {SITE_FILE: files[SITE_FILE]}))
    if not signed:
        door.refused("FLARE admin/train.deploy", peer="server")
    relay.say(command(SCANS, "train.get_scopes", origin="server"))
    door.refused("FLARE admin/train.get_scopes", peer="server")  # it has looked at the job before
    assert not (organisations.network.kit(SCANS) / NUMBER).exists()


@attack("relay", "says that the initiator is reached at another member, which then asks as the initiator", "refused")
@pytest.mark.parametrize("key", ["fqcn", "fqsn"])
@pytest.mark.parametrize("topic", ["train.deploy", "train.start_job"])
def test_no_site_answers_under_anothers_name(relay, door, tmp_path, key, topic):
    members = [{"name": name} for name in NAMES]
    members[0][key] = SHOP
    said = meta(INITIATOR, NAMES) | {"job_id": NUMBER, "study": "default", "job_clients": members}
    relay.say(command(SCANS, topic, {}, job_id=NUMBER, job_meta=said, app_name="site", origin="server"))
    door.refused(f"FLARE admin/{topic}", peer="server")


@attack("relay", "speaks to a site in that site's own name", "refused: its own processes do not come over the network")
def test_nobody_outside_bears_a_sites_own_name(relay, door, job):
    own = f"{SCANS}.{job}"
    relay.say(forged(SCANS, "admin", "train.notify_job_status", {}, origin=own))
    relay.say(forged(own, "client_command", "abort", {}, origin=SCANS))
    door.refused("FLARE admin/train.notify_job_status", peer=own)
    door.refused("FLARE client_command/abort", peer=SCANS)


@attack("relay", "gives a site's job commands: abort, logs, statistics, tasks, downloads", "refused; in the ledger")
@pytest.mark.parametrize(
    ("channel", "topic"),
    [
        ("client_command", "abort"),
        ("client_command", "configure_job_log"),
        ("client_command", "show_stats"),
        ("_net_manager", "stop_cell"),
        ("cellnet.channel", "bulk"),
        ("download_service__", "download_service__download"),
    ],
)
def test_a_job_obeys_its_own_site(relay, door, job, channel, topic):
    for origin in ("server", f"server.{job}"):
        relay.say(forged(f"{SCANS}.{job}", channel, topic, {}, origin=origin))
        door.refused(f"FLARE {channel}/{topic}", peer=origin)


@attack(
    "relay", "asks an agent for a turn itself, or has a site tell how FLARE stands", "refused: it may start, and look"
)
@pytest.mark.parametrize(
    ("channel", "topic", "method"),
    [("collab", "call", "ask"), ("collab", "call", "_answer"), ("aux_communication", "__do_task__", "")],
)
def test_the_relay_asks_no_agent(relay, door, job, channel, topic, method):
    relay.say(streamed(f"{SCANS}.{job}", channel, topic, {}, origin=f"server.{job}", method=method))
    door.refused(f"FLARE {channel}/{topic}", peer=f"server.{job}")


@attack(
    "relay", "asks an agent in the initiator's name, or answers in a helper's, unencrypted", "refused: it is not sealed"
)
@pytest.mark.parametrize(("channel", "topic"), [("collab", "call"), ("return_only", "collab:call")])
def test_the_relay_speaks_for_no_site(relay, door, job, channel, topic):
    origin = f"{INITIATOR}.{job}"
    relay.say(streamed(f"{SCANS}.{job}", channel, topic, {}, origin=origin, method="ask"))
    door.refused(f"FLARE {channel}/{topic}", peer=origin)


@attack("relay", "brings messages of another job into this one", "refused: a job hears of its own alone")
def test_a_job_hears_of_its_own_alone(relay, door, job):
    for origin in (f"server.{NUMBER}", f"{INITIATOR}.{NUMBER}"):
        relay.say(streamed(f"{SCANS}.{job}", "collab", "call", {}, origin=origin, method="leads"))
        door.refused("FLARE collab/call", peer=origin)


@attack("relay", "answers what was never asked, with a content that builds something", "dropped before it is decoded")
def test_answers_to_nothing_are_dropped(organisations, relay, door):
    before = processes(organisations, SCANS)
    log = organisations.network.kit(SCANS) / "site.log"
    start = log.stat().st_size
    for kind in ("reply", "return"):
        relay.say(forged(SCANS, "task", "heart_beat", b"no content at all", kind=kind, origin="server"))
    relay.say(command(SCANS, "train.get_scopes", origin="server"))
    door.refused("FLARE admin/train.get_scopes", peer="server")
    assert b"Traceback" not in log.read_bytes()[start:]
    assert processes(organisations, SCANS) == before
