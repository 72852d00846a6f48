"""What a site can know before anything is shared: certificates, the relay, the clocks, its table; over real TLS."""

from __future__ import annotations

import shutil
import socket
import ssl
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime
from pathlib import Path

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import rsa
from cryptography.x509.oid import NameOID

from assistlearn.errors import NetworkError
from assistlearn.reach.flare.local import free_port
from assistlearn.reach.flare.provisioning.kit import Kit, load_kit
from assistlearn.reach.flare.provisioning.network_file import Network
from assistlearn.reach.flare.provisioning.provision import create_kits
from assistlearn.reach.flare.site import relay_contact
from assistlearn.reach.flare.site.certificates import check_certificate
from assistlearn.reach.flare.site.findings import Finding, check_site

HERE = datetime.now(UTC) + timedelta(minutes=10)
"""A moment at which the certificates that the tests make are valid."""


def made(folder: Path) -> dict[str, Path]:
    return create_kits(Network("local", "localhost", ("bank", "shop"), "bank", free_port(), 100), folder / "kits")


@pytest.fixture(scope="module")
def network(tmp_path_factory) -> dict[str, Path]:
    return made(tmp_path_factory.mktemp("network"))


@pytest.fixture(scope="module")
def other_network(tmp_path_factory) -> dict[str, Path]:
    return made(tmp_path_factory.mktemp("other"))


@pytest.fixture
def shop(network, tmp_path) -> Kit:
    """A copy of a helper's kit, for a test to spoil, with an agent file and a table."""
    shutil.copytree(network["shop"], tmp_path / "shop")
    kit = load_kit(tmp_path / "shop")
    (tmp_path / "shop" / "shop.csv").write_text("id,x\n" + "".join(f"p-{i},{i}\n" for i in range(30)))
    agent(kit)
    return kit


def agent(kit: Kit, name: str = "shop", more: str = '[allow]\ninitiators = ["bank"]\n') -> None:
    learner = 'learner = "sklearn.tree.DecisionTreeClassifier"'
    kit.agent_file.write_text(f'name = "{name}"\ntable = "shop.csv"\nid = "id"\n{learner}\n{more}')


def signed(subject: str, key, issuer: str, issuer_key, begin: datetime, end: datetime) -> bytes:
    """Return a certificate, in PEM."""

    def name(text: str) -> x509.Name:
        return x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, text)])

    builder = x509.CertificateBuilder(name(issuer), name(subject), key.public_key(), x509.random_serial_number())
    builder = builder.not_valid_before(begin).not_valid_after(end)
    if subject == "localhost":
        builder = builder.add_extension(x509.SubjectAlternativeName([x509.DNSName(subject)]), critical=False)
    builder = builder.add_extension(x509.BasicConstraints(ca=subject == issuer, path_length=None), critical=True)
    return builder.sign(issuer_key, hashes.SHA256()).public_bytes(serialization.Encoding.PEM)


def rewrite(kit: Kit, begin: datetime, end: datetime) -> None:
    """Give a kit a key, a certificate and an authority of our own making, valid from then to then."""
    own, authority = (rsa.generate_private_key(65537, 2048) for _ in range(2))
    long = HERE - timedelta(days=900), HERE + timedelta(days=900)
    kit.authority.write_bytes(signed("authority", authority, "authority", authority, *long))
    kit.certificate.write_bytes(signed(kit.name, own, "authority", authority, begin, end))
    form = serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    kit.key.write_bytes(own.private_bytes(serialization.Encoding.PEM, *form))
    kit.revoked.unlink(missing_ok=True)  # the old authority had signed it


def found(kit: Kit) -> dict[str, Finding]:
    return {finding.what: finding for finding in check_site(kit)}


# -- certificates --


def test_a_valid_certificate_is_said_to_be_valid_until_its_last_day(shop):
    end = x509.load_pem_x509_certificate(shop.certificate.read_bytes()).not_valid_after_utc
    said = check_certificate(shop, datetime.now(UTC))
    assert said == f"of 'shop', network 'local', valid until {end:%d %B %Y}"


def test_a_certificate_that_ends_soon_is_said_to(shop):
    rewrite(shop, HERE - timedelta(days=1), HERE + timedelta(days=100))
    assert "soon" not in check_certificate(shop, HERE + timedelta(days=69))
    assert "soon: have it renewed" in check_certificate(shop, HERE + timedelta(days=71))


