"""The authority's folder: its encrypted key, its certificate, the network's file, and the record of what it signed.

It is meant to lie offline: nothing but ``assistlearn network sign``, ``renew`` and ``revoke`` needs it.
"""

from __future__ import annotations

import os
import shutil
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

from assistlearn.errors import NetworkError, SettingsError
from assistlearn.reach.flare.installed import require_flare
from assistlearn.reach.flare.provisioning.admission import kinds_of
from assistlearn.reach.flare.provisioning.authority_record import Listed, Record, Revoked, Signed, Standing
from assistlearn.reach.flare.provisioning.fingerprint import fingerprint
from assistlearn.reach.flare.provisioning.issuing import Issuer, name_in, org_of
from assistlearn.reach.flare.provisioning.kit import Kind
from assistlearn.reach.flare.provisioning.locked_key import locked, unlocked
from assistlearn.reach.flare.provisioning.membership import FORMAT, Membership
from assistlearn.reach.flare.provisioning.network_file import Network, admin_name, load_network
from assistlearn.reach.flare.provisioning.revoked_list import read_list
from assistlearn.reach.flare.provisioning.safe_files import read_small
from assistlearn.reach.flare.provisioning.signing_request import Requested
from assistlearn.storage import write_bytes

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.asymmetric.rsa import RSAPublicKey
    from cryptography.x509 import Certificate

AUTHORITY_DAYS = 3650
"""How long the authority of a network is valid."""

AUTHORITY_BITS = 3072
"""Bits of the authority's key."""

SHORTEST = 12
"""Characters of a passphrase, at the least."""

KEY, CERTIFICATE, FILE, RECORD, LIST = "authority.key", "rootCA.pem", "network.toml", "record.jsonl", "revoked.crl"


def found(file: Path, folder: Path, passphrase: str) -> Authority:
    """Make the authority of a new network in a folder that does not exist yet, or is empty."""
    require_flare()
    network = load_network(file)
    if folder.exists() and any(folder.iterdir()):
        raise SettingsError(
            f"{folder} is not empty. An authority cannot be made in the folder of another: name a new folder."
        )
    if len(passphrase) < SHORTEST:
        raise SettingsError(f"The passphrase has {len(passphrase)} characters; use at least {SHORTEST}.")
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    os.chmod(folder, 0o700)
    issuer = Issuer.new(network.name, AUTHORITY_DAYS, AUTHORITY_BITS)
    write_bytes(folder / KEY, locked(issuer.key, passphrase))
    write_bytes(folder / CERTIFICATE, _pem(issuer.certificate).encode())
    shutil.copyfile(file, folder / FILE)
    Record(folder / RECORD).append()  # made at once: a record that is missing later was lost
    made = Authority(folder)
    made.list_revoked(issuer)
    return made


