"""The list of revoked certificates: signed by the network's authority, numbered, never replaced by an older one."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from assistlearn.errors import NetworkError
from assistlearn.reach.flare.provisioning.safe_files import LARGEST, read_small
from assistlearn.storage import write_bytes

if TYPE_CHECKING:
    from cryptography.x509 import Certificate, CertificateRevocationList

LARGEST_LIST = 16 * LARGEST
"""Bytes of a list at the most: some hundred thousand revoked certificates."""


def read_list(content: bytes, authority: Certificate, where: object) -> CertificateRevocationList:
    """Return a list of revoked certificates; raise if it is no such list, or not signed by this authority.

    Parameters
    ----------
    content : bytes
        The list, in PEM.
    authority : Certificate
        The certificate of the network's authority.
    where : object
        Where the list came from, for error messages.
    """
    from cryptography import x509

    try:
        found = x509.load_pem_x509_crl(content)
        number_of(found)
    except (ValueError, x509.ExtensionNotFound) as error:
        raise NetworkError(f"{where} is not a list of revoked certificates: {error}.") from None
    key = authority.public_key()
    if found.issuer != authority.subject or not found.is_signature_valid(key):  # type: ignore[arg-type]
        raise NetworkError(
            f"{where} was not signed by this network's authority: it is of another network, or was changed. Do not "
            "use it, and ask the authority for its list."
        )
    return found


def number_of(found: CertificateRevocationList) -> int:
    """Return a list's number; a later list has a higher one."""
    from cryptography import x509

    return found.extensions.get_extension_for_class(x509.CRLNumber).value.crl_number


def install_list(content: bytes, authority: Certificate, place: Path, where: object) -> bool:
    """Put a list in its place in a kit; return whether it is later than the one that was there.

    Raises
    ------
    NetworkError
        It is not signed by the authority, or older than the one that is there.
    """
    new, there = number_of(read_list(content, authority, where)), number_at(place, authority)
    if new < there:
        raise NetworkError(
            f"{where} is number {new}, but number {there} is there already ({place}). An older list would let in "
            "members who were revoked since. Ask the authority for the latest."
        )
    if new > there:
        write_bytes(place, content)
    return new > there


def number_at(place: Path, authority: Certificate) -> int:
    """Return the number of the list that is in a kit; 0 where there is none."""
    return number_of(read_list(read_small(place, LARGEST_LIST), authority, place)) if place.is_file() else 0
