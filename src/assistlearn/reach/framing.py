"""Messages over a socket: four bytes with the length, then the message."""

from __future__ import annotations

import socket
import struct

_LENGTH = struct.Struct("<I")


def send(end: socket.socket, message: bytes) -> None:
    """Send a message, its length first."""
    end.sendall(_LENGTH.pack(len(message)))
    end.sendall(message)


def receive(end: socket.socket) -> bytes | None:
    """Return the next message, or None when the other end is gone."""
    header = _exactly(end, _LENGTH.size)
    return None if header is None else _exactly(end, _LENGTH.unpack(header)[0])


def _exactly(end: socket.socket, n_bytes: int) -> bytes | None:
    parts = bytearray()
    while len(parts) < n_bytes:
        part = end.recv(min(n_bytes - len(parts), 1 << 20))
        if not part:
            return None
        parts += part
    return bytes(parts)
