"""A run at the initiator, in a folder: settings, turns, events and the result; enough to go on after a crash.

::

    settings.json         what was agreed on: agents, method, rounds, seed, classes, how samples are matched
    secret.json           the secret permutation of the class codes (never sent)
    samples.npy           the initiator's rows that take part
    held/lab.npy          which of these samples a helper holds
    turns/000007.msg      the answer to each turn, as it came
    left.json             agents that were gone, and from which turn on the run went on without them
    events.jsonl          what happened, one fact per line
    result.json           the contributions, the stop reason, the bytes
"""

from __future__ import annotations

import json
import shutil
from contextlib import suppress
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from numpy.typing import NDArray

from assistlearn import storage as files
from assistlearn.errors import RunError

FORMAT = 1


@dataclass(frozen=True)
class RunSettings:
    """What a run is about.

    Attributes
    ----------
    run : str
        Its name, the same at every agent.
    initiator : str
        Who wants help.
    agents : list of str
        All agents, the initiator first.
    purpose : str
        What for, in words, as the helpers are told.
    method, order, n_rounds, weak_agent, holdout, patience, seed
        As for ``AssistedClassifier``.
    alignment : {"hash", "psi"}
        How samples are matched.
    overlap : {"abstain", "intersection"}
        Whether helpers abstain on samples they do not hold, or only common samples are used.
    files : dict of str to str
        Each agent's file, where all of them are on this machine.
    classes : list
        The names of the classes, in the order of the labels' values.
    fingerprint : str
        Of the initiator's table, to notice a change between runs.
    reward, cv, loss, shrinkage, score_bits
        As for ``AssistedClassifier``; the last three for the soft method.
    absent : {"stop", "go on"}
        Whether a helper that cannot be reached stops the training, or it goes on without the helper.
    kits : dict of str to str
        The initiator's startup kits, ``site`` and ``admin``, where the agents are on other machines.
    patience_seconds : float
        There: how long to try to reach an agent.
    """

    run: str
    initiator: str
    agents: list[str]
    purpose: str
    method: str
    order: str
    n_rounds: int
    weak_agent: str
    holdout: float | None
    patience: int
    seed: int
    alignment: str
    overlap: str
    files: dict[str, str]
    classes: list[Any]
    fingerprint: str
    reward: str = "in-sample"
    cv: int = 5
    loss: str = "logistic"
    shrinkage: float = 0.5
    score_bits: int = 8
    absent: str = "stop"
    kits: dict[str, str] = field(default_factory=dict)
    patience_seconds: float = 120.0
    format: int = FORMAT


class RunFolder:
    """The folder of one run at the initiator.

    Parameters
    ----------
    path : path
        Where.
    """

    def __init__(self, path: Path) -> None:
        self.path = path

    @property
    def exists(self) -> bool:
        """Whether a run lives here."""
        return (self.path / "settings.json").exists()

    def write_settings(self, settings: RunSettings, permutation: list[int]) -> None:
        """Write what was agreed on, and the secret."""
        files.write_json(self.path / "secret.json", {"permutation": permutation})
        files.write_json(self.path / "settings.json", asdict(settings))

    def settings(self) -> RunSettings:
        """Return what was agreed on."""
        path = self.path / "settings.json"
        if not path.exists():
            raise RunError(f"{self.path} holds no run: {path.name} is missing. Name the folder of a run.")
        facts = files.read_json(path)
        if facts.get("format") != FORMAT:
            raise RunError(f"{path} has format {facts.get('format')}; this release reads format {FORMAT}.")
        try:
            return RunSettings(**facts)
        except TypeError as error:
            raise RunError(f"{path} is not complete: {error}") from None

    def permutation(self) -> list[int]:
        """Return the secret permutation: the code that stands for each class."""
        codes: list[int] = files.read_json(self.path / "secret.json")["permutation"]
        return codes

    def remove(self) -> None:
        """Remove the run; files that it has not written stay."""
        for name in ("turns", "held"):
            shutil.rmtree(self.path / name, ignore_errors=True)
        for name in ("secret.json", "samples.npy", "left.json", "events.jsonl", "result.json", "settings.json"):
            (self.path / name).unlink(missing_ok=True)
        with suppress(OSError):  # something else lies in the folder
            self.path.rmdir()

    def write_samples(self, rows: NDArray[Any], held: dict[str, NDArray[Any]]) -> None:
        """Write which rows take part, and who holds them; the first file to be written is the last to be read."""
        for agent, mask in held.items():
            files.write_array(self.path / "held" / f"{agent}.npy", mask)
        files.write_array(self.path / "samples.npy", rows)

    def samples(self) -> NDArray[Any] | None:
        """Return which rows take part, if that is settled."""
        path = self.path / "samples.npy"
        return files.read_array(path) if path.exists() else None

    def held(self, agent: str) -> NDArray[Any]:
        """Return which samples an agent holds."""
        return files.read_array(self.path / "held" / f"{agent}.npy")

    def write_turn(self, number: int, reply: bytes) -> None:
        """Keep the answer to a turn: when this returns, a crash no longer loses it."""
        files.write_bytes(self.path / "turns" / f"{number:06d}.msg", reply)

    def turn(self, number: int) -> bytes | None:
        """Return the answer to a turn, if it was taken."""
        path = self.path / "turns" / f"{number:06d}.msg"
        return path.read_bytes() if path.exists() else None

    @property
    def n_turns(self) -> int:
        """How many turns are done."""
        return len(list((self.path / "turns").glob("*.msg")))

    def leave(self, agent: str, turn: int, reason: str) -> None:
        """Remember that the run goes on without an agent from this turn on."""
        files.write_json(self.path / "left.json", self.left() | {agent: {"turn": turn, "reason": reason}})

    def left(self) -> dict[str, Any]:
        """Return the agents that the run went on without: from which turn on, and why."""
        path = self.path / "left.json"
        left: dict[str, Any] = files.read_json(path) if path.exists() else {}
        return left

    def write_events(self, events: list[dict[str, Any]]) -> None:
        """Write what happened, one fact per line."""
        lines = "".join(json.dumps(event, ensure_ascii=False) + "\n" for event in events)
        files.write_bytes(self.path / "events.jsonl", lines.encode())

    def write_result(self, result: dict[str, Any]) -> None:
        """Write the end of the run; from now on it is finished."""
        files.write_json(self.path / "result.json", result)

    def result(self) -> dict[str, Any] | None:
        """Return the result, if the run is finished."""
        path = self.path / "result.json"
        if not path.exists():
            return None
        result: dict[str, Any] = files.read_json(path)
        return result