class Authority:
    """A network's authority, read from its folder. Its key stays locked until :meth:`opened` gets the passphrase.

    Parameters
    ----------
    folder : path
        What :func:`found` has made.
    """

    def __init__(self, folder: Path) -> None:
        from cryptography import x509

        self.folder = folder
        for name in (KEY, CERTIFICATE, FILE, RECORD):
            if not (folder / name).is_file():
                raise SettingsError(
                    f"{folder} is not an authority's folder: there is no {folder / name}. Name the one that "
                    "'assistlearn network found' made."
                )
        self.network: Network = load_network(folder / FILE)
        self.record = Record(folder / RECORD)
        self.certificate: Certificate = x509.load_pem_x509_certificate((folder / CERTIFICATE).read_bytes())
        if self.network.name != name_in(self.certificate):
            raise SettingsError(
                f"{folder / FILE} is of the network {self.network.name!r}, but the authority is that of "
                f"{name_in(self.certificate)!r}. A network keeps its name."
            )

    @property
    def revoked(self) -> Path:
        """The latest list of revoked certificates."""
        return self.folder / LIST

    def opened(self, passphrase: str) -> Issuer:
        """Return the authority with its key, to sign."""
        key = unlocked(read_small(self.folder / KEY), passphrase, self.folder / KEY)
        if key.public_key() != self.certificate.public_key():
            raise NetworkError(f"{self.folder / KEY} and {CERTIFICATE} do not belong together. Use a backup of both.")
        return Issuer(self.certificate, key)

    def sign(self, issuer: Issuer, asked: dict[Kind, Requested]) -> Membership:
        """Sign certificates, record them, and return what the member gets."""
        org = org_of("relay" if "relay" in asked else asked["site"].name)
        made = {
            kind: issuer.issue(kind, one.name, org, one.key, self.network.valid_days) for kind, one in asked.items()
        }
        self.record.append(*(_line(kind, certificate) for kind, certificate in made.items()))
        return Membership(
            format=FORMAT,
            network=self.network.name,
            relay=self.network.relay,
            port=self.network.port,
            authority=_pem(self.certificate),
            certificates={kind: _pem(certificate) for kind, certificate in made.items()},
            revoked=self.revoked.read_text(encoding="ascii"),
        )

    def renew(self, issuer: Issuer, name: str) -> Membership:
        """Sign new certificates for the keys that a member has."""
        names = [name, admin_name(name)] if name in self.network.all_initiators else [name]
        latest = {one.signed.name: one for one in self.record.standings() if one.signed.name in names}
        for one in names:
            if one not in latest or latest[one].revoked is not None:
                raise NetworkError(f"{one!r} has no certificate that could be renewed. Have it send a request.")
        requested = [Requested(one, _key_of(latest[one].signed)) for one in names]
        return self.sign(issuer, dict(zip(kinds_of(self.network, names), requested, strict=True)))

    def revoke(self, issuer: Issuer, name: str, replaced: bool = False) -> list[Standing]:
        """Revoke a member's certificates, make a new list, and return what was revoked.

        Parameters
        ----------
        issuer : Issuer
            The authority, opened.
        name : str
            The member's name; the certificates of an initiator's admin are revoked, too.
        replaced : bool
            Whether to revoke only certificates that a newer one has replaced.
        """
        now = datetime.now(UTC)
        mine = [one for one in self.record.standings() if one.signed.name in (name, admin_name(name))]
        latest = {one.signed.name: one.signed.serial for one in mine}
        gone = [
            one for one in mine if one.is_valid(now) and not (replaced and one.signed.serial == latest[one.signed.name])
        ]
        unlisted = [one for one in mine if int(one.signed.serial, 16) in self._unlisted()]
        if not gone and unlisted:
            self.list_revoked(issuer)  # an earlier try stopped after it wrote the record
            return unlisted
        if not gone:
            known = sorted({one.signed.name for one in self.record.standings() if one.is_valid(now)})
            raise NetworkError(f"{name!r} has no valid certificate to revoke. Valid are those of: {known}.")
        self.record.append(*(Revoked(now, one.signed.name, one.signed.serial) for one in gone))
        self.list_revoked(issuer)
        return gone

    def _unlisted(self) -> set[int]:
        """Return the serial numbers that are revoked in the record, but not in the list on disk."""
        listed = read_list(self.revoked.read_bytes(), self.certificate, self.revoked)
        return self.record.revoked().keys() - {entry.serial_number for entry in listed}

    def list_revoked(self, issuer: Issuer) -> None:
        """Write the list of all revoked certificates anew, with the next number."""
        from cryptography.hazmat.primitives.serialization import Encoding

        number = self.record.last_list() + 1
        self.record.append(Listed(datetime.now(UTC), number))
        made = issuer.revocation_list(self.record.revoked(), number)
        write_bytes(self.revoked, made.public_bytes(Encoding.PEM))


def _line(kind: Kind, certificate: Certificate) -> Signed:
    return Signed(
        at=datetime.now(UTC),
        name=name_in(certificate),
        kind=kind,
        serial=f"{certificate.serial_number:x}",
        until=certificate.not_valid_after_utc,
        key=fingerprint(certificate.public_key()),
        certificate=_pem(certificate),
    )


def _key_of(signed: Signed) -> RSAPublicKey:
    from cryptography import x509
    from cryptography.hazmat.primitives.asymmetric.rsa import RSAPublicKey

    key = x509.load_pem_x509_certificate(signed.certificate.encode()).public_key()
    assert isinstance(key, RSAPublicKey)
    return key


def _pem(certificate: Certificate) -> str:
    from cryptography.hazmat.primitives.serialization import Encoding

    return certificate.public_bytes(Encoding.PEM).decode("ascii")
