"""Who may join a network, under which name, and what a member takes from others; no network is needed for these."""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import socket
import ssl
import tempfile
import threading
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

pytest.importorskip("nvflare", reason="needs the extra [flare]")

from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec, rsa
from cryptography.hazmat.primitives.serialization import Encoding, load_pem_private_key
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID
from hypothesis import given, settings
from hypothesis import strategies as st

from assistlearn.errors import NetworkError
from assistlearn.reach.flare.provisioning import locked_key
from assistlearn.reach.flare.provisioning.issuing import Issuer, key_bytes, kind_of, new_key
from assistlearn.reach.flare.provisioning.kit import load_kit
from assistlearn.reach.flare.provisioning.membership import read_membership
from assistlearn.reach.flare.provisioning.signing_request import read_request
from assistlearn.reach.flare.site import revocation, sealing
from assistlearn.reach.flare.site.certificates import check_certificate
from assistlearn.reach.flare.site.environment import KIT
from assistlearn.reach.flare.site.revocation import Revocations
from tests.attacks.attack import attack
from tests.attacks.member_network import PASSPHRASE, RELAY, Authority, copied, joined, ok
from tests.cli.program import assistlearn

LIKE_OTHERS = [
    *(
        "server",
        "relay",
        "admin",
        "admin@lab.org",
        "Lab",
        "LAB",
        "lab.",
        "lab.job",
        ".lab",
        "lab ",
        "lab\n",
        "*",
        "@ALL",
    ),
    *("l\u0430b", "lab\u200b", "\uff4cab", "localhost.", "LOCALHOST", "nobody"),
]


