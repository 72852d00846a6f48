"""A request for certificates: a member's names and public keys, each signed with the private key, which is not sent."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from assistlearn.errors import NetworkError, SettingsError
from assistlearn.reach.flare.provisioning.fingerprint import fingerprint
from assistlearn.reach.flare.provisioning.issuing import BITS, key_bytes, new_key
from assistlearn.reach.flare.provisioning.kit import ADMIN, key_in
from assistlearn.reach.flare.provisioning.network_file import HOST, NAME, RESERVED, admin_name
from assistlearn.reach.flare.provisioning.safe_files import read_small
from assistlearn.storage import write_bytes

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.asymmetric.rsa import RSAPrivateKey, RSAPublicKey
    from cryptography.x509 import CertificateSigningRequest

Role = Literal["member", "initiator", "relay"]

HASHES = ("sha256", "sha384", "sha512")


@dataclass(frozen=True)
class Requested:
    """A name, and the public key that a certificate is requested for.

    Attributes
    ----------
    name : str
        The name.
    key : RSAPublicKey
        The public key. The member has shown that it has the private key, too.
    """

    name: str
    key: RSAPublicKey


def make_request(folder: Path, name: str, role: Role) -> tuple[Path, str]:
    """Make keys in a folder that becomes a kit, and a request for certificates beside them.

    Returns
    -------
    request : path
        The file to send; it holds no secret.
    words : str
        The fingerprint of the keys in it.
    """
    _check_name(name, role)
    places = {name: key_in(folder, "relay" if role == "relay" else "site")}
    if role == "initiator":
        places[admin_name(name)] = key_in(folder / ADMIN, "admin")
    request = folder / f"{name}.csr"
    for place in places.values():
        if place.exists() and request.exists():
            raise SettingsError(
                f"{place} is there already. It is not replaced, because certificates belong to it. Send the request in "
                f"{folder}, have the certificate renewed ('assistlearn network renew'), or name another folder."
            )
    keys = {who: _key_at(place) for who, place in places.items()}
    write_bytes(request, b"".join(_signed(who, key) for who, key in keys.items()))
    return request, fingerprint(*(key.public_key() for key in keys.values()))


def _key_at(place: Path) -> RSAPrivateKey:
    """Return the key that an earlier try has left on disk, or write a new one there and return it."""
    from cryptography.hazmat.primitives.asymmetric.rsa import RSAPrivateKey
    from cryptography.hazmat.primitives.serialization import load_pem_private_key

    if place.exists():
        left = load_pem_private_key(read_small(place), None)
        if not isinstance(left, RSAPrivateKey):
            raise SettingsError(f"{place} holds another kind of key than this program makes. Name another folder.")
        return left
    key = new_key(BITS)
    write_bytes(place, key_bytes(key))
    return key


def read_request(path: Path) -> list[Requested]:
    """Return what a request asks for; raise where it is malformed, or asks for more than a name.

    Raises
    ------
    NetworkError
        It says what is wrong.
    """
    from cryptography import x509

    content = read_small(path)
    blocks = [part + _END for part in content.split(_END)[:-1]]
    if not 1 <= len(blocks) <= 2:
        raise NetworkError(f"{path} is not a request: it holds {len(blocks)} signing requests, not one or two.")
    try:
        requests = [x509.load_pem_x509_csr(block) for block in blocks]
        return [_checked(request, path) for request in requests]
    except ValueError as error:
        raise NetworkError(f"{path} is not a request: {error}.") from None


def _checked(request: CertificateSigningRequest, path: Path) -> Requested:
    from cryptography.x509.oid import NameOID

    subject = list(request.subject)
    if len(subject) != 1 or subject[0].oid != NameOID.COMMON_NAME or not isinstance(subject[0].value, str):
        asked = request.subject.rfc4514_string()
        raise NetworkError(f"{path} asks for {asked!r}; a request must have a common name and nothing else.")
    name = subject[0].value
    if len(request.extensions) or len(request.attributes):
        raise NetworkError(
            f"{path}: the request of {name!r} asks for rights of its own. Only the authority decides what a "
            "certificate is for. Have the request made by 'assistlearn site request'."
        )
    algorithm = request.signature_hash_algorithm
    if algorithm is None or algorithm.name not in HASHES or not request.is_signature_valid:
        raise NetworkError(
            f"{path}: the request of {name!r} is not signed by the key that is in it; whoever made it does not have "
            "that key, or the file was changed."
        )
    return Requested(name, _strong(request, path))


def _strong(request: CertificateSigningRequest, path: Path) -> RSAPublicKey:
    from cryptography.hazmat.primitives.asymmetric.rsa import RSAPublicKey

    key = request.public_key()
    if not isinstance(key, RSAPublicKey):
        raise NetworkError(f"{path} holds a {type(key).__name__}; FLARE encrypts with RSA keys only.")
    if key.key_size != BITS or key.public_numbers().e != 65537:
        raise NetworkError(
            f"{path} holds a key of {key.key_size} bits with exponent {key.public_numbers().e}. It must have {BITS} "
            "bits, for which FLARE's messages have room, and the exponent 65537."
        )
    return key


def requested_names(folder: Path) -> Sequence[str]:
    """Return the names that were asked for with the request in a folder."""
    found = sorted(folder.glob("*.csr"))
    if len(found) != 1:
        raise NetworkError(
            f"{folder} holds {len(found)} requests (*.csr), not one. Name the folder that 'assistlearn site request' "
            "made."
        )
    return [one.name for one in read_request(found[0])]


def _check_name(name: str, role: Role) -> None:
    if role == "relay":
        if not HOST.fullmatch(name):
            raise SettingsError(f"The relay's name is its host name, such as relay.example.org, not {name!r}.")
        return
    if not NAME.fullmatch(name) or name.lower() in RESERVED:
        raise SettingsError(
            f"{name!r} cannot be an organisation's name: use at most 63 letters, digits, '_' and '-', and none of "
            f"{', '.join(RESERVED)}."
        )


def _signed(name: str, key: RSAPrivateKey) -> bytes:
    from cryptography import x509
    from cryptography.hazmat.primitives import hashes
    from cryptography.hazmat.primitives.serialization import Encoding
    from cryptography.x509.oid import NameOID

    subject = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)])
    request = x509.CertificateSigningRequestBuilder().subject_name(subject).sign(key, hashes.SHA256())
    return request.public_bytes(Encoding.PEM)


_END = b"-----END CERTIFICATE REQUEST-----\n"
