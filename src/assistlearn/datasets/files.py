"""Where the files of a data set lie, and whether they are the files they should be."""

from __future__ import annotations

import hashlib
import os
from dataclasses import dataclass
from pathlib import Path
from typing import TypeAlias

from assistlearn.errors import CorruptDataError, MissingDataError

DATA_VARIABLE = "ASSISTLEARN_DATA"
"""The environment variable that names the data folder."""

PathName: TypeAlias = str | os.PathLike[str]


@dataclass(frozen=True)
class File:
    """A file as its authors published it.

    Attributes
    ----------
    folder : str
        The folder inside the data folder where it is looked for first.
    name : str
        Its name.
    sha256 : str
        Its checksum.
    get : str
        Where a person can get it, in words that follow "Get it from".
    """

    folder: str
    name: str
    sha256: str
    get: str


def data_folder(data: PathName | None) -> Path | None:
    """Return the data folder: the argument, else what ``ASSISTLEARN_DATA`` says, else None."""
    named = data if data is not None else os.environ.get(DATA_VARIABLE) or None
    if named is None:
        return None
    folder = Path(named).expanduser()
    if not folder.is_dir():
        said = "the argument data=" if data is not None else f"the environment variable {DATA_VARIABLE}"
        raise MissingDataError(f"The data folder {folder} does not exist or is no folder. It was named by {said}.")
    return folder


def read(folder: Path, file: File, otherwise: str = "") -> bytes:
    """Return the content of a file after checking its checksum.

    Parameters
    ----------
    folder : Path
        The data folder.
    file : File
        Looked for in its own folder, then in the data folder itself.
    otherwise : str
        What else a user without the file can do.
    """
    places = [folder / file.folder / file.name, folder / file.name]
    for place in places:
        if place.is_file():
            content = place.read_bytes()
            _compare(place, hashlib.sha256(content).hexdigest(), file.sha256, f"Get it again from {file.get}.")
            return content
    looked = " and ".join(str(place) for place in places)
    raise MissingDataError(
        f"{file.name} was not found. Looked for {looked}. Get it from {file.get}, and put it there.{otherwise}"
    )


def check_listed(path: Path, remedy: str) -> None:
    """Compare a file with its checksum in ``SHA256SUMS.txt`` beside it, if that lists the file."""
    listing = path.with_name("SHA256SUMS.txt")
    if not listing.is_file():
        return
    for line in listing.read_text(encoding="utf-8").splitlines():
        expected, _, name = line.partition(" ")
        if name.strip().lstrip("*") == path.name:
            with path.open("rb") as stream:
                _compare(path, hashlib.file_digest(stream, "sha256").hexdigest(), expected.lower(), remedy)


def _compare(path: Path, found: str, expected: str, remedy: str) -> None:
    if found != expected:
        raise CorruptDataError(
            f"{path} is not the file it should be: its SHA256 is {found} ({path.stat().st_size} bytes), "
            f"expected {expected}. It was cut off, changed, or is another version. {remedy}"
        )
