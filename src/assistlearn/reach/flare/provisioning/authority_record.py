"""What an authority has done: a line for each certificate signed or revoked, and for each list. It only grows."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

import msgspec

from assistlearn.errors import NetworkError
from assistlearn.reach.flare.provisioning.kit import Kind
from assistlearn.storage import appending


class Signed(msgspec.Struct, frozen=True, tag_field="what", tag="signed", forbid_unknown_fields=True):
    """A certificate was signed.

    Attributes
    ----------
    at : datetime
        When.
    name, kind : str
        For whom, and for what kind of kit.
    serial : str
        The certificate's number, in hexadecimal digits.
    until : datetime
        When it ends.
    key : str
        The fingerprint of the public key.
    certificate : str
        The certificate, in PEM.
    """

    at: datetime
    name: str
    kind: Kind
    serial: str
    until: datetime
    key: str
    certificate: str


class Revoked(msgspec.Struct, frozen=True, tag_field="what", tag="revoked", forbid_unknown_fields=True):
    """A certificate was revoked.

    Attributes
    ----------
    at : datetime
        When.
    name, serial : str
        The name in the certificate, and the certificate's number.
    """

    at: datetime
    name: str
    serial: str


class Listed(msgspec.Struct, frozen=True, tag_field="what", tag="listed", forbid_unknown_fields=True):
    """A list of all revoked certificates was made.

    Attributes
    ----------
    at : datetime
        When.
    number : int
        The number of the list.
    """

    at: datetime
    number: int


Line = Signed | Revoked | Listed


@dataclass(frozen=True)
class Standing:
    """A certificate, and whether it was revoked.

    Attributes
    ----------
    signed : Signed
        The certificate.
    revoked : datetime or None
        When it was revoked; None where it was not.
    """

    signed: Signed
    revoked: datetime | None

    def is_valid(self, now: datetime) -> bool:
        """Return whether it is neither revoked nor past its end."""
        return self.revoked is None and now < self.signed.until


class Record:
    """The record of an authority, in a file of lines.

    Parameters
    ----------
    path : path
        Where the file is.
    """

    def __init__(self, path: Path) -> None:
        self.path = path

    def append(self, *lines: Line) -> None:
        """Add lines, on the disk when this returns."""
        content = b"".join(msgspec.json.encode(line) + b"\n" for line in lines)
        with appending(self.path) as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())

    def lines(self) -> list[Line]:
        """Return all lines, oldest first."""
        found: list[Line] = []
        for number, text in enumerate(self.path.read_bytes().splitlines(), start=1):
            try:
                found.append(msgspec.json.decode(text, type=Line))
            except msgspec.MsgspecError as error:
                raise NetworkError(
                    f"{self.path}, line {number} cannot be read: {error}. Restore the file from a backup: it says "
                    "who was certified."
                ) from None
        return found

    def standings(self) -> Sequence[Standing]:
        """Return every certificate, oldest first, and whether it was revoked."""
        lines = self.lines()
        revoked = {line.serial: line.at for line in lines if isinstance(line, Revoked)}
        return [Standing(line, revoked.get(line.serial)) for line in lines if isinstance(line, Signed)]

    def revoked(self) -> dict[int, datetime]:
        """Return the serial numbers that are revoked, and when they were."""
        return {int(line.serial, 16): line.at for line in self.lines() if isinstance(line, Revoked)}

    def last_list(self) -> int:
        """Return the number of the latest list; 0 where there is none."""
        return max((line.number for line in self.lines() if isinstance(line, Listed)), default=0)
