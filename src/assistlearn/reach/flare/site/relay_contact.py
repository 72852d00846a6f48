"""Whether the relay answers, with both sides' certificates shown, and what time it has."""

from __future__ import annotations

import socket
import ssl
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime

from assistlearn.errors import NetworkError
from assistlearn.reach.flare.provisioning.kit import Kit
from assistlearn.reach.flare.site.certificates import NEW_KIT

REACH = 10.0
"""Seconds to reach the relay."""

APART = 60.0
"""Seconds that two clocks may differ: certificates and permissions end at a fixed time."""


def knock(kit: Kit) -> str:
    """Return the time that the relay tells, after a handshake in which both sides show their certificates."""
    try:
        context = ssl.create_default_context(cafile=str(kit.authority))
        context.load_cert_chain(kit.certificate, kit.key)
    except OSError as error:  # ssl.SSLError is one
        raise NetworkError(f"{kit.startup}: key or certificate cannot be used: {error}. {NEW_KIT}") from None
    where = f"{kit.host}:{kit.port}"
    try:
        with (
            socket.create_connection((kit.host, kit.port), REACH) as plain,
            context.wrap_socket(plain, server_hostname=kit.host) as secure,
        ):
            secure.sendall(f"GET / HTTP/1.1\r\nHost: {kit.host}\r\nConnection: close\r\n\r\n".encode())
            return _date(secure)
    except ssl.SSLCertVerificationError as error:
        raise NetworkError(
            f"The machine at {where} shows a certificate that is not of this network, or no longer valid "
            f"({error.verify_message}). Is it the right relay, with a kit made together with this one?"
        ) from None
    except ssl.SSLError as error:
        raise NetworkError(
            f"The relay at {where} does not accept this kit's certificate ({error.reason}): it is expired, or of "
            f"another network. {NEW_KIT}"
        ) from None
    except socket.gaierror:
        raise NetworkError(
            f"The relay's host name {kit.host!r} is not known here. Ask your network's administrator, or add it to "
            "/etc/hosts."
        ) from None
    except OSError as error:
        raise NetworkError(
            f"The relay at {where} cannot be reached: {error}. Check whether it is running there ('assistlearn site "
            f"start relay'), and whether a firewall lets port {kit.port} through."
        ) from None


def _date(secure: ssl.SSLSocket) -> str:
    answer = b""
    while len(answer) < 65_536 and (part := secure.recv(4096)):
        answer += part
    for line in answer.decode("latin-1").splitlines():
        if line.lower().startswith("date:"):
            return line.partition(":")[2].strip()
    return ""


def compare_clocks(date: str) -> str:
    """Return how far this machine's clock is from the relay's; raise where it is too far."""
    try:
        apart = (datetime.now(UTC) - parsedate_to_datetime(date)).total_seconds()
    except (ValueError, TypeError):  # it is no date, or one without a zone
        return "the relay does not tell its time"
    if abs(apart) > APART:
        raise NetworkError(
            f"This machine's clock is {abs(apart):.0f} seconds {'ahead of' if apart > 0 else 'behind'} the relay's. "
            "Set both by a time server (NTP): certificates and permissions end at a fixed time."
        )
    return f"within {max(abs(apart), 1):.0f} s of the relay's"
