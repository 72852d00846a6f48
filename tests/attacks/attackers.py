"""Who attacks: a member with a kit of its own, and a relay whose software was changed."""

from __future__ import annotations

import itertools
import json
import time
from pathlib import Path
from typing import Any

import msgpack
from nvflare.apis.fl_context import FLContext
from nvflare.apis.signal import Signal
from nvflare.fuel.f3.cellnet.cell import Cell
from nvflare.fuel.f3.cellnet.core_cell import CoreCell
from nvflare.fuel.f3.cellnet.defs import MessageHeaderKey
from nvflare.fuel.f3.drivers.driver_params import DriverParams
from nvflare.fuel.f3.message import Message
from nvflare.private.defs import CellMessageHeaderKeys
from nvflare.private.fed.authenticator import Authenticator

from assistlearn.agent.file import load_description
from assistlearn.protocol.ledger import Entry, read
from tests.attacks.forging import Forged
from tests.reach.organisations import Organisations

SOON = 20.0
"""Seconds in which a refusal must be in a ledger, or in the relay's log, on a machine that does much else."""


class Member:
    """A member of the network: a cell with its certificates, registered at the relay as a site is.

    Parameters
    ----------
    kit : path
        Its kit.
    cell : str
        What it calls its cell.
    """

    def __init__(self, kit: Path, cell: str) -> None:
        facts = json.loads((kit / "startup" / "fed_client.json").read_text())
        server, name = facts["servers"][0], facts["client"]["fqsn"]
        files = {
            key: str(kit / "startup" / facts["client"][key]) for key in ("ssl_root_cert", "ssl_cert", "ssl_private_key")
        }
        credentials = {
            DriverParams.CA_CERT.value: files["ssl_root_cert"],
            DriverParams.CLIENT_CERT.value: files["ssl_cert"],
            DriverParams.CLIENT_KEY.value: files["ssl_private_key"],
        }
        self.cell = Cell(
            fqcn=cell,
            root_url=f"{server['service']['scheme']}://{server['service']['target']}",
            secure=True,
            credentials=credentials,
            auth_identity=name,
            auth_identity_map={"server": server["identity"]},
        )
        self.cell.start()
        self._headers: dict[str, Any] = {}
        self._register = lambda: Authenticator(
            cell=self.cell,
            project_name=server["name"],
            client_name=name,
            client_type="regular",
            expected_sp_identity=server["identity"],
            secure_mode=True,
            root_cert_file=files["ssl_root_cert"],
            private_key_file=files["ssl_private_key"],
            cert_file=files["ssl_cert"],
            msg_timeout=10.0,
            retry_interval=1.0,
            timeout=60.0,
        ).authenticate(FLContext(), Signal())
        self._name = name

    def connected(self, seconds: float = 30.0) -> bool:
        """Return whether the relay has taken the connection."""
        until = time.monotonic() + seconds
        while "server" not in self.cell.core_cell.agents:
            if time.monotonic() > until:
                return False
            time.sleep(0.05)
        return True

    def register(self) -> None:
        """Get a token, as a site does; FLARE's relay passes nothing on without."""
        assert self.connected()
        token, signature, session, _ = self._register()
        self._headers = {
            CellMessageHeaderKeys.CLIENT_NAME: self._name,
            CellMessageHeaderKeys.TOKEN: token,
            CellMessageHeaderKeys.TOKEN_SIGNATURE: signature,
            CellMessageHeaderKeys.SSID: session,
        }

    def send(self, message: Forged) -> None:
        """Send a message to the relay; whom it is for, it says itself."""
        core = self.cell.core_cell
        sent = Message(message.headers | self._headers, message.payload)
        core.communicator.send(core.agents["server"].endpoint, CoreCell.APP_ID, sent)

    def ask(self, to: str, channel: str, topic: str, content: Any, seconds: float) -> tuple[str, Any]:
        """Return how a request ended, in FLARE's words, and what came back."""
        reply = self.cell.core_cell.send_request(
            channel, topic, to, Message(dict(self._headers), content), timeout=seconds, optional=True
        )
        return reply.get_header(MessageHeaderKey.RETURN_CODE), reply.payload

    def close(self) -> None:
        """Leave."""
        self.cell.stop()


class HostileRelay:
    """The relay, when a test says what it sends and what it lets pass."""

    _numbers = itertools.count()

    def __init__(self, made: Organisations) -> None:
        self._folder = made.taps / "relay-says"
        self._loose = made.taps / "loose"
        self._folder.mkdir(exist_ok=True)

    def say(self, message: Forged, to: str | None = None) -> None:
        """Let the relay send a message over its connection to a cell."""
        words = {"to": to or message.headers["cn__destination"], "headers": message.headers, "payload": message.payload}
        file = self._folder / f"{next(self._numbers):06d}.tmp"
        file.write_bytes(msgpack.packb(words))
        file.rename(file.with_suffix(".msg"))

    def __enter__(self) -> HostileRelay:
        """Let it pass on whatever comes."""
        self._loose.touch()
        return self

    def __exit__(self, *_: object) -> None:
        self._loose.unlink()


class Door:
    """What a site turns away: its ledger, watched.

    Parameters
    ----------
    made : Organisations
        The network.
    name : str
        Which site.
    """

    def __init__(self, made: Organisations, name: str) -> None:
        self._path = load_description(made.files[name]).models / "ledger.jsonl"
        self._seen = len(self.entries())

    def entries(self) -> list[Entry]:
        """Return all that it has turned away."""
        return [entry for entry in read(self._path) if entry.direction == "refused"]

    def refused(self, *what: str, peer: str | None = None) -> list[Entry]:
        """Return what was turned away since this was made, once all of these are among it."""
        until = time.monotonic() + SOON
        while True:
            new = self.entries()[self._seen :]
            told = {(entry.type.split(",")[0], entry.peer if peer else None) for entry in new}
            if all((each, peer) in told for each in what):
                return new
            assert time.monotonic() < until, (what, peer, new)
            time.sleep(0.1)


def said_by_relay(made: Organisations, start: int, *words: str) -> str:
    """Return what the relay's log has from somewhere on, once it has all of these words."""
    log = made.network.kit("relay") / "site.log"
    until = time.monotonic() + SOON
    while True:
        text = log.read_bytes()[start:].decode(errors="replace")
        if all(word in text for word in words):
            return text
        assert time.monotonic() < until, ([word for word in words if word not in text], text[-3000:])
        time.sleep(0.1)


def relay_log(made: Organisations) -> int:
    """Return where the relay's log ends."""
    return (made.network.kit("relay") / "site.log").stat().st_size