@pytest.fixture(scope="module", autouse=True)
def cheap_passphrases() -> Iterator[None]:
    """Let a guess of a passphrase cost little: here it is tried again and again by those who know it."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(locked_key, "COST", 1 << 10)
        yield


@pytest.fixture(scope="module")
def authority(tmp_path_factory) -> Authority:
    return Authority(tmp_path_factory.mktemp("authority") / "a")


@pytest.fixture(scope="module")
def other_network(tmp_path_factory) -> Authority:
    """Another network of the same name."""
    return Authority(tmp_path_factory.mktemp("other") / "b")


@pytest.fixture(scope="module")
def kits(authority, tmp_path_factory) -> dict[str, Path]:
    """The kits of all that have joined."""
    folder = tmp_path_factory.mktemp("kits")
    return {name: joined(authority, folder / name, name) for name in (RELAY, "bank", "shop", "lab")}


@pytest.fixture(scope="module")
def member_bytes(authority, kits) -> bytes:
    """What the authority has sent to a member."""
    return (authority.folder / "lab.member").read_bytes()


@pytest.fixture(scope="module")
def founded(tmp_path_factory) -> Path:
    return Authority(tmp_path_factory.mktemp("founded") / "c").folder


@pytest.fixture
def fresh(founded, tmp_path) -> Authority:
    """An authority that a test may change, and that has signed nothing yet."""
    return Authority(copied(founded, tmp_path / "fresh"))


def request(path: Path, name: str, key=None, subject=None, extension=None, signer=None) -> Path:
    """Write a signing request by hand."""
    subject = subject or x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)])
    builder = x509.CertificateSigningRequestBuilder().subject_name(subject)
    if extension is not None:
        builder = builder.add_extension(extension, critical=False)
    path.write_bytes(builder.sign(key or new_key(), hashes.SHA256()).public_bytes(Encoding.PEM))
    return path


def refused(authority: Authority, path: Path, *words: str) -> None:
    """Check that a request is not signed, and that nothing is recorded."""
    before = authority.place.joinpath("record.jsonl").read_bytes()
    said = authority.tried("sign", path, "--yes", "--out", path.with_suffix(".member"))
    assert said.code != 0
    for word in words:
        assert word in said.json["message"]
    assert not path.with_suffix(".member").exists()
    assert authority.place.joinpath("record.jsonl").read_bytes() == before


# -- requests --


@attack("member", "asks for a certificate in the name of another member", "refused: that name has another key")
def test_a_name_that_is_taken_is_not_signed_for_another_key(authority, kits, tmp_path):
    refused(authority, request(tmp_path / "shop.csr", "lab"), "'lab' has a certificate for another key", "--renew")


@attack(
    "member",
    "asks for a name with a meaning (server, admin), or one that looks like another's (Lab, lab., a Cyrillic a)",
    "refused: names are those of the network's file, letter by letter",
)
@pytest.mark.parametrize("name", LIKE_OTHERS)
def test_a_name_that_is_not_in_the_networks_file_is_not_signed(authority, tmp_path, name):
    refused(authority, request(tmp_path / "x.csr", name), "must be exactly the same")


@attack(
    "member",
    "asks to be an authority, a relay or an admin, in the extensions or the names of its request",
    "refused: a request has a name and a key; what a certificate is for is said by the authority alone",
)
@pytest.mark.parametrize("wish", ["authority", "relay", "admin", "two names", "alternative name"])
def test_a_request_that_asks_for_rights_is_refused(authority, tmp_path, wish):
    common = x509.NameAttribute(NameOID.COMMON_NAME, "lab")
    extension, subject = None, None
    if wish == "authority":
        extension = x509.BasicConstraints(ca=True, path_length=None)
    elif wish == "relay":
        extension = x509.ExtendedKeyUsage([ExtendedKeyUsageOID.SERVER_AUTH])
    elif wish == "alternative name":
        extension = x509.SubjectAlternativeName([x509.DNSName(RELAY)])
    elif wish == "admin":
        subject = x509.Name([common, x509.NameAttribute(NameOID.UNSTRUCTURED_NAME, "lead")])
    else:
        subject = x509.Name([common, x509.NameAttribute(NameOID.COMMON_NAME, "bank")])
    words = "asks for rights of its own" if extension else "a common name and nothing else"
    refused(authority, request(tmp_path / "x.csr", "lab", subject=subject, extension=extension), words)


@attack(
    "member", "asks to start runs, though it is no initiator", "refused: initiators are those of the network's file"
)
def test_a_member_cannot_ask_for_an_admin_kit(authority, tmp_path):
    made = ok("site", "request", "lab", "--out", tmp_path / "lab", "--role", "initiator")
    refused(authority, Path(made["request"]), "admin@lab.org", "the initiators ['bank', 'shop']")


@attack(
    "member",
    "has a key signed that it does not have, or that is another member's",
    "refused: a request is signed with its key, and a key has one name",
)
def test_a_request_for_a_key_that_is_not_its_senders_is_refused(authority, kits, tmp_path):
    good = request(tmp_path / "x.csr", "lab").read_bytes()
    der = x509.load_pem_x509_csr(good).public_bytes(Encoding.DER)
    changed = der.replace(b"lab", b"lob", 1)
    assert changed != der
    path = tmp_path / "changed.csr"
    path.write_bytes(x509.load_der_x509_csr(changed).public_bytes(Encoding.PEM))
    refused(authority, path, "is not signed by the key that is in it")
    banks = load_pem_private_key((kits["bank"] / "startup" / "client.key").read_bytes(), None)
    refused(authority, request(tmp_path / "y.csr", "lab", banks), "The key of 'lab' is that of 'bank'")


@attack("member", "has a weak key signed: short, of another kind", "refused: RSA keys of 2,048 bits only")
@pytest.mark.parametrize("kind", ["1024 bits", "exponent 3", "elliptic curve"])
def test_a_weak_key_is_not_signed(authority, tmp_path, kind):
    keys = {
        "1024 bits": lambda: rsa.generate_private_key(65537, 1024),
        "exponent 3": lambda: rsa.generate_private_key(3, 2048),
        "elliptic curve": lambda: ec.generate_private_key(ec.SECP256R1()),
    }
    path = request(tmp_path / "x.csr", "lab", keys[kind]())
    refused(authority, path, "RSA keys only" if kind == "elliptic curve" else "It must have 2048 bits")


@pytest.mark.parametrize("content", [b"", b"hello", b"-----BEGIN CERTIFICATE REQUEST-----\nAAAA\n", bytes(2_000_000)])
def test_what_is_not_a_request_is_said_so(authority, tmp_path, content):
    (tmp_path / "x.csr").write_bytes(content)
    with pytest.raises(NetworkError, match=r"is not a request|more than 1,048,576 bytes"):
        read_request(tmp_path / "x.csr")


@attack("listener", "changes a request on its way", "noticed: its sender reads the fingerprint over the telephone")
def test_a_request_with_another_fingerprint_is_not_signed(fresh, tmp_path):
    told = ok("site", "request", "lab", "--out", tmp_path / "lab")["fingerprint"]
    path = request(tmp_path / "lab.csr", "lab")
    said = fresh.tried("sign", path, "--fingerprint", told, "--out", tmp_path / "lab.member")
    assert said.code == 2
    assert "Somebody may have changed it" in said.json["message"]
    assert not (tmp_path / "lab.member").exists()


# -- what a member takes --


def test_a_certificate_says_what_it_is_for_and_no_private_key_has_travelled(authority, kits):
    expected = {RELAY: "relay", "bank": "site", "bank/admin": "admin", "lab": "site"}
    folder = kits["lab"].parent
    for name, kind in expected.items():
        kit = load_kit(folder / name)
        certificate = x509.load_pem_x509_certificate(kit.certificate.read_bytes())
        assert (kit.kind, kind_of(certificate)) == (kind, kind)
        assert not certificate.extensions.get_extension_for_class(x509.BasicConstraints).value.ca
        assert "valid until" in check_certificate(kit, datetime.now(UTC))
        sent = [*authority.folder.glob("*.member"), *authority.place.iterdir()]
        secret = kit.key.read_bytes().split(b"\n")[1]
        assert len(sent) > 6
        assert not any(secret in path.read_bytes() or b"BEGIN PRIVATE" in path.read_bytes() for path in sent)


def test_a_kit_of_a_member_allows_what_one_of_the_quick_way_allows(authority, kits, tmp_path):
    ok("network", "create", authority.folder / "network.toml", "--out", tmp_path / "kits")
    for name in ("bank", "lab"):
        for file in ("local/authorization.json", "local/resources.json", "startup/fed_client.json"):
            assert (kits[name] / file).read_text() == (tmp_path / "kits" / name / file).read_text()


def joining(kit: Path, member: Path, **changed: object):
    """Try to join with a membership in which something was changed."""
    values = json.loads(member.read_text()) | changed
    file = kit.parent / "changed.member"
    file.write_text(json.dumps(values))
    before = {path: path.read_bytes() for path in kit.rglob("*") if path.is_file()}
    said = assistlearn("site", "join", kit, file, "--yes", "--json")
    if said.code:
        assert {path: path.read_bytes() for path in kit.rglob("*") if path.is_file()} == before
    return said


@pytest.fixture
def waiting(fresh, tmp_path) -> tuple[Path, Path]:
    """A folder with a key and a request, and what the authority has sent for it."""
    kit = tmp_path / "lab"
    return kit, fresh.admit(kit, "lab")


@attack(
    "listener",
    "puts another's certificate, another network's, or another authority into what a member is sent",
    "refused: a certificate must be for the member's own key and name, and of the authority that it knows",
)
def test_a_membership_with_anothers_certificate_is_not_taken(waiting, fresh, other_network, tmp_path):
    kit, member = waiting
    shops = json.loads(fresh.admit(tmp_path / "shop", "shop", "initiator").read_text())
    others = json.loads(other_network.admit(tmp_path / "theirs" / "lab", "lab").read_text())
    site = {"site": shops["certificates"]["site"]}
    for changed, words in (
        ({"certificates": site}, "but one of kind 'site' with the name 'lab' was asked for"),
        ({"certificates": shops["certificates"]}, "asked for"),
        ({"certificates": {"relay": json.loads(member.read_text())["certificates"]["site"]}}, "kind"),
        ({"certificates": others["certificates"]}, "was not issued by the authority in the same file"),
        ({"certificates": others["certificates"], "authority": others["authority"]}, "is for another key than"),
        ({"revoked": others["revoked"]}, "was not signed by this network's authority"),
    ):
        said = joining(kit, member, **changed)
        assert said.code == 3, changed
        assert words in said.json["message"]
    ok("site", "join", kit, member, "--yes")
    said = joining(kit, member, **others)  # a network of the same name
    assert said.code == 3
    assert "of another authority" in said.json["message"]


@attack(
    "listener", "founds a network of the same name and sends a member its certificate", "noticed by the fingerprint"
)
def test_a_membership_of_an_authority_with_another_fingerprint_is_not_taken(waiting, other_network):
    kit, member = waiting
    said = assistlearn("site", "join", kit, member, "--fingerprint", "7bd5 8d1b", "--json")
    assert said.code == 2
    assert "Somebody may have changed it" in said.json["message"]
    assert not (kit / "local").exists()


@attack(
    "listener",
    "sends a member paths that lead out of its kit, code, policy files or a bomb in place of a certificate",
    "refused: it is one small JSON file of texts, from which the member's own program writes the kit",
)
def test_a_membership_brings_no_paths_and_no_files_and_has_a_bounded_size(waiting, tmp_path):
    kit, member = waiting
    good = json.loads(member.read_text())
    for changed in (
        {"network": "../../evil"},
        {"relay": "evil/../.."},
        {"relay": "relay.example.org; rm -rf /"},
        {"port": 0},
        {"format": 2},
        {"files": {"../startup.sh": "rm -rf /"}},
        {"local": {"resources.json": "{}"}},
        {"certificates": good["certificates"] | {"../x": good["certificates"]["site"]}},
        {"certificates": {}},
        {"authority": "nothing"},
    ):
        assert joining(kit, member, **changed).code == 3, changed
    bomb = tmp_path / "bomb.member"
    with bomb.open("wb") as file:
        file.truncate(1 << 40)  # a terabyte of zeros that takes no room on the disk
    said = assistlearn("site", "join", kit, bomb, "--yes", "--json")
    assert said.code == 3
    assert "more than 16,777,216 bytes" in said.json["message"]
    bomb.write_bytes(b"[" * 1_000_000)
    assert assistlearn("site", "join", kit, bomb, "--yes").code == 3
    shutil.make_archive(str(tmp_path / "packed"), "zip", kit)
    assert assistlearn("site", "join", kit, tmp_path / "packed.zip", "--yes").code == 3
    assert sorted(path.name for path in kit.iterdir()) == ["lab.csr", "startup"]


@attack(
    "member", "goes on with a certificate that has expired", "refused, at joining and at the site; renewal is one file"
)
def test_an_expired_certificate_is_refused_until_it_is_renewed(waiting, fresh, monkeypatch):
    kit, member = waiting
    said = joining(kit, member, certificates={"site": expired(fresh, kit)})
    assert said.code == 3
    assert "not now" in said.json["message"]
    ok("site", "join", kit, member, "--yes")
    later = datetime.now(UTC) + timedelta(days=31)
    with pytest.raises(NetworkError, match=r"expired on .* Ask the network's authority to renew it"):
        check_certificate(load_kit(kit), later)
    old = (kit / "startup" / "client.crt").read_bytes()
    file = fresh.folder / "network.toml"
    (fresh.place / "network.toml").write_text(file.read_text().replace("valid_days = 30", "valid_days = 60"))
    fresh.do("renew", "lab", "--out", member, "--force")
    ok("site", "join", kit, member)  # the authority is known already: nobody is asked
    assert (kit / "startup" / "client.crt").read_bytes() != old
    assert "valid until" in check_certificate(load_kit(kit), later)


def expired(authority: Authority, kit: Path) -> str:
    """Return a certificate for a kit's key that the authority signed a year ago."""
    from nvflare.lighter.utils import Identity, generate_cert

    from assistlearn.reach.flare.provisioning.authority import Authority as Folder
    from assistlearn.reach.flare.provisioning.issuing import _limits

    key = load_pem_private_key((kit / "startup" / "client.key").read_bytes(), None)
    then = datetime.now(UTC) - timedelta(days=365)
    certificate = generate_cert(
        *(Identity("lab", "lab"), Identity("credit"), Folder(authority.place).opened(PASSPHRASE).key, key.public_key()),
        **{"not_valid_before": then, "not_valid_after": then + timedelta(days=30), "extra_extensions": _limits("site")},
    )
    return certificate.public_bytes(Encoding.PEM).decode()


