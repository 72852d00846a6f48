"""Reads a file of lines while others append to it: piece by piece, each time from where the last reading ended.

A last line without a line end is not read: it is being written, or a crash cut it short and the next line takes its
place. Reading goes on after the last line that was read, in this process or another.
"""

from __future__ import annotations

from pathlib import Path
from typing import BinaryIO

PIECE = 1_000_000
"""Bytes that are read at a time, so that a long file needs no more memory than a short one."""

BEGINNING = 256
"""How many bytes at the start are compared, to notice that another file has replaced the one that was read."""


class GrowingFile:
    r"""A file of lines, which need not be there yet.

    Parameters
    ----------
    path : path
        Where the file is.
    piece : int, optional
        About how many bytes to read at a time.

    Attributes
    ----------
    place : int
        The byte after the last line that was read.
    number : int
        How many lines were read of the file that is there now.
    generation : int
        How often another file has taken the place of the one that was read: then reading begins anew.
    missing : bool
        Whether the file was not there when it was last looked for.

    Examples
    --------
    >>> path = getfixture("tmp_path") / "log"
    >>> _ = path.write_bytes(b"one\ntwo\nthr")
    >>> file = GrowingFile(path)
    >>> file.lines(), file.lines()
    ([(4, b'one'), (8, b'two')], [])
    >>> _ = path.write_bytes(b"one\ntwo\nthree\n")
    >>> file.lines()
    [(14, b'three')]
    """

    def __init__(self, path: Path, piece: int = PIECE) -> None:
        self.path = path
        self.place = self.number = self.generation = 0
        self.missing = False
        self._piece = piece
        self._beginning = b""

    def lines(self) -> list[tuple[int, bytes]]:
        """Return the next whole lines, each with the place after it; none where there are no more yet."""
        try:
            with self.path.open("rb") as file:
                self.missing = False
                if file.read(len(self._beginning)) != self._beginning:
                    self._begin_anew()
                return self._whole_lines(file)
        except FileNotFoundError:
            self.missing = True
            return []

    def _begin_anew(self) -> None:
        self.place = self.number = 0
        self.generation += 1
        self._beginning = b""

    def _whole_lines(self, file: BinaryIO) -> list[tuple[int, bytes]]:
        size = file.seek(0, 2)
        if size < self.place:
            self._begin_anew()
        file.seek(self.place)
        content = file.read(self._piece)
        while b"\n" not in content and (more := file.read(self._piece)):
            content += more
        whole = content[: content.rfind(b"\n") + 1]
        if self.place < BEGINNING:
            file.seek(0)
            self._beginning = file.read(min(BEGINNING, self.place + len(whole)))
        found = []
        for line in whole[:-1].split(b"\n") if whole else ():
            self.place += len(line) + 1
            found.append((self.place, line))
        self.number += len(found)
        return found
