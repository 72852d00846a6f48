"""The elliptic curve: ids become points, and a secret key is applied to them. Also runs alone, as a worker process.

The arithmetic is that of ``openmined.psi`` (curve P-256, hashing into the curve by SHA-256). Its two operations are
``key`` applied to an id, and ``key`` applied to a point that another key was applied to before. The keys commute: in
either order, the point is the same. That is all that private set intersection needs.

As a program this module reads pieces of work from its standard input and writes points to its standard output until
the input ends, so that it dies with its parent. It imports nothing of this package, so that it starts fast.
"""

from __future__ import annotations

import importlib
import signal
import struct
import sys
from typing import IO, Any, TypeAlias

import msgspec

POINT_BYTES = 33
"""A compressed point: its sign and its first coordinate."""

FRAME = struct.Struct("<I")
"""The length of the message that follows."""


Piece: TypeAlias = tuple[bytes, list[str], bytes]
"""A key, and the ids or the points (the others are empty) to apply it to."""

Done: TypeAlias = tuple[bytes, str]
"""The points that came of it, or what is wrong."""


def library() -> Any:
    """Return ``openmined.psi``; raises ``ImportError`` where it is not installed."""
    return importlib.import_module("private_set_intersection.python")


def new_key() -> bytes:
    key: bytes = library().client.CreateWithNewKey(True).GetPrivateKeyBytes()
    return key


def work(piece: Piece) -> Done:
    """Apply the key to the ids and to the points, in their order.

    >>> a, b = new_key(), new_key()
    >>> once = [work((key, ["p-17"], b""))[0] for key in (a, b)]
    >>> work((b, [], once[0])) == work((a, [], once[1]))
    True
    """
    psi = library()
    key, texts, points = piece
    if texts:
        request = psi.client.CreateFromKey(key, True).CreateRequest(texts)
        return b"".join(request.encrypted_elements), ""
    split = [points[at : at + POINT_BYTES] for at in range(0, len(points), POINT_BYTES)]
    request = psi.Request(reveal_intersection=True, encrypted_elements=split)  # True: the order is kept
    try:
        response = psi.server.CreateFromKey(key, True).ProcessRequest(request)
    except RuntimeError:
        return b"", "is not on the curve"
    return b"".join(response.encrypted_elements), ""


def send(stream: IO[bytes], message: Piece | Done) -> None:
    data = msgspec.msgpack.encode(message)
    stream.write(FRAME.pack(len(data)) + data)
    stream.flush()


def receive(stream: IO[bytes]) -> bytes | None:
    head = stream.read(FRAME.size)
    if len(head) < FRAME.size:
        return None
    (length,) = FRAME.unpack(head)
    data = stream.read(length)
    return data if len(data) == length else None


def main() -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the parent, which then closes our input
    while (data := receive(sys.stdin.buffer)) is not None:
        send(sys.stdout.buffer, work(msgspec.msgpack.decode(data, type=Piece)))


if __name__ == "__main__":
    main()
