"""What a member gets from the authority: certificates, the network's name, where the relay is. No secret, no code.

It does not say what a site allows: the member's own installation writes that (:mod:`.provision`), so that nobody who
sends a membership can loosen it. A membership is one JSON file of a few thousand bytes; nothing in it is a path, and
nothing is unpacked.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from assistlearn.errors import NetworkError
from assistlearn.reach.flare.provisioning.kit import Kind
from assistlearn.reach.flare.provisioning.network_file import HOST, NAME
from assistlearn.reach.flare.provisioning.revoked_list import LARGEST_LIST
from assistlearn.reach.flare.provisioning.safe_files import read_small

if TYPE_CHECKING:
    from cryptography.x509 import Certificate

FORMAT = 1


class Membership(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A member's certificates, and what it must know about the network.

    Attributes
    ----------
    format : int
        The version of this file.
    network, relay, port : str, str, int
        The network's name, and where its relay is.
    authority : str
        The certificate of the network's authority, in PEM.
    certificates : dict
        By the kind of kit: an organisation has one for its site and, as an initiator, one for its admin.
    revoked : str
        The latest list of revoked certificates, in PEM.
    """

    format: int
    network: str
    relay: str
    port: int
    authority: str
    certificates: dict[Kind, str]
    revoked: str

    def __post_init__(self) -> None:
        if self.format != FORMAT:
            raise ValueError(f"format {self.format} is not known here; install the same release as the authority")
        if not NAME.fullmatch(self.network) or not HOST.fullmatch(self.relay) or not 1 <= self.port <= 65535:
            raise ValueError("the network's name, the relay's host name or its port is not valid")
        if set(self.certificates) not in ({"relay"}, {"site"}, {"site", "admin"}):
            raise ValueError(f"certificates for {sorted(self.certificates)} do not belong together")

    def loaded(self) -> tuple[Certificate, dict[Kind, Certificate]]:
        """Return the authority's certificate and the member's own."""
        from cryptography import x509

        try:
            authority = x509.load_pem_x509_certificate(self.authority.encode())
            own = {kind: x509.load_pem_x509_certificate(pem.encode()) for kind, pem in self.certificates.items()}
        except ValueError as error:
            raise NetworkError(f"A certificate of the membership cannot be read: {error}.") from None
        return authority, own


def read_membership(path: Path) -> Membership:
    """Read a membership from its file.

    Raises
    ------
    NetworkError
        The file is too large, or holds no membership.
    """
    try:
        return msgspec.json.decode(read_small(path, LARGEST_LIST), type=Membership)
    except (msgspec.MsgspecError, RecursionError, UnicodeDecodeError) as error:
        raise NetworkError(
            f"{path} is not what 'assistlearn network sign' writes: {error}. Ask the authority for it again."
        ) from None
