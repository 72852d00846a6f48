"""Whether a kit's certificate is valid, not revoked, and belongs to its key and its network."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import TYPE_CHECKING

from assistlearn.errors import NetworkError
from assistlearn.reach.flare.provisioning.kit import Kit
from assistlearn.reach.flare.provisioning.revoked_list import LARGEST_LIST, read_list
from assistlearn.reach.flare.provisioning.safe_files import read_small

if TYPE_CHECKING:
    from cryptography.x509 import Certificate

SOON = timedelta(days=30)
"""How long before its end a certificate is said to end soon."""

NEW_KIT = "Get a new kit, or a new certificate to join with, from whoever made the network."
"""What to do about a kit that cannot be used."""

RENEW = "Ask the network's authority to renew it ('assistlearn network renew'). Then: assistlearn site join KIT FILE"
"""What to do about a certificate that has ended."""

ANEW = "So no certificate can be renewed: the network must be made anew. Get a new kit from whoever makes it."
"""What to do when the network's authority has ended."""


def check_certificate(kit: Kit, now: datetime) -> str:
    """Return in words until when the kit's certificate is valid; raise if it is not, or of another network or key."""
    own, authority = _certificates(kit)
    _check_dates(f"authority of network {kit.network!r}", authority, now, ANEW)  # no certificate outlives it
    _check_dates(f"certificate of {kit.name!r}", own, now, RENEW)
    _check_revoked(kit, own, authority)
    end = min(own.not_valid_after_utc, authority.not_valid_after_utc)
    return f"of {kit.name!r}, network {kit.network!r}, valid until {end:%d %B %Y}{_soon(own, authority, now)}"


def _soon(own: Certificate, authority: Certificate, now: datetime) -> str:
    """Return what to do soon, or an empty text."""
    if authority.not_valid_after_utc - now < SOON:
        return " - soon, and so is the network's authority: the network must be made anew"
    return " - soon: have it renewed ('assistlearn network renew')" if own.not_valid_after_utc - now < SOON else ""


def _certificates(kit: Kit) -> tuple[Certificate, Certificate]:
    """Return the kit's certificate and that of the network's authority, which belong together and to the kit's key."""
    from cryptography import x509
    from cryptography.exceptions import InvalidSignature
    from cryptography.hazmat.primitives.serialization import load_pem_private_key

    try:
        own = x509.load_pem_x509_certificate(kit.certificate.read_bytes())
        authority = x509.load_pem_x509_certificate(kit.authority.read_bytes())
        key = load_pem_private_key(kit.key.read_bytes(), None)
    except ValueError as error:
        raise NetworkError(f"{kit.startup}: key or certificate cannot be read: {error}. {NEW_KIT}") from None
    try:
        own.verify_directly_issued_by(authority)
    except (InvalidSignature, ValueError, TypeError):
        raise NetworkError(
            f"{kit.certificate} was not issued by the authority in {kit.authority.name}: it is of another network, or "
            f"the file was changed. {NEW_KIT}"
        ) from None
    if own.public_key() != key.public_key():
        raise NetworkError(f"{kit.key} does not belong to {kit.certificate.name}. {NEW_KIT}")
    return own, authority


def _check_revoked(kit: Kit, own: Certificate, authority: Certificate) -> None:
    if not kit.revoked.is_file():
        return
    found = read_list(read_small(kit.revoked, LARGEST_LIST), authority, kit.revoked)
    entry = found.get_revoked_certificate_by_serial_number(own.serial_number)
    if entry is not None:
        raise NetworkError(
            f"The certificate of {kit.name!r} was revoked on {entry.revocation_date_utc:%d %B %Y}. To take part again, "
            "make a new key ('assistlearn site request') and ask the network's authority to sign it."
        )


def _check_dates(what: str, certificate: Certificate, now: datetime, remedy: str) -> None:
    begin, end = certificate.not_valid_before_utc, certificate.not_valid_after_utc
    if now >= end:
        raise NetworkError(f"The {what} expired on {end:%d %B %Y}. {remedy}")
    if now < begin:
        raise NetworkError(
            f"The {what} is valid from {begin:%d %B %Y %H:%M} UTC on; here it is {now:%d %B %Y %H:%M} UTC. Set this "
            "machine's clock."
        )