def test_a_certificate_is_expired_from_its_last_instant_on(shop):
    rewrite(shop, HERE - timedelta(days=1), HERE + timedelta(days=100))
    end = x509.load_pem_x509_certificate(shop.certificate.read_bytes()).not_valid_after_utc
    check_certificate(shop, end - timedelta(seconds=1))
    with pytest.raises(
        NetworkError, match=rf"of 'shop' expired on {end:%d %B %Y}. Ask the network's authority to renew it"
    ):
        check_certificate(shop, end)


def test_nobody_is_told_to_renew_a_certificate_when_the_authority_itself_ends(shop):
    end = x509.load_pem_x509_certificate(shop.authority.read_bytes()).not_valid_after_utc
    said = check_certificate(shop, end - timedelta(days=29))
    assert "soon, and so is the network's authority: the network must be made anew" in said
    with pytest.raises(NetworkError, match=r"The authority of network 'local' expired on .* made anew") as error:
        check_certificate(shop, end)
    assert "network renew" not in f"{said} {error.value}"


def test_a_certificate_of_the_future_is_a_matter_of_the_clock(shop):
    with pytest.raises(NetworkError, match=r"of network 'local' is valid from .*Set this machine's clock"):
        check_certificate(shop, HERE - timedelta(days=2))
    rewrite(shop, HERE - timedelta(days=1), HERE + timedelta(days=100))
    with pytest.raises(NetworkError, match=r"of 'shop' is valid from .*Set this machine's clock"):
        check_certificate(shop, HERE - timedelta(days=2))


def test_a_certificate_of_another_network_is_refused(shop, other_network):
    shutil.copy(load_kit(other_network["shop"]).certificate, shop.certificate)
    with pytest.raises(NetworkError, match=r"was not issued by the authority in rootCA.pem.*Get a new kit"):
        check_certificate(shop, HERE)


def test_the_key_of_another_certificate_is_refused(shop, network):
    shutil.copy(load_kit(network["bank"]).key, shop.key)
    with pytest.raises(NetworkError, match=r"client.key does not belong to client.crt"):
        check_certificate(shop, HERE)


@pytest.mark.parametrize("part", ["certificate", "key", "authority"])
@pytest.mark.parametrize("content", [b"", b"-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n"])
def test_a_file_that_holds_no_key_or_certificate_is_refused(shop, part, content):
    getattr(shop, part).write_bytes(content)
    with pytest.raises(NetworkError, match="key or certificate cannot be read"):
        check_certificate(shop, HERE)


@pytest.mark.parametrize("spoil", ["missing", "empty", "another's"])
def test_a_key_that_cannot_be_used_is_a_finding_and_not_a_crash(shop, network, spoil):
    if spoil == "missing":
        shop.key.unlink()
    else:
        shop.key.write_bytes(b"" if spoil == "empty" else load_kit(network["bank"]).key.read_bytes())
    findings = found(shop)
    assert [findings[what].right for what in ("certificate", "relay", "agent")] == [False, False, True]
    assert "cannot be used" in findings["relay"].words


# -- the relay and the clocks --


@contextmanager
def relay(kit: Kit, network: Path, date: str | None, *, demand: Path | None = None) -> Iterator[None]:
    """Stand in for the relay at its port, with its certificate: say the time that a test wants, or nothing."""
    own = load_kit(network)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(own.certificate, own.key)
    context.load_verify_locations(demand or own.authority)
    context.verify_mode = ssl.CERT_REQUIRED
    listener = socket.create_server(("127.0.0.1", kit.port))

    def serve() -> None:
        while True:
            try:
                connection, _ = listener.accept()
            except OSError:
                return
            connection.settimeout(10)
            try:
                with context.wrap_socket(connection, server_side=True) as secure:
                    secure.recv(4096)
                    head = "" if date is None else f"Date: {date}\r\n"
                    secure.sendall(f"HTTP/1.1 404 Not Found\r\n{head}\r\n".encode())
            except OSError:
                connection.close()

    thread = threading.Thread(target=serve, daemon=True)
    thread.start()
    try:
        yield
    finally:
        listener.shutdown(socket.SHUT_RDWR)
        listener.close()
        thread.join(10)


def ahead(**by: float) -> str:
    return format_datetime(datetime.now(UTC) + timedelta(**by), usegmt=True)