def test_a_kit_is_not_renewed_for_a_relay_at_another_place(waiting):
    kit, member = waiting
    ok("site", "join", kit, member, "--yes")
    said = joining(kit, member, port=8003)
    assert said.code == 3
    assert "for the relay localhost:8003" in said.json["message"]


@given(st.binary(max_size=200), st.integers(0, 4000))
@settings(max_examples=150, deadline=None)
def test_whatever_comes_in_place_of_a_membership_or_a_request_is_refused_in_words(member_bytes, noise, at):
    changed = member_bytes[:at] + noise + member_bytes[at + len(noise) :]
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "x"
        for content in (noise, changed):
            path.write_bytes(content)
            with contextlib.suppress(NetworkError):  # and nothing else may be raised
                read_membership(path).loaded()
            with contextlib.suppress(NetworkError):
                read_request(path)


# -- lists --


@attack("member", "brings back an older list, on which it does not stand", "refused: lists are numbered")
def test_an_older_list_does_not_replace_a_later_one(fresh, tmp_path):
    kit = joined(fresh, tmp_path / "bank", "bank")
    joined(fresh, tmp_path / "lab", "lab")
    old = fresh.revoked.read_bytes()
    fresh.do("revoke", "lab")
    assert ok("site", "revoked", kit, fresh.revoked) == {"kit": str(kit), "revoked": 1, "new": True}
    (tmp_path / "old.crl").write_bytes(old)
    said = assistlearn("site", "revoked", kit, tmp_path / "old.crl", "--json")
    assert said.code == 3
    assert "is number 1, but number 2 is there already" in said.json["message"]
    running = Revocations(kit)
    (serial,) = (entry.serial_number for entry in x509.load_pem_x509_crl(fresh.revoked.read_bytes()))
    assert serial in running
    (kit / "startup" / "revoked.crl").write_bytes(old)  # by somebody who can write there
    assert serial in running


