"""What a run keeps, in its own folder, of the earlier run that it goes on from. It then needs no other folder.

::

    earlier/facts.json     which run it was, with whom, how it was trained, and whose turns its result is made of
    earlier/people.npy     who took part, as digests of their ids
    earlier/codes.npy      the class codes of those who were trained on
    earlier/aside.npy      which samples were held out
    earlier/held.npy       which samples each agent held
    earlier/000003.msg     the answer to each turn, about all samples
    earlier/still.npy      which samples the new run begins with: those for which nothing has changed
    earlier/roles.npy      of each sample of the new run: new, trained on before, or held out before
    earlier/goes_on.json   what has changed, and which turns are taken again; written last
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from assistlearn import storage
from assistlearn.alignment.matching import CodedIds
from assistlearn.core.ignorance import Bools
from assistlearn.core.votes import Codes
from assistlearn.protocol import messages as m
from assistlearn.protocol.codec import decode
from assistlearn.storage.file_digests import FileDigests


@dataclass(frozen=True)
class EarlierRun:
    """What another run needs of a finished run to go on from it.

    Attributes
    ----------
    facts : dict
        ``run``, ``agents``, ``contributions`` (turn, round, agent), ``settings`` (those of its plan), ``fingerprint``
        of the initiator's table.
    people : ndarray
        Digests of the ids of its samples.
    codes : ndarray
        The class codes of those who were trained on.
    aside : ndarray of bool
        Which samples were held out.
    held : ndarray of bool of shape (n_agents, n_samples)
        Which samples each agent held.
    """

    facts: dict[str, Any]
    people: CodedIds
    codes: Codes
    aside: Bools
    held: Bools

    @property
    def run(self) -> str:
        """Its name."""
        return str(self.facts["run"])

    @property
    def agents(self) -> list[str]:
        """Who took part, the initiator first."""
        return list(self.facts["agents"])

    def turns_of(self, agent: str) -> dict[int, int]:
        """Return the turns of an agent that the result is made of, by their rounds."""
        return {made["round"]: made["turn"] for made in self.facts["contributions"] if made["agent"] == agent}

    def held_by(self, agent: str) -> Bools:
        """Return which samples an agent held."""
        held: Bools = self.held[self.agents.index(agent)]
        return held


class EarlierRunFolder:
    """The folder ``earlier`` of a run.

    Parameters
    ----------
    run : path
        The run's folder.
    """

    def __init__(self, run: Path) -> None:
        self._folder = run / "earlier"
        self._files = FileDigests(self._folder)

    @property
    def exists(self) -> bool:
        """Whether the run goes on from an earlier one."""
        return (self._folder / "facts.json").exists()

    def write(self, earlier: EarlierRun, turns: dict[int, bytes]) -> None:
        """Keep an earlier run, and the answers to its turns."""
        arrays = {"people": earlier.people, "codes": earlier.codes, "aside": earlier.aside, "held": earlier.held}
        files = {self._folder / f"{name}.npy": storage.array_bytes(values) for name, values in arrays.items()}
        files |= {self._turn(number): content for number, content in turns.items()}
        self._files.write(files | {self._folder / "facts.json": storage.json_bytes(earlier.facts)})

    def read(self) -> EarlierRun | None:
        """Return the earlier run; None where there is none."""
        if not self.exists:
            return None
        path = self._folder / "facts.json"
        facts = storage.json_of(self._files.read(path), path)
        return EarlierRun(facts, *(self._array(name) for name in ("people", "codes", "aside", "held")))

    def turn(self, number: int) -> m.TurnTaken:
        """Return the answer to a turn of the earlier run."""
        reply = decode(self._files.read(self._turn(number)))
        assert isinstance(reply, m.TurnTaken)
        return reply

    def write_people(self, still: Bools, roles: Codes) -> None:
        """Keep with which earlier samples the new run begins, and what each of its own samples was before."""
        arrays = {"still": still, "roles": roles}
        self._files.write({self._folder / f"{name}.npy": storage.array_bytes(each) for name, each in arrays.items()})

    def still(self) -> Bools:
        """Return which samples of the earlier run the new one begins with."""
        still: Bools = self._array("still")
        return still

    def roles(self) -> Codes | None:
        """Return what each sample was before; None in a run that goes on from no other."""
        return self._array("roles") if (self._folder / "roles.npy").exists() else None

    def write_goes_on(self, facts: dict[str, Any]) -> None:
        """Keep what has changed, and which turns are taken again."""
        self._files.write({self._folder / "goes_on.json": storage.json_bytes(facts)})

    def goes_on(self) -> dict[str, Any] | None:
        """Return what has changed and which turns are taken again, once that is settled."""
        path = self._folder / "goes_on.json"
        facts: dict[str, Any] | None = storage.json_of(self._files.read(path), path) if path.exists() else None
        return facts

    def _array(self, name: str) -> Any:
        path = self._folder / f"{name}.npy"
        return np.asarray(storage.array_of(self._files.read(path), path))

    def _turn(self, number: int) -> Path:
        return self._folder / f"{number:06d}.msg"