def test_with_everything_right_every_finding_is_right(shop, network):
    with relay(shop, network["relay"], ahead()):
        findings = found(shop)
    assert list(findings) == ["NVIDIA FLARE", "certificate", "relay", "clocks", "agent"]
    assert all(finding.right for finding in findings.values()), findings
    assert "30 rows from" in findings["agent"].words
    assert f"localhost:{shop.port} answers" in findings["relay"].words


@pytest.mark.parametrize(
    ("by", "words"), [({"hours": 1}, "seconds behind the relay's"), ({"minutes": -5}, "seconds ahead of the relay's")]
)
def test_a_clock_that_differs_from_the_relays_is_said_by_how_much(shop, network, by, words):
    with relay(shop, network["relay"], ahead(**by)):
        finding = found(shop)["clocks"]
    assert not finding.right
    assert words in finding.words
    seconds = int(finding.words.split("clock is ")[1].split()[0])
    assert abs(seconds - abs(timedelta(**by).total_seconds())) < 20


@pytest.mark.parametrize("date", [None, "", "yesterday", "Sun, 15 Nov 2026 13:45:09 -0000"])
def test_a_relay_that_tells_no_time_is_no_fault(shop, network, date):
    with relay(shop, network["relay"], date):
        finding = found(shop)["clocks"]
    assert finding == Finding("clocks", True, "the relay does not tell its time")


def test_a_relay_that_is_not_there_is_said_with_what_to_look_at(shop):
    findings = found(shop)
    assert "clocks" not in findings
    assert not findings["relay"].right
    assert f"The relay at localhost:{shop.port} cannot be reached" in findings["relay"].words
    assert "firewall" in findings["relay"].words
    assert findings["agent"].right  # one thing that is wrong does not hide the others


def test_a_relay_that_takes_the_connection_and_says_nothing_is_not_waited_for_forever(shop, monkeypatch):
    monkeypatch.setattr(relay_contact, "REACH", 0.3)
    with socket.create_server(("127.0.0.1", shop.port)):
        finding = found(shop)["relay"]
    assert not finding.right
    assert "cannot be reached" in finding.words


def test_a_host_name_that_nobody_knows_is_said_so(shop):
    path = shop.startup / "fed_client.json"
    path.write_text(path.read_text().replace("localhost", "no-such-host.invalid"))
    finding = found(load_kit(shop.folder))["relay"]
    assert "host name 'no-such-host.invalid' is not known here" in finding.words


def test_another_machine_at_the_relays_place_is_not_taken_for_it(shop, other_network):
    with relay(shop, other_network["relay"], ahead()):
        finding = found(shop)["relay"]
    assert not finding.right
    assert "shows a certificate that is not of this network" in finding.words


def test_a_relay_that_refuses_the_kit_is_told_from_one_that_is_not_there(shop, network, other_network):
    with relay(shop, network["relay"], ahead(), demand=load_kit(other_network["relay"]).authority):
        finding = found(shop)["relay"]
    assert not finding.right
    assert "does not accept this kit's certificate" in finding.words


# -- the agent --


@pytest.mark.parametrize(
    ("changed", "words"),
    [
        ({"name": "baker"}, "describes agent 'baker', but the kit is that of 'shop'"),
        ({"more": ""}, "does not say who may start runs with this agent"),
        ({"more": 'secret = "nowhere.key"\n[allow]\ninitiators = ["bank"]\n'}, "the secret cannot be read"),
        ({"more": 'learnr = "x"\n'}, "there is no key 'learnr'"),
    ],
    ids=["another name", "nothing allowed", "no secret", "bad key"],
)
def test_an_agent_file_that_does_not_fit_is_found_with_what_to_do(shop, changed, words):
    agent(shop, **changed)
    finding = found(shop)["agent"]
    assert not finding.right
    assert words in finding.words


def test_a_table_that_is_not_there_is_found(shop):
    (shop.folder / "shop.csv").unlink()
    finding = found(shop)["agent"]
    assert not finding.right
    assert "shop.csv" in finding.words


def test_an_initiator_needs_no_permission_and_the_relay_no_agent(network, tmp_path):
    shutil.copytree(network["bank"], tmp_path / "bank")
    bank = load_kit(tmp_path / "bank")
    (bank.folder / "shop.csv").write_text("id,x,y\n" + "".join(f"p-{i},{i},{i % 2}\n" for i in range(30)))
    agent(bank, "bank", 'label = "y"\n')
    assert "'bank', initiator, 30 rows" in found(bank)["agent"].words
    assert list(found(load_kit(network["relay"]))) == ["NVIDIA FLARE", "certificate"]
