"""A startup kit: what it is for, whose it is, and where the relay is."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from assistlearn.errors import NetworkError

Kind = Literal["site", "relay", "admin"]

AGAIN = "Get the kit again from whoever made it, or join anew ('assistlearn site join')."
"""What to do about a kit that is damaged."""

ADMIN = "admin"
"""The folder of an initiator's admin kit, inside of its site kit."""

_CONFIGURATIONS: dict[str, Kind] = {"fed_client.json": "site", "fed_server.json": "relay", "fed_admin.json": "admin"}


@dataclass(frozen=True)
class Kit:
    """A startup kit.

    Attributes
    ----------
    folder : path
        Where it lies; absolute.
    kind : {"site", "relay", "admin"}
        What it is for.
    name : str
        Whose it is: the organisation, the relay's host, or the admin's name.
    network : str
        The name of the network.
    host, port : str, int
        Where the relay is.
    """

    folder: Path
    kind: Kind
    name: str
    network: str
    host: str
    port: int

    @property
    def startup(self) -> Path:
        """Where keys and certificates are."""
        return self.folder / "startup"

    @property
    def certificate(self) -> Path:
        """The kit's certificate."""
        return key_in(self.folder, self.kind).with_suffix(".crt")

    @property
    def key(self) -> Path:
        """The kit's private key."""
        return key_in(self.folder, self.kind)

    @property
    def authority(self) -> Path:
        """The certificate of the network's authority."""
        return self.startup / "rootCA.pem"

    @property
    def revoked(self) -> Path:
        """The list of revoked certificates."""
        return revoked_in(self.folder)

    @property
    def agent_file(self) -> Path:
        """Where the organisation's agent file is expected."""
        return self.folder / "agent.toml"


def key_in(folder: Path, kind: Kind) -> Path:
    """Return where the private key of a kit is, or will be."""
    return folder / "startup" / ("server.key" if kind == "relay" else "client.key")


def revoked_in(folder: Path) -> Path:
    """Return where a kit's list of revoked certificates is."""
    return folder / "startup" / "revoked.crl"


def load_kit(folder: Path, *kinds: Kind) -> Kit:
    """Read a kit, which must be of one of these kinds.

    Raises
    ------
    NetworkError
        There is none, it is of another kind, or not complete.
    """
    folder = folder.resolve()
    found = [(folder / "startup" / file, kind) for file, kind in _CONFIGURATIONS.items()]
    path, kind = next((pair for pair in found if pair[0].is_file()), (folder, None))
    if kind is None:
        raise NetworkError(f"{folder} is not a startup kit: {_why_not(folder)}")
    if kinds and kind not in kinds:
        wanted = " or ".join(map(_article, kinds))
        raise NetworkError(f"{folder} is the kit of {_article(kind)}. Name that of {wanted}.")
    try:
        kit = _read(folder, kind, json.loads(path.read_text(encoding="utf-8")))
    except (OSError, ValueError, KeyError, IndexError, TypeError) as error:
        raise NetworkError(f"{path} cannot be read: {error!r}. {AGAIN}") from None
    for part in (kit.certificate, kit.key, kit.authority):
        if not part.is_file():
            raise NetworkError(f"The kit of {kit.name!r} is not complete: {part} is missing. {AGAIN}")
    return kit


def _read(folder: Path, kind: Kind, values: dict[str, Any]) -> Kit:
    if kind == "admin":
        admin = values["admin"]
        return Kit(folder, kind, admin["username"], admin["project_name"], admin["host"], int(admin["port"]))
    server = values["servers"][0]
    host, _, port = server["service"]["target"].rpartition(":")
    name = values["client"]["fqsn"] if kind == "site" else host
    return Kit(folder, kind, name, server["name"], host, int(port))


def _why_not(folder: Path) -> str:
    if not folder.is_dir():
        return "there is no such folder. Check the path."
    if any(folder.glob("*.csr")):
        return "its certificate is still missing. Take what the authority has sent: assistlearn site join KIT FILE"
    return (
        "it has no startup/fed_client.json, fed_server.json or fed_admin.json. Name one of the folders that "
        "'assistlearn site join' or 'assistlearn network create' made."
    )


def _article(kind: Kind) -> str:
    return {"site": "a site", "relay": "the relay", "admin": "the initiator's admin"}[kind]
