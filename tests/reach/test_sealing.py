"""What FLARE itself takes and we do not: open messages between sites, and certificates in another's name."""

import pytest

pytest.importorskip("nvflare", reason="needs the extra [flare]")

from nvflare.fuel.f3.cellnet.core_cell import CertificateExchanger, CoreCell
from nvflare.fuel.f3.cellnet.credential_manager import CERT_CA_CONTENT, CERT_CONTENT, CredentialManager
from nvflare.fuel.f3.cellnet.defs import MessageHeaderKey
from nvflare.fuel.f3.cellnet.identity import CellIdentityResolver
from nvflare.fuel.f3.drivers.driver_params import DriverParams
from nvflare.fuel.f3.endpoint import Endpoint
from nvflare.fuel.f3.message import Message
from nvflare.fuel.f3.streaming.stream_const import STREAM_CHANNEL, STREAM_DATA_TOPIC

from assistlearn.errors import NetworkError
from assistlearn.reach.flare.provisioning.network_file import Network
from assistlearn.reach.flare.provisioning.provision import create_kits
from assistlearn.reach.flare.site.sealing import _refusing_open, _refusing_others


@pytest.fixture(scope="module")
def kits(tmp_path_factory):
    network = Network("n", "localhost", ("bank", "shop"), "bank")
    return create_kits(network, tmp_path_factory.mktemp("sealing") / "kits")


def message(origin="bank.job", destination="shop.job", **headers):
    facts = {
        MessageHeaderKey.CHANNEL: STREAM_CHANNEL,
        MessageHeaderKey.TOPIC: STREAM_DATA_TOPIC,
        MessageHeaderKey.ORIGIN: origin,
        MessageHeaderKey.DESTINATION: destination,
    }
    return Message(facts | headers, b"content")


SEALED = {MessageHeaderKey.SECURE: True, MessageHeaderKey.ENCRYPTED: True}
taken = _refusing_open(lambda cell, message: message.payload, lambda: True)


@pytest.mark.parametrize("missing", [[MessageHeaderKey.SECURE], [MessageHeaderKey.ENCRYPTED], list(SEALED)])
def test_an_open_message_of_another_site_is_refused(missing):
    headers = {key: value for key, value in SEALED.items() if key not in missing}
    with pytest.raises(NetworkError, match=r"bank\.job.*not encrypted"):
        taken(None, message(**headers))


def test_flare_itself_takes_an_open_message_between_sites():
    open_one = message()
    CoreCell.decrypt_payload.__wrapped__(None, open_one) if hasattr(
        CoreCell.decrypt_payload, "__wrapped__"
    ) else CoreCell.decrypt_payload(None, open_one)
    assert open_one.payload == b"content"


def test_sealed_messages_and_those_of_the_relay_are_taken():
    assert taken(None, message(**SEALED)) == b"content"
    assert taken(None, message(origin="server.job")) == b"content"
    assert taken(None, message(destination="server.job")) == b"content"


class Cell:
    """A cell whose requests for certificates are all answered with one certificate."""

    def __init__(self, certificate, authority, origin):
        self._answer = {CERT_CONTENT: certificate, CERT_CA_CONTENT: authority}
        self._origin = origin

    def register_request_cb(self, *arguments):
        pass

    def send_request(self, *arguments, **options):
        return Message({MessageHeaderKey.ORIGIN: self._origin}, self._answer)


def exchange(kits, shown, origin):
    """Ask, as the bank, for the shop's certificate; the answer shows another kit's under another name."""
    own = kits["bank"] / "startup"
    properties = {
        DriverParams.CA_CERT.value: str(own / "rootCA.pem"),
        DriverParams.CLIENT_CERT.value: str(own / "client.crt"),
        DriverParams.CLIENT_KEY.value: str(own / "client.key"),
    }
    resolver = CellIdentityResolver("bank.job", {"server": "localhost", "bank": "bank"})
    manager = CredentialManager(Endpoint("bank.job", {}, properties), resolver, True)
    cell = Cell(shown.read_bytes(), (own / "rootCA.pem").read_bytes(), origin)
    original = getattr(
        CertificateExchanger.exchange_certificate, "__wrapped__", CertificateExchanger.exchange_certificate
    )
    exchanger = CertificateExchanger(cell, manager)
    return original(exchanger, "shop.job"), lambda: _refusing_others(original)(exchanger, "shop.job")


def test_the_relays_certificate_is_not_taken_for_a_sites(kits):
    relays = kits["relay"] / "startup" / "server.crt"
    by_flare, by_us = exchange(kits, relays, "server")
    assert by_flare == relays.read_bytes()  # this is why we ask
    with pytest.raises(NetworkError, match="certificate of 'shop' was asked for, but that of 'localhost' came"):
        by_us()


def test_a_sites_own_certificate_is_taken(kits):
    own = kits["shop"] / "startup" / "client.crt"
    _, by_us = exchange(kits, own, "shop.job")
    assert by_us() == own.read_bytes()
