"""What an agent remembers of one run, in a folder: enough to go on after a crash, and to predict years later.

::

    opened.json           who asked, what for, how samples are matched
    rows.npy              the agent's row for every sample of the run, or -1
    table.json            the fingerprint of the table that these are rows of, and the names and kinds of its columns
    begin.msg             the task: labels, weights, hold-out samples
    turns/000007/         one folder for each of the agent's turns
        request.msg       what it was told before the turn
        model.skops       the model, if it was kept
        honest            empty; there if the agent's rewards had become honest
        reply.msg         what it answered; written last: the turn is done when this file is there
    ended.json            how many rounds the result is made of

Every file is written atomically. The state of the run is not stored: it is rebuilt from the messages.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from numpy.typing import NDArray

from assistlearn import storage
from assistlearn.errors import ProtocolError, RunError, TableChangedError
from assistlearn.learners import Model
from assistlearn.learners.models_on_disk import dump_model, load_model

_FORGOTTEN = ".forgotten"
"""How the folder of a run ends that is being removed; it begins with a dot, as no run's name does."""


@dataclass(frozen=True)
class PastTurn:
    """A turn that is done: what was asked and answered, and where the model lies."""

    number: int
    request: bytes
    reply: bytes
    model: Path | None
    honest: bool


class RunStore:
    """The folder of one run at one agent.

    Parameters
    ----------
    folder : path
        Where; need not exist yet.
    packages : sequence of str
        The packages whose types a stored model may hold beside numpy's and scikit-learn's: those of the agent's own
        learner.
    """

    def __init__(self, folder: Path, packages: tuple[str, ...] = ()) -> None:
        self.folder = folder
        self._packages = packages

    @property
    def exists(self) -> bool:
        """Whether the run was opened here."""
        return (self.folder / "opened.json").exists()

    def open(self, facts: dict[str, Any]) -> None:
        """Remember who asked, and what for."""
        storage.write_json(self.folder / "opened.json", facts)

    def opened(self) -> dict[str, Any]:
        """Return who asked, and what for."""
        facts: dict[str, Any] = storage.read_json(self.folder / "opened.json")
        return facts

    def keep_rows(self, rows: NDArray[Any], fingerprint: str, schema: Mapping[str, Any] | None) -> None:
        """Remember the agent's row of every sample, and the table: its fingerprint, its columns' names and kinds."""
        storage.write_json(self.folder / "table.json", {"fingerprint": fingerprint, "schema": schema})
        storage.write_array(self.folder / "rows.npy", rows)

    def check_table(self, fingerprint: str, owner: str) -> None:
        """Refuse a table that is not the one whose rows are remembered."""
        if storage.read_json(self.folder / "table.json")["fingerprint"] != fingerprint:
            raise TableChangedError(
                f"Agent {owner!r}: its table has changed since run {self.folder.name!r} was aligned. Bring the old "
                "table back to go on, or start a new run."
            )

    def schema(self) -> Mapping[str, Any] | None:
        """Return the names and kinds of the columns that the models were trained with; None where none were kept."""
        path = self.folder / "table.json"
        schema: Mapping[str, Any] | None = storage.read_json(path).get("schema") if path.exists() else None
        return schema

    def rows(self) -> NDArray[Any] | None:
        """Return the agent's row of every sample, if samples were aligned."""
        path = self.folder / "rows.npy"
        return storage.read_array(path) if path.exists() else None

    def keep_task(self, begin: bytes) -> None:
        """Remember the task."""
        storage.write_bytes(self.folder / "begin.msg", begin)

    def task(self) -> bytes | None:
        """Return the task, if it was set."""
        return _bytes_or_none(self.folder / "begin.msg")

    def keep_turn(self, number: int, request: bytes, reply: bytes, model: Model | None, honest: bool) -> None:
        """Remember a turn: when this returns, a crash no longer loses it."""
        folder = self._turn(number)
        if honest:
            storage.write_bytes(folder / "honest", b"")
        if model is not None:
            storage.write_bytes(folder / "model.skops", dump_model(model, self._packages))
        storage.write_bytes(folder / "request.msg", request)
        storage.write_bytes(folder / "reply.msg", reply)

    def has_turn(self, number: int) -> bool:
        """Whether a turn is done."""
        return (self._turn(number) / "reply.msg").exists()

    def past_turns(self) -> Iterator[PastTurn]:
        """Yield the turns that are done, in order."""
        folders = [folder for folder in (self.folder / "turns").glob("*") if folder.name.isdecimal()]
        for folder in sorted(folders, key=lambda folder: int(folder.name)):
            reply = _bytes_or_none(folder / "reply.msg")
            request = _bytes_or_none(folder / "request.msg")
            if reply is None or request is None:
                continue
            model = folder / "model.skops"
            honest = (folder / "honest").exists()
            yield PastTurn(int(folder.name), request, reply, model if model.exists() else None, honest)

    def model(self, path: Path) -> Model:
        """Return a stored model, once all types in its file are known to be harmless."""
        return load_model(path, self._packages)

    def end(self, n_rounds: int, surplus: list[int]) -> None:
        """Remove the models that are not part of the result, then remember the end: after a crash it is said again."""
        for number in surplus:
            (self._turn(number) / "model.skops").unlink(missing_ok=True)
        storage.write_json(self.folder / "ended.json", {"n_rounds": n_rounds})

    def ended(self) -> int | None:
        """Return how many rounds the result is made of, if training is over."""
        path = self.folder / "ended.json"
        return int(storage.read_json(path)["n_rounds"]) if path.exists() else None

    def forget(self) -> int:
        """Remove everything; return how many models there were.

        The folder is renamed first: a crash leaves the whole run or, for :func:`sweep` to remove, nothing of it.
        """
        n_models = len(list(self.folder.glob("turns/*/model.skops")))
        if self.folder.exists():
            sweep(self.folder.parent.parent)
            gone = self.folder.with_name(f".{self.folder.name}{_FORGOTTEN}")
            os.replace(self.folder, gone)
            shutil.rmtree(gone)
        return n_models

    def _turn(self, number: int) -> Path:
        return self.folder / "turns" / f"{number:06d}"


def run_folder(home: Path, run: str) -> Path:
    """Return the folder of a run below an agent's home; the run's name comes from outside and is checked.

    >>> run_folder(Path("home"), "2026-credit").as_posix()
    'home/runs/2026-credit'
    """
    plain = all(c.isascii() and (c.isalnum() or c in "-_.") for c in run)
    if not plain or not 1 <= len(run) <= 80 or run.startswith("."):
        raise ProtocolError(f"{run!r} is not the name of a run: use up to 80 letters, digits, '-', '_' and '.'.")
    return home / "runs" / run


def runs_at(home: Path) -> list[str]:
    """Return the runs that an agent remembers."""
    names = (path.parent.name for path in (home / "runs").glob("*/opened.json"))
    return sorted(name for name in names if not name.startswith("."))


def sweep(home: Path) -> None:
    """Remove what a crash has left of runs that were being forgotten."""
    for left in (home / "runs").glob(f".*{_FORGOTTEN}"):
        shutil.rmtree(left)


def _bytes_or_none(path: Path) -> bytes | None:
    try:
        return path.read_bytes()
    except FileNotFoundError:
        return None
    except OSError as error:
        raise RunError(f"{path} cannot be read: {error}") from None
