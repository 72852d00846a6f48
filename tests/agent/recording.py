"""A real run, recorded at one helper: every request it got and every reply it gave, to be played back and spoiled."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sklearn.datasets import load_wine
from sklearn.ensemble import RandomForestClassifier
from sklearn.naive_bayes import GaussianNB
from sklearn.tree import DecisionTreeClassifier

from assistlearn import storage as files
from assistlearn.agent.file import Allowance
from assistlearn.agent.limits import OwnerLimits
from assistlearn.agent.loading import Holdings, gate
from assistlearn.agent.service import AgentService
from assistlearn.protocol import decode
from assistlearn.protocol import messages as m
from tests.initiator.parties import SECRET, Parties

__all__ = ["SECRET", "Recorder", "Recording", "files_of", "full_disk", "owner", "record", "three_agents"]


class Recorder:
    """A transport that remembers what it carried."""

    def __init__(self, inner: Any) -> None:
        self._inner = inner
        self.exchanges: list[tuple[str, bytes, bytes]] = []

    def ask(self, agent: str, request: bytes) -> bytes:
        reply = self._inner.ask(agent, request)
        self.exchanges.append((agent, request, reply))
        return reply


@dataclass(frozen=True)
class Recording:
    """What one helper was asked, in order, and what it answered."""

    holdings: Holdings
    requests: list[bytes]
    replies: list[bytes]

    def service(self, home: Path, stage: int = 0, **changes: Any) -> AgentService:
        """A fresh service of the same helper, in another home, that has answered the first ``stage`` requests."""
        service = AgentService(replace(self.holdings, home=home, **changes))
        for request in self.requests[:stage]:
            service.answer(request)
        return service

    def stage(self, kind: type[m.Message], nth: int = 1) -> int:
        """How many requests come before the n-th of this type."""
        places = [place for place, request in enumerate(self.requests) if isinstance(decode(request), kind)]
        return places[nth - 1]

    def request(self, kind: type[m.Message], nth: int = 1) -> Any:
        """The n-th request of this type."""
        return decode(self.requests[self.stage(kind, nth)])


def three_agents(folder: Path, **options: Any) -> Parties:
    """Three small agents; the helper to be recorded, ``lab``, holds four samples of five."""
    X, y = load_wine(return_X_y=True)
    agents = [
        ("clinic", DecisionTreeClassifier(max_depth=2), [0, 1, 2, 3]),
        ("lab", GaussianNB(), [4, 5, 6, 7]),
        ("scans", RandomForestClassifier(n_estimators=3, max_depth=2), [8, 9, 10, 11, 12]),
    ]
    return Parties(folder, agents, X, y, options, {"lab": np.arange(len(X)) % 5 != 0})


def record(
    folder: Path, agent: str = "lab", wrap: Callable[[Any], Any] = lambda inner: inner, **options: Any
) -> Recording:
    """Run three agents through training, prediction and forgetting, and return what one of them heard and said."""
    parties = three_agents(folder, **({"n_rounds": 3} | options))
    recorder = Recorder(wrap(parties.transport()))
    leader = parties.leader(recorder)
    list(leader.train())
    leader.predict_rows(np.arange(40))
    leader.forget()
    exchanges = [(request, reply) for name, request, reply in recorder.exchanges if name == agent]
    holdings = parties.holdings(agent)
    shutil.rmtree(folder)
    return Recording(holdings, [request for request, _ in exchanges], [reply for _, reply in exchanges])


def owner(**limits: Any) -> dict[str, Any]:
    """The holdings of a helper whose owner allows the clinic so much."""
    allowance = Allowance(("clinic",), **limits)
    return {"allow": gate("lab", allowance), "limits": OwnerLimits("lab", allowance, rows=142)}


@contextmanager
def full_disk(file: str) -> Iterator[None]:
    """No file of this name can be written: the disk is full."""
    whole = files.write_bytes

    def full(path: Path, content: bytes) -> None:
        if path.name == file:
            raise OSError(28, "No space left on device", str(path))
        whole(path, content)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(files, "write_bytes", full)
        yield


def files_of(home: Path) -> dict[str, bytes]:
    """Every file of an agent but its ledger, the copies of its counts and its log, with its content."""
    return {
        path.relative_to(home).as_posix(): path.read_bytes()
        for path in sorted(home.rglob("*"))
        if path.is_file() and not path.name.startswith("ledger.jsonl")
        if path.name not in ("problems.log", "counted.json") and path.parent != home / "told"
    }