@attack("member", "sends others a list that it has signed itself", "refused: the network's authority signs lists")
def test_a_list_that_another_has_signed_is_not_taken(fresh, other_network, tmp_path):
    kit = joined(fresh, tmp_path / "bank", "bank")
    running = Revocations(kit)
    own = Issuer.new("credit", 30).revocation_list({1: datetime.now(UTC)}, 99).public_bytes(Encoding.PEM)
    for content in (own, other_network.revoked.read_bytes(), fresh.revoked.read_bytes()[:-80], b"nothing"):
        (tmp_path / "x.crl").write_bytes(content)
        said = assistlearn("site", "revoked", kit, tmp_path / "x.crl", "--json")
        assert said.code == 3
        assert (
            "not signed by this network's authority" in said.json["message"] or "is not a list" in said.json["message"]
        )
        (kit / "startup" / "revoked.crl").write_bytes(content)  # by somebody who can write there
        assert 1 not in running


def test_who_is_revoked_is_told_so_and_may_come_back_with_a_new_key_only(fresh, tmp_path):
    kit = joined(fresh, tmp_path / "lab", "lab")
    fresh.do("revoke", "lab")
    ok("site", "revoked", kit, fresh.revoked)
    with pytest.raises(NetworkError, match="of 'lab' was revoked on"):
        check_certificate(load_kit(kit), datetime.now(UTC))
    refused(fresh, kit / "lab.csr", "The key of 'lab' was revoked on")
    assert fresh.tried("renew", "lab").code == 3
    again = joined(fresh, tmp_path / "lab-2", "lab")
    assert "valid until" in check_certificate(load_kit(again), datetime.now(UTC))
    listed = ok("network", "members", fresh.place)["members"]
    assert [(one["name"], one["revoked"] is not None) for one in listed] == [("lab", True), ("lab", False)]


