"""Where a data set comes from: the authors' files in the user's folder, or OpenML, once; both checked every time."""

from __future__ import annotations

import hashlib
import os
import shutil
import tempfile
import warnings
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn
from sklearn.datasets import fetch_openml

from assistlearn.errors import AssistLearnError, AssistLearnWarning
from paper.datasets.dataset import Array, Label


class MissingDataError(AssistLearnError, FileNotFoundError):
    """The file of a data set is not there, and could not be downloaded."""


class CorruptDataError(AssistLearnError, ValueError):
    """The file of a data set is not what it should be."""


DATA_VARIABLE = "ASSISTLEARN_DATA"
"""The environment variable that names the data folder."""

PathName: TypeAlias = str | os.PathLike[str]


@dataclass(frozen=True)
class File:
    """A file as its authors published it, and in words that follow "Get it from" where a person can get it.

    It is looked for in ``folder`` inside the data folder first.
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
    """Return the content of a file after checking its checksum. ``otherwise`` says what a user without it can do."""
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


@dataclass(frozen=True)
class OpenmlTable:
    """A table on OpenML, and what must be in it.

    ``counts`` says how many samples each label has. Where all these numbers differ, they show which class is which,
    whatever OpenML calls it. Otherwise OpenML's labels must be the same as these. ``digest`` is the checksum of the
    values in the authors' own files (see :func:`digest`).
    """

    name: str
    data_id: int
    dtype: str
    counts: Mapping[Label, int]
    n_features: int
    digest: str

    @property
    def otherwise(self) -> str:
        return f" Or leave data= and {DATA_VARIABLE} out: it is then downloaded from OpenML (id {self.data_id})."


def cache_folder() -> Path:
    """Return where downloads are kept: ``$XDG_CACHE_HOME/assistlearn``, by default ``~/.cache/assistlearn``."""
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "assistlearn"


def fetch(table: OpenmlTable) -> tuple[Array, Array]:
    """Return the features and labels of a table, downloaded if they are not in the cache."""
    kept = cache_folder() / table.name / f"{table.name}.npz"
    if not kept.is_file():
        _keep(kept, *_download(table))
    check_listed(kept, f"Remove the folder {kept.parent}, and it is downloaded again.")
    with np.load(kept, allow_pickle=False) as arrays:
        return arrays["features"], arrays["labels"]


def digest(features: Array, labels: Array) -> str:
    """Return a checksum of the values, whatever file they came from.

    >>> digest(np.array([[1, 2]]), np.array(["a"])) == digest(np.array([[1.0, 2.0]]), np.array(["a"]))
    True
    """
    sha = hashlib.sha256(str(features.shape).encode())
    for first in range(0, len(features), 4096):
        sha.update(np.ascontiguousarray(features[first : first + 4096], dtype="<f8").tobytes())
    sha.update("\n".join(map(str, labels)).encode())
    return sha.hexdigest()


def _download(table: OpenmlTable) -> tuple[Array, Array]:
    parser = "pandas" if find_spec("pandas") else "liac-arff"  # the same values, at different speeds
    try:
        # Without a folder of its own, fetch_openml would download the table twice.
        with _bar(f"Downloading {table.name} from OpenML"), tempfile.TemporaryDirectory() as folder:
            answer = fetch_openml(data_id=table.data_id, data_home=folder, as_frame=False, parser=parser)
    except (OSError, ValueError) as error:
        raise MissingDataError(
            f"{table.name} could not be downloaded from OpenML (id {table.data_id}): {error}. Looked for it in the "
            f"cache {cache_folder() / table.name} before. Try again later, or name a folder with the authors' files "
            f"(data=, or the environment variable {DATA_VARIABLE})."
        ) from error
    features, labels = _checked(table, answer)
    if digest(features, labels) != table.digest:
        warnings.warn(
            f"{table.name}: OpenML's copy (id {table.data_id}) has the expected size and classes, but its values or "
            "their order are not those of the authors' own files. Results may differ slightly from those on the files.",
            AssistLearnWarning,
            stacklevel=4,
        )
    return features, labels


def _checked(table: OpenmlTable, answer: Any) -> tuple[Array, Array]:
    """Return features and labels after checking that they are what the table should hold."""
    wrong = f"What OpenML answered for id {table.data_id} is not {table.name}: "
    features = np.asarray(answer.data)
    shape = (sum(table.counts.values()), table.n_features)
    if features.shape != shape or answer.target is None:
        raise CorruptDataError(f"{wrong}its features have shape {features.shape}, expected {shape}, and a label each.")
    codes, coded, counts = np.unique(np.asarray(answer.target).astype(str), return_inverse=True, return_counts=True)
    if sorted(counts) != sorted(table.counts.values()):
        raise CorruptDataError(
            f"{wrong}its classes have {dict(zip(codes.tolist(), counts.tolist(), strict=True))} samples, "
            f"expected {dict(table.counts)}."
        )
    if len(set(table.counts.values())) == len(table.counts):
        by_count = {count: label for label, count in table.counts.items()}
        meant = [by_count[count] for count in counts]
    else:
        by_code = {str(label): label for label in table.counts}
        if set(by_code) != set(codes):
            raise CorruptDataError(f"{wrong}its classes are {codes.tolist()}, expected {sorted(by_code)}.")
        meant = [by_code[code] for code in codes]
    return features.astype(table.dtype), np.array(meant)[coded]


def _keep(path: Path, features: Array, labels: Array) -> None:
    """Write the arrays and their checksum; other processes see both or neither."""
    path.parent.parent.mkdir(parents=True, exist_ok=True)
    made = Path(tempfile.mkdtemp(dir=path.parent.parent))
    try:
        part = made / path.name
        np.savez(part, features=features, labels=labels)
        with part.open("rb") as stream:
            listed = hashlib.file_digest(stream, "sha256").hexdigest()
        part.with_name("SHA256SUMS.txt").write_text(f"{listed}  {path.name}\n", encoding="utf-8")
        if not path.is_file():
            shutil.rmtree(path.parent, ignore_errors=True)  # a folder that has lost its file
            made.rename(path.parent)
    except OSError:
        if not path.is_file():  # else another process was faster, and its file is as good
            raise
    finally:
        shutil.rmtree(made, ignore_errors=True)


@contextmanager
def _bar(text: str) -> Iterator[None]:
    """Show a bar that moves until the work is done: OpenML does not say how much there is to download."""
    columns = (TextColumn("{task.description}"), BarColumn(), TimeElapsedColumn())
    with Progress(*columns, console=Console(stderr=True, emoji=False), transient=True) as progress:
        progress.add_task(text, total=None)
        yield
