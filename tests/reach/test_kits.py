"""Startup kits: certificates of one authority, keys for their owners alone, a policy that lets in our classes only."""

from __future__ import annotations

import json
import re
import stat
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from cryptography import x509
from cryptography.hazmat.primitives.serialization import load_pem_private_key
from cryptography.x509.oid import NameOID

from assistlearn.errors import NetworkError, SettingsError
from assistlearn.reach.flare.provisioning.kit import load_kit
from assistlearn.reach.flare.provisioning.network_file import Network
from assistlearn.reach.flare.provisioning.provision import create_kits

NETWORK = Network("credit", "relay.example.org", ("bank", "phone-co", "Data_Shop"), "bank", 9123, 77)
KINDS = {"relay": "relay", "admin": "admin"} | dict.fromkeys(NETWORK.organisations, "site")
SITES_AND_RELAY = [name for name in KINDS if name != "admin"]


@pytest.fixture(scope="module")
def kits(tmp_path_factory) -> dict[str, Path]:
    return create_kits(NETWORK, tmp_path_factory.mktemp("network") / "kits")


def test_there_is_one_kit_for_each_organisation_one_for_the_relay_and_one_for_the_admin(kits):
    out = kits["relay"].parent
    assert kits == {name: out / name for name in KINDS} | {"admin": out / "bank" / "admin"}
    assert {path.name for path in out.iterdir()} == {*KINDS, "README.txt"} - {"admin"}
    assert [path.name for path in out.parent.iterdir()] == ["kits"]  # what was needed to make them is gone


def test_a_kit_says_whose_it_is_and_where_the_relay_is(kits):
    for name, kind in KINDS.items():
        kit = load_kit(kits[name])
        assert (kit.kind, kit.network, kit.host, kit.port) == (kind, "credit", "relay.example.org", 9123)
        assert kit.folder == kits[name].resolve()
    assert [load_kit(kits[name]).name for name in NETWORK.organisations] == list(NETWORK.organisations)
    assert load_kit(kits["relay"]).name == "relay.example.org"
    assert load_kit(kits["admin"]).name == "admin@bank.org"


def test_every_certificate_is_of_one_authority_for_its_own_key_and_as_long_as_asked(kits):
    authorities, keys, now = set(), set(), datetime.now(UTC)
    for path in kits.values():
        kit = load_kit(path)
        own = x509.load_pem_x509_certificate(kit.certificate.read_bytes())
        authority = x509.load_pem_x509_certificate(kit.authority.read_bytes())
        own.verify_directly_issued_by(authority)
        assert own.public_key() == load_pem_private_key(kit.key.read_bytes(), None).public_key()
        (common_name,) = own.subject.get_attributes_for_oid(NameOID.COMMON_NAME)
        assert common_name.value == kit.name
        for certificate in (own, authority):
            assert certificate.not_valid_before_utc <= now
            assert abs(certificate.not_valid_after_utc - now - timedelta(days=77)) < timedelta(days=1)
        authorities.add(kit.authority.read_bytes())
        keys.add(kit.key.read_bytes())
    assert (len(authorities), len(keys)) == (1, len(kits))


def test_nobody_else_on_the_machine_can_read_a_kit(kits):
    for path in kits.values():
        assert load_kit(path).key.is_file()
        for part in (path, *path.rglob("*")):
            assert stat.S_IMODE(part.stat().st_mode) == (0o700 if part.is_dir() else 0o600)


def test_no_kit_holds_the_key_of_the_authority_or_of_another(kits):
    """A private key belongs to the certificate beside it; nothing else in a kit is a private key."""
    for path in kits.values():
        holding = {part for part in path.rglob("*") if part.is_file() and b"PRIVATE KEY" in part.read_bytes()}
        admin = {load_kit(kits["admin"]).key} if path == kits["bank"] else set()  # which lies inside of its site kit
        assert holding == {load_kit(path).key} | admin


@pytest.mark.parametrize("name", SITES_AND_RELAY)
def test_nobody_may_bring_code_look_into_files_or_restart_a_site(kits, name):
    rules = json.loads((kits[name] / "local" / "authorization.json").read_text())["permissions"]
    assert {"project_admin", "org_admin", "lead", "member"} == set(rules)
    for role, rights in rules.items():
        for right in ("byoc", "shell_commands", "operate", "clone_job", "download_job"):
            assert rights[right] == "none", (role, right)
        assert {right for right, who in rights.items() if who != "none"} == (
            {"submit_job", "manage_job", "view"} if role == "lead" else set()
        )
    assert rules["lead"]["manage_job"] == "n:submitter"


