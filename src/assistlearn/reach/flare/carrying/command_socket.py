"""The socket between a command of the initiator and its site's job, both on the same machine.

The command listens at a socket in a folder that only its user can enter. It leaves a note at the site that says where
the socket is. The job connects, gets errands (whom to ask what) and reports their outcomes. When the command ends, the
connection breaks, and the job ends too.
"""

from __future__ import annotations

import os
import secrets
import socket
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from types import TracebackType
from typing import Literal, Self

import msgspec

from assistlearn.errors import NetworkError
from assistlearn.reach.flare.carrying.private_folder import PrivateFolder, sweep_folders, sweep_notes
from assistlearn.reach.framing import receive, send
from assistlearn.storage import writing

GRACE = 45.0
"""Seconds to wait longer than an errand says before the job itself counts as gone: one call may be under way."""


class Errand(msgspec.Struct, frozen=True, array_like=True):
    """What to ask an agent, and after how many seconds of silence to give up."""

    agent: str
    number: str
    give_up_after: float
    request: bytes


class Outcome(msgspec.Struct, frozen=True, array_like=True):
    """The agent's answer; or that it is still at work, and another outcome follows; or why there is no answer."""

    state: Literal["done", "working", "failed"]
    content: bytes = b""
    failure: str = ""


_errands = msgspec.msgpack.Decoder(Errand)
_outcomes = msgspec.msgpack.Decoder(Outcome)
_encoder = msgspec.msgpack.Encoder()


class JobGoneError(NetworkError):
    """The job has ended while its command still needs it."""


class CommandSocket:
    """The command's end: it listens, then asks.

    Its ``name`` is random. The note is named by it, and the job's definition contains it. What killed commands have
    left behind is removed first.

    Parameters
    ----------
    notes : path
        The folder in which the command leaves a note about its socket; the site's jobs look there.
    """

    def __init__(self, notes: Path) -> None:
        self.name = secrets.token_hex(16)
        sweep_notes(notes)
        sweep_folders()
        self._folder = PrivateFolder()
        self._note = notes / self.name
        self._listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self._connection: socket.socket | None = None
        try:
            self._listener.bind(str(self._folder.socket))
            self._listener.listen(1)
            notes.mkdir(mode=0o700, parents=True, exist_ok=True)
            with writing(self._note):
                self._note.write_text(str(self._folder.socket), encoding="utf-8")
        except BaseException:
            self.close()
            raise

    @property
    def folder(self) -> Path:
        """A folder that only this user can enter, and that is gone when the socket is closed."""
        return self._folder.path

    def wait(self, seconds: float) -> bool:
        """Wait for the site's job, and return whether it has connected in time."""
        self._listener.settimeout(seconds)
        try:
            self._connection, _ = self._listener.accept()
        except TimeoutError:
            return False
        self._connection.settimeout(None)
        return True

    def ask(self, errand: Errand) -> Iterator[Outcome]:
        """Yield the outcomes of an errand, the last of which is not ``working``; raise when the job is gone."""
        assert self._connection is not None
        self._connection.settimeout(errand.give_up_after + GRACE)
        try:
            send(self._connection, _encoder.encode(errand))
            while (content := receive(self._connection)) is not None:
                outcome = _outcomes.decode(content)
                yield outcome
                if outcome.state != "working":
                    return
        except OSError:
            pass
        raise JobGoneError("The job that carries the messages has ended: its process at one organisation has stopped.")

    def close(self) -> None:
        """Close the connection, which ends the job; remove the note and the folder."""
        if self._connection is not None:
            self._connection.close()
        self._listener.close()
        self._note.unlink(missing_ok=True)
        self._folder.remove()


class JobSocket:
    """The job's end.

    Parameters
    ----------
    notes : path
        The folder with the notes of commands.
    name : str
        Which command: its ``CommandSocket.name``.
    """

    def __init__(self, notes: Path, name: str) -> None:
        self._connection = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        try:
            self._connection.connect((notes / name).read_text(encoding="utf-8"))
        except OSError as error:
            self._connection.close()
            raise NetworkError(f"The command that started this job no longer waits for it: {error}") from None

    def errands(self) -> Iterator[Errand]:
        """Yield errands until the command hangs up."""
        while True:
            try:
                content = receive(self._connection)
            except OSError:
                return
            if content is None:
                return
            yield _errands.decode(content)

    def report(self, outcome: Outcome) -> None:
        """Send an outcome to the command."""
        with suppress(OSError):  # the command has hung up: there are no more errands either
            send(self._connection, _encoder.encode(outcome))

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._connection.close()


def notes_folder(kit: Path) -> Path:
    """Return the folder in which commands leave notes for the jobs of a site."""
    return Path(os.path.abspath(kit)) / "commands"
