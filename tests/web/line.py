"""A line to a server that can be cut and mended: it forwards a port of its own, byte by byte."""

from __future__ import annotations

import socket
import threading
from contextlib import suppress


class Line:
    """Forwards connections to a port of this machine, as long as it is whole."""

    def __init__(self, to: int) -> None:
        self._to = to
        self._open: list[socket.socket] = []
        self._listening = socket.create_server(("127.0.0.1", 0))
        self.port: int = self._listening.getsockname()[1]
        self._take_calls()

    def cut(self) -> None:
        """Break all connections, and take no more."""
        for each in [self._listening, *self._open]:
            with suppress(OSError):
                each.shutdown(socket.SHUT_RDWR)
            each.close()
        self._open.clear()

    def mend(self) -> None:
        """Take connections again, at the same port."""
        self._listening = socket.create_server(("127.0.0.1", self.port))
        self._take_calls()

    def _take_calls(self) -> None:
        threading.Thread(target=self._forward_all, args=(self._listening,), daemon=True).start()

    def _forward_all(self, listening: socket.socket) -> None:
        with suppress(OSError):
            while True:
                ends = [listening.accept()[0], socket.create_connection(("127.0.0.1", self._to))]
                self._open += ends
                for one, other in (ends, ends[::-1]):
                    threading.Thread(target=_forward, args=(one, other), daemon=True).start()


def _forward(one: socket.socket, other: socket.socket) -> None:
    with suppress(OSError):
        while said := one.recv(65536):
            other.sendall(said)
    with suppress(OSError):
        other.shutdown(socket.SHUT_WR)
