"""Refuses whoever is on the list of revoked certificates in a kit. The list is read again whenever it has changed.

A running site or relay uses a new list by itself. It ends connections that use a revoked certificate, refuses new ones
under any name, and does not open messages that were sealed with such a certificate (:mod:`.sealing`).
"""

from __future__ import annotations

import logging
import os
import threading
from collections.abc import Callable
from functools import lru_cache, wraps
from pathlib import Path
from typing import Any

from cryptography import x509

from assistlearn.errors import NetworkError
from assistlearn.reach.flare.provisioning.kit import revoked_in
from assistlearn.reach.flare.provisioning.revoked_list import LARGEST_LIST, number_of, read_list
from assistlearn.reach.flare.provisioning.safe_files import read_small
from assistlearn.reach.flare.site.environment import KIT

LOOK = 2.0
"""Seconds between two looks of a running site or relay at its list."""

logger = logging.getLogger("assistlearn.reach.flare")


class Revocations:
    """The list of revoked certificates in a kit; nobody is revoked where there is none.

    Parameters
    ----------
    kit : path
        The kit's folder.
    """

    def __init__(self, kit: Path) -> None:
        self._path = revoked_in(kit)
        self._authority = x509.load_pem_x509_certificate((kit / "startup" / "rootCA.pem").read_bytes())
        self._seen: tuple[int, int] | None = None
        self._number = 0
        self._serials: frozenset[int] = frozenset()
        self._lock = threading.Lock()

    def __contains__(self, serial: int) -> bool:
        """Return whether a certificate is revoked, by its serial number."""
        self.look()
        return serial in self._serials

    def look(self) -> None:
        """Read the list if it has changed; a list that is invalid or older does not replace the one before."""
        with self._lock:
            try:
                status = self._path.stat()
            except OSError:  # there is none, or it cannot be read: the one before stays in force
                return
            seen = status.st_mtime_ns, status.st_size
            if seen == self._seen:
                return
            self._seen = seen
            try:
                self._take(read_list(read_small(self._path, LARGEST_LIST), self._authority, self._path))
            except NetworkError as error:
                logger.error("%s The list before it stays in force.", error)

    def _take(self, found: x509.CertificateRevocationList) -> None:
        if number_of(found) < self._number:
            raise NetworkError(f"{self._path} is number {number_of(found)}, older than number {self._number}.")
        self._number = number_of(found)
        self._serials = frozenset(entry.serial_number for entry in found)


@lru_cache(maxsize=1)
def revocations() -> Revocations | None:
    """Return the list of this process's kit; None in a process that has none."""
    kit = os.environ.get(KIT)
    return None if kit is None else Revocations(Path(kit))


def is_revoked(certificate: bytes | x509.Certificate) -> bool:
    """Return whether a certificate is on the list of this process's kit."""
    known = revocations()
    if known is None:
        return False
    return (_serial(certificate) if isinstance(certificate, bytes) else certificate.serial_number) in known


@lru_cache(maxsize=256)
def _serial(certificate: bytes) -> int:
    """Return the serial number of a certificate; it is cached, since every message needs it."""
    return x509.load_pem_x509_certificate(certificate).serial_number


def install_revocation() -> None:
    """Make this process, a site's or the relay's, refuse and end connections that use revoked certificates."""
    from nvflare.fuel.f3.drivers.base_driver import BaseDriver
    from nvflare.private.fed.utils.identity_utils import IdentityVerifier

    known = revocations()
    if known is None:
        return
    connections = Connections(known)
    BaseDriver.add_connection = connections.refusing(BaseDriver.add_connection)
    IdentityVerifier.verify_common_name = _refusing_revoked(IdentityVerifier.verify_common_name)
    threading.Thread(target=connections.watch, name="revocations", daemon=True).start()


class Connections:
    """The connections of this process, each with its other end's certificate.

    Parameters
    ----------
    known : Revocations
        Who is revoked.
    """

    def __init__(self, known: Revocations) -> None:
        self._known = known
        self._drivers: set[Any] = set()

    def refusing(self, add: Callable[..., Any]) -> Callable[..., Any]:
        """Return FLARE's function that adds a connection, changed so that it refuses revoked certificates."""

        @wraps(add)
        def added(driver: Any, connection: Any) -> Any:
            if self._is_revoked(connection):
                connection.close()
                raise NetworkError(f"{connection}: the certificate was revoked; the connection was refused.")
            self._drivers.add(driver)
            return add(driver, connection)

        return added

    def watch(self) -> None:
        """End connections whose certificate is revoked while they last."""
        while True:
            threading.Event().wait(LOOK)
            try:
                self.end_revoked()
            except Exception:  # a connection may end by itself at this moment; the next look tries again
                logger.exception("Connections of revoked certificates could not be ended, and are tried again")

    def end_revoked(self) -> None:
        """End the connections whose certificate is revoked by now."""
        for driver in list(self._drivers):
            for connection in list(driver.connections.values()):
                if self._is_revoked(connection):
                    logger.warning("%s: the certificate was revoked; the connection is ended.", connection)
                    connection.close()

    def _is_revoked(self, connection: Any) -> bool:
        socket = getattr(connection, "websocket", None)  # processes of one site talk without certificates
        certificate = None if socket is None else socket.get_extra_info("peercert")
        return certificate is not None and int(certificate["serialNumber"], 16) in self._known


def _refusing_revoked(verify: Callable[..., Any]) -> Callable[..., Any]:
    """Return FLARE's function that checks who registers, changed so that it refuses revoked certificates."""

    @wraps(verify)
    def verified(verifier: Any, *arguments: Any, **options: Any) -> Any:
        certificate = options["asserter_cert"]
        if is_revoked(certificate):
            raise NetworkError(f"The certificate {certificate.subject.rfc4514_string()} was revoked.")
        return verify(verifier, *arguments, **options)

    return verified