@attack("member", "seals messages with a certificate that was revoked", "refused, also where the certificate was kept")
def test_a_certificate_that_is_revoked_meanwhile_is_not_found_any_more(fresh, tmp_path, monkeypatch):
    kit, lab = joined(fresh, tmp_path / "bank", "bank"), joined(fresh, tmp_path / "lab", "lab")
    monkeypatch.setenv(KIT, str(kit))
    revocation.revocations.cache_clear()
    kept = sealing._refusing_revoked(lambda exchanger, target: (lab / "startup" / "client.crt").read_bytes())
    try:
        assert kept(None, "lab.job")
        fresh.do("revoke", "lab")
        ok("site", "revoked", kit, fresh.revoked)
        with pytest.raises(NetworkError, match="of 'lab' was revoked; nothing is exchanged with it"):
            kept(None, "lab.job")
        shown = x509.load_pem_x509_certificate((lab / "startup" / "client.crt").read_bytes())
        registers = revocation._refusing_revoked(lambda verifier, **facts: True)
        with pytest.raises(NetworkError, match="CN=lab was revoked"):
            registers(None, asserter_cert=shown)
    finally:
        revocation.revocations.cache_clear()


# -- the authority --


COST = 128 * locked_key.COST * locked_key.BLOCK
"""The bytes that scrypt takes for a guess, as it is used: the tests have a cheaper one."""


