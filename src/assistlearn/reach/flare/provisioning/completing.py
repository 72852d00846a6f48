"""Completing a kit: the member's own key, the authority's certificates, and what this installation allows others."""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

from assistlearn.errors import NetworkError
from assistlearn.reach.flare.installed import require_flare
from assistlearn.reach.flare.provisioning.fingerprint import fingerprint
from assistlearn.reach.flare.provisioning.issuing import kind_of, name_in
from assistlearn.reach.flare.provisioning.kit import ADMIN, Kind, Kit, key_in, load_kit, revoked_in
from assistlearn.reach.flare.provisioning.membership import Membership
from assistlearn.reach.flare.provisioning.provision import Place, blank_kit
from assistlearn.reach.flare.provisioning.revoked_list import number_at, number_of, read_list
from assistlearn.reach.flare.provisioning.signing_request import requested_names
from assistlearn.storage import write_bytes

if TYPE_CHECKING:
    from cryptography.x509 import Certificate


def join(folder: Path, membership: Membership) -> Kit:
    """Complete the kit in a folder, or renew the certificates in it, and return it.

    Nothing is written unless everything in the membership is right.

    Parameters
    ----------
    folder : path
        Where :func:`~.signing_request.make_request` has put the keys; or a kit.
    membership : Membership
        What the authority has sent.

    Raises
    ------
    NetworkError
        A certificate is not of this authority, not for this key and name, or not valid; or the kit is of another
        network.
    """
    require_flare()
    authority, own = membership.loaded()
    names = _names(folder, own)
    _check_same_relay(folder, membership)
    for kind, certificate in own.items():
        place = _place(folder, kind)
        _check_known(place / "startup" / "rootCA.pem", authority)
        _check(certificate, authority, kind, names[kind], key_in(place, kind))
    read_list(membership.revoked.encode(), authority, "The list in the membership")
    for kind in own:
        _complete(_place(folder, kind), kind, names, membership)
    return load_kit(folder)


def root_of(folder: Path) -> str | None:
    """Return the fingerprint of the authority that a kit has already; None where it has none."""
    from cryptography import x509

    path = folder / "startup" / "rootCA.pem"
    return fingerprint(x509.load_pem_x509_certificate(path.read_bytes()).public_key()) if path.is_file() else None


def _place(folder: Path, kind: Kind) -> Path:
    return folder / ADMIN if kind == "admin" else folder


def _names(folder: Path, own: Mapping[Kind, Certificate]) -> dict[Kind, str]:
    """Return the name that each certificate must have: that of the kit, or the one that was asked for."""
    first: Kind = "relay" if "relay" in own else "site"
    kinds: list[Kind] = [first, "admin"] if "admin" in own else [first]
    if (folder / "startup" / "rootCA.pem").is_file():
        names = [load_kit(_place(folder, kind), kind).name for kind in kinds]
    else:
        names = list(requested_names(folder))
    if len(names) != len(kinds):
        raise NetworkError(f"{folder} asked for {names}; the membership has certificates for {sorted(own)}.")
    return dict(zip(kinds, names, strict=True))


def _check_same_relay(folder: Path, membership: Membership) -> None:
    """Refuse to renew a kit whose relay has moved: its other files would still name the old place."""
    if not (folder / "startup" / "rootCA.pem").is_file():
        return
    kit = load_kit(folder)
    if (kit.network, kit.host, kit.port) != (membership.network, membership.relay, membership.port):
        raise NetworkError(
            f"The membership is for the relay {membership.relay}:{membership.port} of {membership.network!r}, the kit "
            f"for {kit.host}:{kit.port} of {kit.network!r}. Begin with a new folder ('assistlearn site request')."
        )


def _check_known(there: Path, authority: Certificate) -> None:
    from cryptography import x509

    if there.is_file() and x509.load_pem_x509_certificate(there.read_bytes()) != authority:
        raise NetworkError(
            f"The membership is of another authority than {there}: of another network, or made by somebody else. "
            "Nothing was changed. To join another network, begin with a new folder ('assistlearn site request')."
        )


def _check(certificate: Certificate, authority: Certificate, kind: Kind, name: str, key: Path) -> None:
    from cryptography.exceptions import InvalidSignature
    from cryptography.hazmat.primitives.serialization import load_pem_private_key

    what = f"The certificate of {name_in(certificate)!r}"
    try:
        certificate.verify_directly_issued_by(authority)
    except (InvalidSignature, ValueError, TypeError):
        raise NetworkError(f"{what} was not issued by the authority in the same file. Ask for it again.") from None
    if name_in(certificate) != name or kind_of(certificate) != kind:
        raise NetworkError(
            f"{what} is for a kit of kind {kind_of(certificate)!r}, but one of kind {kind!r} with the name {name!r} "
            "was asked for. Ask the authority for your own."
        )
    if not key.is_file():
        raise NetworkError(f"{key} is missing: the private key that the certificate is for. Make a new request.")
    if load_pem_private_key(key.read_bytes(), None).public_key() != certificate.public_key():
        raise NetworkError(f"{what} is for another key than {key}. Ask the authority to sign your latest request.")
    now = datetime.now(UTC)
    if not certificate.not_valid_before_utc <= now < certificate.not_valid_after_utc:
        raise NetworkError(
            f"{what} is valid from {certificate.not_valid_before_utc:%d %B %Y} to "
            f"{certificate.not_valid_after_utc:%d %B %Y}, not now. Ask for a new one, or set this machine's clock."
        )


def _complete(folder: Path, kind: Kind, names: Mapping[Kind, str], membership: Membership) -> None:
    """Write what is missing in a kit, and its certificates; the key and what its owner has put there stay."""
    if not (folder / "local").is_dir():
        place = Place(membership.network, membership.relay, membership.port)
        with tempfile.TemporaryDirectory(dir=folder.parent, prefix=".joining-") as work:
            made = blank_kit(place, kind, names.get("site", ""), Path(work))
            shutil.copytree(made, folder, dirs_exist_ok=True)
    os.chmod(folder, 0o700)
    authority, content, there = membership.loaded()[0], membership.revoked.encode(), revoked_in(folder)
    if number_of(read_list(content, authority, "The membership")) > number_at(there, authority):
        write_bytes(there, content)
    write_bytes(key_in(folder, kind).with_suffix(".crt"), membership.certificates[kind].encode())
    write_bytes(folder / "startup" / "rootCA.pem", membership.authority.encode())  # last: from here on it is a kit