@pytest.mark.parametrize("name", SITES_AND_RELAY)
def test_a_job_may_name_our_classes_and_flares_two_for_such_jobs_only(kits, name):
    resources = json.loads((kits[name] / "local" / "resources.json").read_text())
    assert resources["class_list_enforcement_mode"] == "enforce"
    assert sorted(resources["class_allow_list"]) == [
        "assistlearn.reach.flare.site.apps.Relay",
        "assistlearn.reach.flare.site.apps.Site",
        "nvflare.collab.runtime.controller.CollabController",
        "nvflare.collab.runtime.executor.CollabExecutor",
    ]
    assert resources["allow_log_streaming"] is False


@pytest.mark.parametrize("name", NETWORK.organisations)
def test_no_site_sends_its_log_to_the_relay(kits, name):
    resources = json.loads((kits[name] / "local" / "resources.json").read_text())
    assert not any("log" in component["path"].lower() for component in resources["components"])


def test_every_right_that_flare_knows_is_decided(kits):
    """A right that a new version of FLARE knows and we do not would be decided by FLARE."""
    defaults = json.loads((kits["bank"] / "local" / "authorization.json.default").read_text())["permissions"]
    known = {right for rights in defaults.values() if isinstance(rights, dict) for right in rights}
    decided = json.loads((kits["bank"] / "local" / "authorization.json").read_text())["permissions"]
    assert known
    for rights in decided.values():
        assert known <= set(rights)


def test_kits_are_not_made_over_others(kits, tmp_path):
    before = {path: path.read_bytes() for path in kits["bank"].rglob("*") if path.is_file()}
    with pytest.raises(SettingsError, match=r"is not empty\. New kits have other certificates"):
        create_kits(NETWORK, kits["bank"].parent)
    assert {path: path.read_bytes() for path in kits["bank"].rglob("*") if path.is_file()} == before
    (tmp_path / "mine.txt").write_text("a note")
    with pytest.raises(SettingsError, match="is not empty"):
        create_kits(NETWORK, tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == ["mine.txt"]


# -- kits that are not what they should be --


def copied(kit: Path, folder: Path) -> Path:
    """Return a copy of a kit that a test may spoil."""
    for part in kit.rglob("*"):
        if part.is_file():
            target = folder / part.relative_to(kit)
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_bytes(part.read_bytes())
    return folder


@pytest.mark.parametrize(
    ("name", "wanted", "words"),
    [
        ("admin", ["site"], "is the kit of the initiator's admin. Name that of a site"),
        ("bank", ["admin"], "is the kit of a site. Name that of the initiator's admin"),
        ("admin", ["site", "relay"], "Name that of a site or the relay"),
        ("relay", ["site"], "is the kit of the relay. Name that of a site"),
    ],
)
def test_a_kit_of_another_kind_is_refused(kits, name, wanted, words):
    with pytest.raises(NetworkError, match=re.escape(words)):
        load_kit(kits[name], *wanted)


@pytest.mark.parametrize("folder", ["", "nowhere"])
def test_a_folder_that_is_no_kit_is_said_so(tmp_path, folder):
    with pytest.raises(NetworkError, match="is not a startup kit"):
        load_kit(tmp_path / folder)


@pytest.mark.parametrize("name", KINDS)
def test_a_part_that_is_missing_is_named(kits, name, tmp_path):
    kit = load_kit(kits[name])
    for part in (kit.certificate, kit.key, kit.authority):
        spoiled = copied(kits[name], tmp_path / part.name)
        (spoiled / "startup" / part.name).unlink()
        with pytest.raises(NetworkError) as raised:
            load_kit(spoiled)
        assert (
            f"The kit of {kit.name!r} is not complete: {spoiled.resolve() / 'startup' / part.name} is missing"
            in str(raised.value)
        )


@pytest.mark.parametrize("content", ["", "{", "[]", "{}", '{"servers": []}', '{"servers": [{"service": {}}]}', "7"])
def test_a_description_that_is_damaged_is_said_so(kits, tmp_path, content):
    spoiled = copied(kits["bank"], tmp_path / "bank")
    (spoiled / "startup" / "fed_client.json").write_text(content)
    with pytest.raises(NetworkError, match=r"fed_client.json cannot be read: .*Get the kit again"):
        load_kit(spoiled)