@attack(
    "local process", "reads the authority's folder", "the key is encrypted; a guess of the passphrase costs 128 MiB"
)
def test_the_authoritys_key_does_not_open_without_its_passphrase(authority, tmp_path):
    content = (authority.place / "authority.key").read_bytes()
    assert b"ENCRYPTED PRIVATE KEY" in content
    assert (authority.place / "authority.key").stat().st_mode & 0o777 == 0o600
    (tmp_path / "wrong").write_text("correct horse batterz")
    said = assistlearn("network", "renew", authority.place, "lab", "--passphrase-file", tmp_path / "wrong", "--json")
    assert said.code == 2
    assert "The passphrase does not open" in said.json["message"]
    assert COST == 128 * 2**20


def test_an_authority_needs_a_long_passphrase_and_a_folder_of_its_own(authority, tmp_path):
    (tmp_path / "short").write_text("short")
    file = authority.folder / "network.toml"
    found = ("network", "found", file, "--passphrase-file")
    assistlearn(*found, tmp_path / "short", "--out", tmp_path / "a").failed(2, "use at least 12")
    assistlearn(*found, authority.secret, "--out", authority.place).failed(2, "is not empty")
    assert not (tmp_path / "a").exists()


# -- the relay's place --


@attack("member", "presents its own certificate as the relay's to others", "refused: it is not one for a relay")
def test_a_members_certificate_is_not_taken_for_the_relays(kits):
    from nvflare.fuel.f3.drivers.driver_params import DriverParams
    from nvflare.fuel.f3.drivers.net_utils import get_ssl_context

    bank = kits["bank"] / "startup"
    params = {
        DriverParams.SCHEME.value: "https",
        DriverParams.CA_CERT.value: str(bank / "rootCA.pem"),
        DriverParams.CLIENT_CERT.value: str(bank / "client.crt"),
        DriverParams.CLIENT_KEY.value: str(bank / "client.key"),
    }
    for kit, word in ((kits["lab"], "unsuitable certificate purpose"), (kits[RELAY], "")):
        said = handshake(load_kit(kit), get_ssl_context(dict(params), False))
        assert word in said
        assert bool(said) == bool(word)


def handshake(server, context: ssl.SSLContext) -> str:
    """Return what FLARE's client says to a server with the certificate of a kit; nothing where it is content."""
    offered = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    offered.load_cert_chain(server.certificate, server.key)
    with socket.create_server(("127.0.0.1", 0)) as listener:

        def serve() -> None:
            plain, _ = listener.accept()
            try:
                offered.wrap_socket(plain, server_side=True).close()
            except OSError:
                plain.close()

        thread = threading.Thread(target=serve)
        thread.start()
        try:
            with socket.create_connection(listener.getsockname()) as plain, context.wrap_socket(plain):
                return ""
        except ssl.SSLError as error:
            return str(error)
        finally:
            thread.join()


def test_a_key_is_not_made_over_another(tmp_path):
    ok("site", "request", "lab", "--out", tmp_path / "lab")
    before = (tmp_path / "lab" / "startup" / "client.key").read_bytes()
    assert os.stat(tmp_path / "lab" / "startup" / "client.key").st_mode & 0o777 == 0o600
    assistlearn("site", "request", "lab", "--out", tmp_path / "lab").failed(2, "is there already")
    assert (tmp_path / "lab" / "startup" / "client.key").read_bytes() == before
    assert key_bytes(load_pem_private_key(before, None)) == before


def test_a_revocation_that_broke_off_before_the_list_is_completed_by_the_next(fresh, tmp_path):
    fresh.admit(tmp_path / "lab", "lab")
    before = fresh.revoked.read_bytes()
    fresh.do("revoke", "lab")
    fresh.revoked.write_bytes(before)  # as if the list had never been written
    fresh.do("revoke", "lab")
    assert len(list(x509.load_pem_x509_crl(fresh.revoked.read_bytes()))) == 1


def test_a_request_that_broke_off_after_its_key_is_made_for_that_key(tmp_path):
    ok("site", "request", "lab", "--out", tmp_path / "lab")
    key = (tmp_path / "lab" / "startup" / "client.key").read_bytes()
    (tmp_path / "lab" / "lab.csr").unlink()
    ok("site", "request", "lab", "--out", tmp_path / "lab")
    assert (tmp_path / "lab" / "startup" / "client.key").read_bytes() == key
    read_request(tmp_path / "lab" / "lab.csr")


def test_a_passphrase_that_is_not_there_is_named(fresh, tmp_path):
    said = assistlearn("network", "revoke", fresh.revoked.parent, "lab", "--passphrase-file", tmp_path / "nothing")
    said.failed(2, "The passphrase cannot be read from", "nothing", "Check --passphrase-file")
