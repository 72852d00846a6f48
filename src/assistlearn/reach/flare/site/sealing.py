"""Refuses messages between sites that are not sealed: encrypted for this site, signed by the site that they name.

FLARE encrypts what we send (``secure=True``). But it accepts a message in another site's name without checking that it
was encrypted, and a certificate without checking that it belongs to the site that was asked for. A relay that was
changed could use either to speak in a site's name, or to read messages. Here both are checked.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any

from nvflare.fuel.f3.cellnet.core_cell import CertificateExchanger, CoreCell
from nvflare.fuel.f3.cellnet.defs import MessageHeaderKey
from nvflare.fuel.f3.cellnet.identity import get_cert_common_name_from_pem
from nvflare.fuel.f3.streaming.stream_const import STREAM_CHANNEL, STREAM_DATA_TOPIC

from assistlearn.errors import NetworkError
from assistlearn.reach.flare.site.revocation import is_revoked

RELAY = "server"
"""What FLARE calls the relay; its own messages carry nothing of ours, and are not encrypted from end to end."""


SECURE = True
"""Whether calls between sites are encrypted from end to end."""


def seal() -> None:
    """Make this process refuse unsealed messages between sites, and certificates in another's name or revoked."""
    CoreCell.decrypt_payload = _refusing_open(CoreCell.decrypt_payload, lambda: SECURE)
    CertificateExchanger.exchange_certificate = _refusing_others(CertificateExchanger.exchange_certificate)
    CertificateExchanger.get_certificate = _refusing_revoked(CertificateExchanger.get_certificate)


def _refusing_open(decrypt: Callable[..., Any], wanted: Callable[[], bool]) -> Callable[..., Any]:
    @wraps(decrypt)
    def decrypted(cell: Any, message: Any) -> Any:
        if wanted() and _between_sites(message) and not _is_sealed(message):
            origin = message.get_header(MessageHeaderKey.ORIGIN)
            raise NetworkError(f"A message in the name of {origin!r} was not encrypted, and was refused.")
        return decrypt(cell, message)

    return decrypted


def _between_sites(message: Any) -> bool:
    header = message.get_header
    data = header(MessageHeaderKey.CHANNEL) == STREAM_CHANNEL and header(MessageHeaderKey.TOPIC) == STREAM_DATA_TOPIC
    ends = _site(header(MessageHeaderKey.ORIGIN)), _site(header(MessageHeaderKey.DESTINATION))
    return data and RELAY not in ends


def _is_sealed(message: Any) -> bool:
    return (
        message.get_header(MessageHeaderKey.SECURE) is True and message.get_header(MessageHeaderKey.ENCRYPTED) is True
    )


def _refusing_others(exchange: Callable[..., Any]) -> Callable[..., Any]:
    @wraps(exchange)
    def exchanged(exchanger: Any, target: str) -> Any:
        certificate = exchange(exchanger, target)
        name = get_cert_common_name_from_pem(certificate)
        if _site(target) != RELAY and name != _site(target):
            raise NetworkError(
                f"The certificate of {_site(target)!r} was asked for, but that of {name!r} came; it was refused."
            )
        return certificate

    return exchanged


def _refusing_revoked(get: Callable[..., Any]) -> Callable[..., Any]:
    """Return FLARE's function that finds a certificate, changed so that it raises where the certificate is revoked."""

    @wraps(get)
    def found(exchanger: Any, target: str) -> Any:
        certificate = get(exchanger, target)
        if is_revoked(certificate):
            raise NetworkError(f"The certificate of {_site(target)!r} was revoked; nothing is exchanged with it.")
        return certificate

    return found


def _site(cell: str | None) -> str:
    """Return the site that a cell's name begins with.

    >>> _site("bank.7ff41038")
    'bank'
    """
    return (cell or "").partition(".")[0]
