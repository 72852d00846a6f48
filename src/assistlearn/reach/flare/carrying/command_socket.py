"""The line between a command of the initiator and its site's job, both on the same machine.

The command listens at a socket in a folder that only its user can enter, and leaves a note of where at the site. The
job connects, takes orders (whom to ask what) and brings the replies. When the command ends, the line breaks, and the
job ends too.
"""

from __future__ import annotations

import os
import secrets
import shutil
import socket
import tempfile
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from types import TracebackType
from typing import Literal, Self

import msgspec

from assistlearn.errors import NetworkError
from assistlearn.reach.processes.process_transport import receive, send

GRACE = 45.0
"""Seconds beyond an order's patience after which the job itself counts as gone; one call may be under way."""


class Errand(msgspec.Struct, frozen=True, array_like=True):
    """Ask an agent something; give up when nothing is heard for so many seconds."""

    agent: str
    number: str
    patience: float
    request: bytes


class Outcome(msgspec.Struct, frozen=True, array_like=True):
    """What the agent said; or that it is still at work, and more will come; or why nothing came."""

    state: Literal["done", "working", "failed"]
    content: bytes = b""
    failure: str = ""


_orders = msgspec.msgpack.Decoder(Errand)
_replies = msgspec.msgpack.Decoder(Outcome)
_encoder = msgspec.msgpack.Encoder()


class JobGoneError(NetworkError):
    """The job has ended while its command still needs it."""


class CommandSocket:
    """The command's end: it listens, then asks.

    Parameters
    ----------
    notes : path
        Where the site looks for the line.
    """

    def __init__(self, notes: Path) -> None:
        self.name = secrets.token_hex(16)
        self._folder = Path(tempfile.mkdtemp(prefix="assistlearn-"))
        self._note = notes / self.name
        self._listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self._listener.bind(str(self._folder / "line"))
        self._listener.listen(1)
        notes.mkdir(mode=0o700, parents=True, exist_ok=True)
        self._note.write_text(str(self._folder / "line"), encoding="utf-8")
        self._line: socket.socket | None = None

    def wait(self, seconds: float) -> bool:
        """Return whether the site's job has connected within so many seconds."""
        self._listener.settimeout(seconds)
        try:
            self._line, _ = self._listener.accept()
        except TimeoutError:
            return False
        self._line.settimeout(None)
        return True

    def ask(self, order: Errand) -> Iterator[Outcome]:
        """Yield the replies to an order, the last of which is not ``working``; raise when the job is gone."""
        assert self._line is not None
        self._line.settimeout(order.patience + GRACE)
        try:
            send(self._line, _encoder.encode(order))
            while (answer := receive(self._line)) is not None:
                reply = _replies.decode(answer)
                yield reply
                if reply.state != "working":
                    return
        except OSError:
            pass
        raise JobGoneError("The job that carries the messages has ended: some organisation's part in it has died.")

    def close(self) -> None:
        """Hang up; the job ends."""
        if self._line is not None:
            self._line.close()
        self._listener.close()
        self._note.unlink(missing_ok=True)
        shutil.rmtree(self._folder, ignore_errors=True)


class JobSocket:
    """The job's end.

    Parameters
    ----------
    notes : path
        Where commands leave word.
    name : str
        Which line.
    """

    def __init__(self, notes: Path, name: str) -> None:
        self._line = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        try:
            self._line.connect((notes / name).read_text(encoding="utf-8"))
        except OSError as error:
            self._line.close()
            raise NetworkError(f"The command that started this job no longer waits for it: {error}") from None

    def orders(self) -> Iterator[Errand]:
        """Yield orders until the command hangs up."""
        while True:
            try:
                order = receive(self._line)
            except OSError:
                return
            if order is None:
                return
            yield _orders.decode(order)

    def reply(self, reply: Outcome) -> None:
        """Bring an answer, or word that there is none."""
        with suppress(OSError):  # the command has hung up: there are no more orders either
            send(self._line, _encoder.encode(reply))

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._line.close()


def lines_folder(kit: Path) -> Path:
    """Return where commands leave word for the jobs of a site."""
    return Path(os.path.abspath(kit)) / "lines"
