"""What a site can know before anything is shared: its kit, its certificates, the relay, the clocks, its table."""

from __future__ import annotations

import socket
import ssl
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from email.utils import parsedate_to_datetime
from pathlib import Path

from assistlearn.agent_files import AgentDescription, load_description
from assistlearn.errors import AssistLearnError, DescriptionError, NetworkError
from assistlearn.reach.flare.installed import VERSION, require_flare
from assistlearn.reach.flare.provisioning.kit import Kit
from assistlearn.service.agent_from_file import from_loaded
from assistlearn.tables import load_agent

REACH = 10.0
"""Seconds to reach the relay."""

APART = 60.0
"""Seconds that two clocks may differ: certificates and permissions end at a moment."""

SOON = timedelta(days=30)
"""How long before its end a certificate is said to end soon."""


@dataclass(frozen=True)
class Finding:
    """One thing that was looked at.

    Attributes
    ----------
    what : str
        What was looked at.
    right : bool
        Whether it is as it should be.
    words : str
        What was found and, where it is wrong, what to do.
    """

    what: str
    right: bool
    words: str


def check_site(kit: Kit, agent_file: Path | None = None) -> Iterator[Finding]:
    """Look at everything that a site, the relay or the admin needs, and yield what is found.

    Parameters
    ----------
    kit : Kit
        The kit.
    agent_file : path, optional
        The organisation's agent file; without, the one in its kit.
    """
    yield _found("NVIDIA FLARE", _flare)
    yield _found("certificate", lambda: check_certificate(kit, datetime.now(UTC)))
    if kit.kind != "relay":
        try:
            date = _knock(kit)
        except NetworkError as error:
            yield Finding("relay", False, str(error))
        else:
            yield Finding("relay", True, f"{kit.host}:{kit.port} answers and shows a certificate of this network")
            yield _found("clocks", lambda: _clocks(kit, date))
    if kit.kind == "site":
        yield _found("agent", lambda: check_agent(kit, agent_file or kit.agent_file))


def _found(what: str, look: object) -> Finding:
    try:
        return Finding(what, True, look())  # type: ignore[operator]
    except (AssistLearnError, OSError) as error:
        return Finding(what, False, str(error))


def _flare() -> str:
    require_flare()
    return f"version {VERSION} is installed"


def check_certificate(kit: Kit, now: datetime) -> str:
    """Return until when the kit's certificate is valid; raise where it is not, or of another network or key."""
    from cryptography import x509
    from cryptography.exceptions import InvalidSignature
    from cryptography.hazmat.primitives.serialization import load_pem_private_key

    try:
        own = x509.load_pem_x509_certificate(kit.certificate.read_bytes())
        authority = x509.load_pem_x509_certificate(kit.authority.read_bytes())
        key = load_pem_private_key(kit.key.read_bytes(), None)
    except ValueError as error:
        raise NetworkError(f"{kit.startup}: key or certificate cannot be read: {error}. {_ANEW}") from None
    try:
        own.verify_directly_issued_by(authority)
    except (InvalidSignature, ValueError, TypeError):
        raise NetworkError(
            f"{kit.certificate} was not issued by the authority in {kit.authority.name}: it is of another network, or "
            f"the file was changed. {_ANEW}"
        ) from None
    if own.public_key() != key.public_key():
        raise NetworkError(f"{kit.key} does not belong to {kit.certificate.name}. {_ANEW}")
    for what, certificate in (("certificate", own), ("network's authority", authority)):
        if now >= certificate.not_valid_after_utc:
            raise NetworkError(
                f"The {what} of {kit.name!r} expired on {certificate.not_valid_after_utc:%d %B %Y}. {_ANEW}"
            )
        if now < (begin := certificate.not_valid_before_utc):
            raise NetworkError(
                f"The {what} of {kit.name!r} is valid from {begin:%d %B %Y %H:%M} UTC on; here "
                f"it is {now:%d %B %Y %H:%M} UTC. Set this machine's clock."
            )
    end = min(own.not_valid_after_utc, authority.not_valid_after_utc)
    soon = " - soon: have new kits made" if end - now < SOON else ""
    return f"of {kit.name!r}, network {kit.network!r}, valid until {end:%d %B %Y}{soon}"


_ANEW = "Get a new kit from whoever made the network ('assistlearn network create')."


def _knock(kit: Kit) -> str:
    """Return the relay's own time after a handshake in which both sides show their certificates."""
    try:
        context = ssl.create_default_context(cafile=str(kit.authority))
        context.load_cert_chain(kit.certificate, kit.key)
    except OSError as error:  # ssl.SSLError is one
        raise NetworkError(f"{kit.startup}: key or certificate cannot be used: {error}. {_ANEW}") from None
    where = f"{kit.host}:{kit.port}"
    try:
        with (
            socket.create_connection((kit.host, kit.port), REACH) as line,
            context.wrap_socket(line, server_hostname=kit.host) as secure,
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
            f"another network. {_ANEW}"
        ) from None
    except socket.gaierror:
        raise NetworkError(
            f"The relay's host name {kit.host!r} is not known here. Ask your network's administrator, or add it to "
            "/etc/hosts."
        ) from None
    except OSError as error:
        raise NetworkError(
            f"The relay at {where} cannot be reached: {error}. See whether it runs there ('assistlearn site start "
            f"relay'), and whether a firewall lets port {kit.port} through."
        ) from None


def _date(secure: ssl.SSLSocket) -> str:
    answer = b""
    while len(answer) < 65_536 and (part := secure.recv(4096)):
        answer += part
    for line in answer.decode("latin-1").splitlines():
        if line.lower().startswith("date:"):
            return line.partition(":")[2].strip()
    return ""


def _clocks(kit: Kit, date: str) -> str:
    try:
        apart = (datetime.now(UTC) - parsedate_to_datetime(date)).total_seconds()
    except (ValueError, TypeError):  # it is no date, or one without a zone
        return "the relay does not tell its time"
    if abs(apart) > APART:
        raise NetworkError(
            f"This machine's clock is {abs(apart):.0f} seconds {'ahead of' if apart > 0 else 'behind'} the relay's. "
            "Set both by a time server (NTP): certificates and permissions end at a moment."
        )
    return f"within {max(abs(apart), 1):.0f} s of the relay's"


def check_agent(kit: Kit, file: Path) -> str:
    """Return what the agent of a site is; raise where its file or table is not right for this site."""
    description = load_description(file)
    check_described(kit, description)
    agent = load_agent(description)
    from_loaded(agent)
    role = "initiator" if description.is_initiator else "helper"
    return f"{description.name!r}, {role}, {len(agent.table):,} rows from {agent.table.source}"


def check_described(kit: Kit, description: AgentDescription) -> None:
    """Refuse an agent's file that does not belong to a site, or does not say who may ask the agent."""
    check_named(kit, description)
    if not description.is_initiator and description.allow is None:
        raise DescriptionError(
            f"{description.file} does not say who may start runs with this agent. Add, for example:\n"
            '[allow]\ninitiators = ["bank"]\npurpose = "credit pilot"\nmax_runs = 5\nexpires = 2030-12-31'
        )


def check_named(kit: Kit, description: AgentDescription) -> None:
    """Refuse an agent's file that does not belong to a site."""
    if description.name != kit.name:
        raise DescriptionError(
            f"{description.file} describes agent {description.name!r}, but the kit is that of {kit.name!r}. The names "
            f"must be the same: name = {kit.name!r}"
        )
