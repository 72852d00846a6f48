"""A site's parent and its jobs talk over a Unix socket, which only their user can reach.

FLARE itself uses a TCP port on loopback: every program on the machine can connect to it, and give commands. Our socket
is in a folder that only the user can enter, and the kernel says which user connects. The socket is reached through an
open folder (``/proc/self/fd``): the name of a socket has at most 108 bytes, but the path of a folder may be longer.
"""

from __future__ import annotations

import contextlib
import logging
import os
import socket
import struct
from collections.abc import Iterator
from pathlib import Path
from socketserver import ThreadingMixIn, UnixStreamServer
from typing import Any
from urllib.parse import quote, unquote

from nvflare.fuel.f3.drivers.base_driver import BaseDriver
from nvflare.fuel.f3.drivers.driver import ConnectorInfo
from nvflare.fuel.f3.drivers.driver_params import DriverCap, DriverParams
from nvflare.fuel.f3.drivers.socket_conn import ConnectionHandler, SocketConnection

SCHEME, FOLDER, NAME = "unix", "folder", "jobs.socket"

logger = logging.getLogger("assistlearn.reach.flare.guard")


class UnixDriver(BaseDriver):  # type: ignore[misc]
    """FLARE's driver for addresses that begin with ``unix:``."""

    def __init__(self) -> None:
        super().__init__()
        self._server: _Server | None = None

    @staticmethod
    def supported_transports() -> list[str]:
        """Return how its addresses begin."""
        return [SCHEME]

    @staticmethod
    def capabilities() -> dict[str, Any]:
        """Return that FLARE sends heartbeats over it, and that it has no TLS."""
        return {DriverCap.SEND_HEARTBEAT.value: True, DriverCap.SUPPORT_SSL.value: False}

    @staticmethod
    def get_urls(scheme: str, resources: dict[str, Any]) -> tuple[str, str]:
        """Return the address to connect to and the one to listen at: they are the same."""
        folder = Path(resources[FOLDER])
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        folder.chmod(0o700)
        url = f"{scheme}://0{quote(str(folder / NAME))}"
        return url, url

    def listen(self, connector: ConnectorInfo) -> None:
        """Accept connections until :meth:`shutdown` is called."""
        self.connector = connector
        path = _path(connector)
        with _reachable(path) as short:
            path.unlink(missing_ok=True)  # left by a process that was killed; a kit runs once at a time
            self._server = _Server(short, self, connector)
        with contextlib.closing(self._server.socket):
            self._server.serve_forever()

    def connect(self, connector: ConnectorInfo) -> None:
        """Connect, and read until the connection is closed."""
        self.connector = connector
        with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as line:
            with _reachable(_path(connector)) as short:
                line.connect(short)
            connection = SocketConnection(line, connector)
            self.add_connection(connection)
            connection.read_loop()
            self.close_connection(connection)

    def shutdown(self) -> None:
        """Close all connections, and listen no more."""
        self.close_all()
        if self._server is not None:
            self._server.shutdown()


class _Server(ThreadingMixIn, UnixStreamServer):
    daemon_threads = True

    def __init__(self, path: str, driver: UnixDriver, connector: ConnectorInfo) -> None:
        self.driver, self.connector, self.ssl_context = driver, connector, None  # as FLARE's handler wants them
        super().__init__(path, ConnectionHandler)

    def verify_request(self, request: Any, client_address: Any) -> bool:
        """Return whether whoever connects is this process's own user."""
        user = user_of(request)
        if user != os.getuid():
            logger.warning("Refused a connection of user %d to the socket of this site's jobs.", user)
        return user == os.getuid()


def user_of(line: socket.socket) -> int:
    """Return the number of the user at the other end, which the kernel knows."""
    known = line.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, struct.calcsize("3i"))
    return int(struct.unpack("3i", known)[1])


def _path(connector: ConnectorInfo) -> Path:
    return Path(unquote(connector.params[DriverParams.PATH.value]))


@contextlib.contextmanager
def _reachable(path: Path) -> Iterator[str]:
    """Yield a short name of a path, which is valid within the block."""
    folder = os.open(path.parent, os.O_PATH | os.O_DIRECTORY)
    try:
        yield f"/proc/self/fd/{folder}/{path.name}"
    finally:
        os.close(folder)
