"""The authority of a network: its key signs certificates, and the list of those that are revoked."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any

from assistlearn.errors import NetworkError
from assistlearn.reach.flare.provisioning import policy
from assistlearn.reach.flare.provisioning.kit import Kind

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.asymmetric.rsa import RSAPrivateKey, RSAPublicKey
    from cryptography.x509 import Certificate, CertificateRevocationList

BITS = 2048
"""Bits of a member's key: FLARE's messages between sites have room for keys of this size only."""

EARLIER = timedelta(minutes=5)
"""A certificate is valid from this long before it was made, since clocks differ a little."""


@dataclass(frozen=True)
class Issuer:
    """An authority that can sign.

    Attributes
    ----------
    certificate : Certificate
        Its own, signed by itself; everybody in the network has it.
    key : RSAPrivateKey
        Its private key.
    """

    certificate: Certificate
    key: RSAPrivateKey

    @classmethod
    def new(cls, network: str, days: int, bits: int = BITS) -> Issuer:
        """Return the authority of a new network."""
        from nvflare.lighter.utils import Identity, generate_cert

        key, begin = new_key(bits), datetime.now(UTC) - EARLIER
        who = Identity(network)
        certificate = generate_cert(
            who, who, key, key.public_key(), ca=True, not_valid_before=begin, not_valid_after=_after(days)
        )
        return cls(certificate, key)

    def issue(self, kind: Kind, name: str, org: str, public_key: RSAPublicKey, days: int) -> Certificate:
        """Return a certificate for one name and one kind of kit, and for no other use."""
        from nvflare.lighter.utils import Identity, generate_cert

        end = self.certificate.not_valid_after_utc
        if end <= datetime.now(UTC):
            raise NetworkError(
                f"The network's authority expired on {end:%d %B %Y}. Make a new network: assistlearn network found"
            )
        return generate_cert(  # type: ignore[no-any-return]
            Identity(name, org, policy.ROLE if kind == "admin" else None),
            Identity(name_in(self.certificate)),
            self.key,
            public_key,
            not_valid_before=datetime.now(UTC) - EARLIER,
            not_valid_after=min(end, _after(days)),
            extra_extensions=_limits(kind),
        )

    def revocation_list(self, revoked: Mapping[int, datetime], number: int) -> CertificateRevocationList:
        """Return the list of all certificates that are revoked, by serial number."""
        from cryptography import x509
        from cryptography.hazmat.primitives import hashes

        now = datetime.now(UTC)
        builder = (
            x509.CertificateRevocationListBuilder()
            .issuer_name(self.certificate.subject)
            .last_update(now - EARLIER)
            .next_update(max(self.certificate.not_valid_after_utc, now + EARLIER))
            .add_extension(x509.CRLNumber(number), critical=False)
            .add_extension(x509.AuthorityKeyIdentifier.from_issuer_public_key(self.key.public_key()), critical=False)
        )
        for serial, at in revoked.items():
            entry = x509.RevokedCertificateBuilder().serial_number(serial).revocation_date(at).build()
            builder = builder.add_revoked_certificate(entry)
        return builder.sign(self.key, hashes.SHA256())


def new_key(bits: int = BITS) -> RSAPrivateKey:
    """Return a new private key. It is an RSA key: FLARE encrypts with it from one site to the other."""
    from cryptography.hazmat.primitives.asymmetric import rsa

    return rsa.generate_private_key(65537, bits)


def key_bytes(key: RSAPrivateKey) -> bytes:
    """Return a private key in PEM, as FLARE reads it."""
    from nvflare.lighter.utils import serialize_pri_key

    return bytes(serialize_pri_key(key))


def kind_of(certificate: Certificate) -> Kind:
    """Return what kind of kit a certificate is for; only the relay's may be shown by a server."""
    from cryptography import x509
    from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

    try:
        uses = list(certificate.extensions.get_extension_for_class(x509.ExtendedKeyUsage).value)
    except x509.ExtensionNotFound:
        raise NetworkError("The certificate does not say what it is for: it was not made by assistlearn.") from None
    if ExtendedKeyUsageOID.SERVER_AUTH in uses:
        return "relay"
    return "admin" if certificate.subject.get_attributes_for_oid(NameOID.UNSTRUCTURED_NAME) else "site"


def name_in(certificate: Certificate) -> str:
    """Return the name that a certificate is for."""
    from cryptography.x509.oid import NameOID

    (name,) = certificate.subject.get_attributes_for_oid(NameOID.COMMON_NAME)
    return str(name.value)


def org_of(name: str) -> str:
    """Return an organisation's name in FLARE's spelling.

    >>> org_of("phone-co")
    'phone_co'
    """
    return name.replace("-", "_")


def _after(days: int) -> datetime:
    return datetime.now(UTC) + timedelta(days=days)


def _limits(kind: Kind) -> list[tuple[Any, bool]]:
    """Return what a certificate may be used for. The relay is a client, too: its own processes connect to it."""
    from cryptography import x509
    from cryptography.x509.oid import ExtendedKeyUsageOID as Use

    uses = [Use.SERVER_AUTH, Use.CLIENT_AUTH] if kind == "relay" else [Use.CLIENT_AUTH]
    no = dict.fromkeys(("content_commitment", "data_encipherment", "key_agreement", "key_cert_sign", "crl_sign"), False)
    usage = x509.KeyUsage(digital_signature=True, key_encipherment=True, encipher_only=False, decipher_only=False, **no)
    return [
        (x509.BasicConstraints(ca=False, path_length=None), True),
        (usage, True),
        (x509.ExtendedKeyUsage(uses), False),
    ]
