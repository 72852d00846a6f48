"""Members come and go while a network runs, and who was revoked stays outside; the tests follow each other in time."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator

import pytest

pytest.importorskip("nvflare", reason="needs the extra [flare]")

from assistlearn.errors import NetworkError, UnreachableError
from assistlearn.protocol import decode, encode
from assistlearn.protocol import messages as m
from assistlearn.reach.flare.carrying.control import Control
from assistlearn.reach.flare.carrying.job_definition import write_job
from assistlearn.reach.flare.provisioning.kit import load_kit
from tests.attacks.attack import attack
from tests.attacks.member_network import FIRST, LATER, MemberNetwork, copied, joined, ok

pytestmark = [pytest.mark.network, pytest.mark.slow]


@pytest.fixture(scope="module")
def members(tmp_path_factory) -> Iterator[MemberNetwork]:
    made = MemberNetwork(tmp_path_factory.mktemp("members"))
    try:
        made.start("relay", *FIRST)
        yield made
    finally:
        made.stop()


@pytest.fixture(scope="module")
def before(members) -> dict[str, int]:
    """The processes that were there first."""
    return members.pids


def opening(run: str, initiator: str) -> bytes:
    return encode(m.Open(run=run, initiator=initiator, purpose="", alignment="hash", overlap="abstain"))


def test_each_of_two_initiators_trains_with_the_other_and_a_common_helper(members, before):
    for run, initiator, helpers in (("r1", "bank", ["shop", "lab"]), ("r2", "shop", ["bank", "lab"])):
        said = members.train(run, initiator, helpers)
        assert said.code == 0, said.err
        assert {one["agent"] for one in said.json["result"]["contributions"]} == {initiator, *helpers}


def test_two_initiators_ask_one_helper_at_the_same_time(members):
    with members.transport("bank", "lab") as one, members.transport("shop", "lab") as other:
        for run, carrier, initiator in (("t1", one, "bank"), ("t2", other, "shop"), ("t3", one, "bank")):
            assert isinstance(decode(carrier.ask("lab", opening(run, initiator))), m.Opened)
        with Control(load_kit(members.admin("bank"))) as control:
            control.connected()
            jobs = control._session.list_jobs()
        assert [job["status"] for job in jobs].count("RUNNING") == 2


@attack("initiator", "ends a job of another initiator with its admin kit", "refused: only who started a job may end it")
def test_an_initiator_cannot_end_the_job_of_another(members):
    with members.transport("bank", "lab") as carrier, Control(load_kit(members.admin("shop"))) as control:
        assert isinstance(decode(carrier.ask("lab", opening("t4", "bank"))), m.Opened)
        control.connected()
        (running,) = [job["job_id"] for job in control._session.list_jobs() if job["status"] == "RUNNING"]
        with pytest.raises(NetworkError, match="not authorized"):
            control._do("abort_job", running)
        assert isinstance(decode(carrier.ask("lab", opening("t5", "bank"))), m.Opened)


@attack("member", "uses its site's certificate as an admin's", "it may do nothing: the certificate gives it no role")
def test_a_members_certificate_is_no_admins(members, tmp_path):
    kit = copied(members.admin("bank"), tmp_path / "admin")
    for part in ("client.crt", "client.key"):
        (kit / "startup" / part).write_bytes((members.kit("lab") / "startup" / part).read_bytes())
    facts = json.loads((kit / "startup" / "fed_admin.json").read_text())
    facts["admin"]["username"] = "lab"
    (kit / "startup" / "fed_admin.json").write_text(json.dumps(facts))
    job = write_job(tmp_path / "job", "0" * 32, "lab", ["lab", "bank"])
    with Control(load_kit(kit)) as control:
        for command in (lambda: control.submit(job), control.connected):
            with pytest.raises(NetworkError, match=r"not authorized|does not accept commands"):
                command()


def test_a_fourth_member_joins_while_the_others_run_and_helps(members, before):
    file = members.authority.place / "network.toml"
    file.write_text(file.read_text().replace('"lab"]', f'"lab", "{LATER}"]'))
    joined(members.authority, members.kit(LATER), LATER)
    members.start(LATER)
    said = members.train("r3", "bank", [LATER, "lab"])
    assert said.code == 0, said.err
    assert {one["agent"] for one in said.json["result"]["contributions"]} == {"bank", LATER, "lab"}
    assert before.items() <= members.pids.items()


def test_a_member_is_renewed_and_its_old_certificate_revoked_while_all_run(members, before):
    authority, old = members.authority, (members.kit("lab") / "startup" / "client.crt").read_bytes()
    file = authority.folder / "lab-2.member"
    authority.do("renew", "lab", "--out", file, "--force")
    ok("site", "join", members.kit("lab"), file)
    assert (members.kit("lab") / "startup" / "client.crt").read_bytes() != old
    authority.do("revoke", "lab", "--replaced")
    members.install("relay", *FIRST, LATER)
    wait_for(lambda: "the certificate was revoked; the connection is ended" in log(members, "relay"), 30)
    members.network.wait(120)
    said = members.train("r4", "bank", ["lab", "shop"])
    assert said.code == 0, said.err
    assert before.items() <= members.pids.items()


@attack(
    "relay",
    "passes on messages of a member that was revoked",
    "no site opens them, and none sends it anything: each site has the list itself",
)
def test_a_revoked_member_cannot_ask_or_answer_even_if_the_relay_lets_it(members, before):
    members.authority.do("revoke", "shop")
    members.install("bank", "lab")
    with members.transport("shop", "lab", give_up_after=15.0) as carrier, pytest.raises(UnreachableError):
        carrier.ask("lab", opening("late-1", "shop"))
    with members.transport("bank", "shop", give_up_after=15.0) as carrier, pytest.raises(UnreachableError):
        carrier.ask("shop", opening("late-2", "bank"))
    assert "was revoked; nothing is exchanged with it" in log(members, "lab")
    ledger = (members.folder / "agents" / "lab-models" / "ledger.jsonl").read_text()
    assert "late-1" not in ledger


@attack(
    "member",
    "connects after it was revoked, as a site and as an admin",
    "the relay ends its connections and takes no new ones, without a restart of anybody",
)
def test_a_revoked_member_no_longer_gets_in(members, before):
    assert "shop" in connected(members)
    members.install("relay")
    wait_for(lambda: "shop" not in connected(members), 120)
    refused = log(members, "relay").count("the certificate was revoked; the connection was refused")
    with (
        Control(load_kit(members.admin("shop"))) as control,
        pytest.raises(NetworkError, match="does not accept commands"),
    ):
        control.connected()
    wait_for(
        lambda: log(members, "relay").count("the certificate was revoked; the connection was refused") > refused + 1, 60
    )
    assert "shop" not in connected(members)
    said = members.train("r5", "bank", ["lab", LATER])
    assert said.code == 0, said.err
    assert before.items() <= members.pids.items()


def connected(members: MemberNetwork) -> list[str]:
    with Control(load_kit(members.admin("bank"))) as control:
        return control.connected()


def log(members: MemberNetwork, name: str) -> str:
    return (members.kit(name) / "site.log").read_text(errors="replace")


def wait_for(condition, seconds: float) -> None:
    until = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < until
        time.sleep(1.0)
