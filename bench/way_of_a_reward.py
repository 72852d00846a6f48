"""The way of one reward, from a helper's learner to the states of the other agents: modules, calls, and bytes made.

    python -m bench.way_of_a_reward [--n 1000] [--json]

Three agents in memory (a clinic, which is the initiator, a lab and an imaging centre), the hard method, a chain. The
way begins when the lab's learner has answered in its turn of round 3 (``Learner.fit`` returns). It ends when two states
have taken the reward in (``State.apply`` returns): the initiator's, which the session judges by, and the imaging
centre's own, at the beginning of its turn. What the session does in between belongs to the way.

A module is one of assistlearn's in which a function is entered on the way. A call is one that Python's profiler reports
for a function of assistlearn, in any thread: constructors that dataclasses write, comprehensions, properties and
generators that go on count, functions of other packages do not. So the numbers are for comparison, not for themselves.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
import threading
from pathlib import Path
from types import FrameType
from typing import Any

import numpy as np
from sklearn.tree import DecisionTreeClassifier

from tests.initiator.parties import Parties

ROOT = "assistlearn"
HELPER, ROUND = "lab", 3
N_CLASSES = 3


class Way:
    """Follows a reward, as a profiler's function."""

    def __init__(self) -> None:
        self.modules: dict[str, int] = {}
        self._states: dict[int, Any] = {}
        self._begun = False
        self._model_weight = 0.0
        self._reward: Any = None
        self._seen: dict[str, list[Any]] = {"packed": [], "unpacked": [], "encoded": [], "decoded": []}

    @property
    def calls(self) -> int:
        """How many calls there were in all modules."""
        return sum(self.modules.values())

    @property
    def over(self) -> bool:
        """Whether the initiator and the other helper have taken the reward in."""
        return len(self._states) == 2

    def watch(self, frame: FrameType, event: str, value: Any) -> None:
        """Take note of a call, or of what one returned."""
        module = frame.f_globals.get("__name__", "")
        if self.over or event not in ("call", "return") or not module.startswith(f"{ROOT}."):
            return
        if not self._begun:
            self._begun = event == "return" and _is_start(frame)
        elif event == "call":
            self._called(frame, module)
        else:
            self._returned(frame, module, value)

    def _called(self, frame: FrameType, module: str) -> None:
        self.modules[module] = self.modules.get(module, 0) + 1
        match f"{module}.{frame.f_code.co_name}":
            case "assistlearn.protocol.arrays.pack_reward":
                self._seen["packed"].append(frame.f_locals["reward"])
            case "assistlearn.protocol.codec.encode":
                self._seen["encoded"].append(frame.f_locals["message"])

    def _returned(self, frame: FrameType, module: str, value: Any) -> None:
        match f"{module}.{frame.f_code.co_name}":
            case "assistlearn.protocol.arrays.unpack_reward":
                self._seen["unpacked"].append(value)
            case "assistlearn.protocol.codec.decode":
                self._seen["decoded"].append(value)
            case "assistlearn.core.state.apply":
                self._taken_in(frame.f_locals)

    def _taken_in(self, known: dict[str, Any]) -> None:
        if not self._states:
            self._model_weight, self._reward = known["model_weight"], known["reward"]
        if known["model_weight"] == self._model_weight:
            self._states[id(known["self"])] = known["self"]

    def made(self) -> dict[str, int]:
        """Return how often the reward was packed and unpacked, and messages that hold it encoded and decoded."""
        return {what: sum(map(self._is_about_it, things)) for what, things in self._seen.items()}

    def _is_about_it(self, thing: Any) -> bool:
        if isinstance(thing, np.ndarray):
            return np.array_equal(thing, self._reward)
        news = [item.model_weight for item in getattr(thing, "news", ()) if item.reward is not None]
        return self._model_weight in [getattr(thing, "model_weight", None), *news]


def _is_start(frame: FrameType) -> bool:
    known = frame.f_locals
    fitted = frame.f_code.co_qualname == "Learner.fit"
    return fitted and known["self"]._owner == HELPER and known["when"] == f"round {ROUND}"


def follow(n: int, folder: Path) -> Way:
    """Return the way of the helper's reward in a run of ``n`` samples."""
    rng = np.random.default_rng(0)
    labels = rng.integers(0, N_CLASSES, n)
    table = rng.normal(size=(n, 6)) + np.eye(N_CLASSES)[labels] @ rng.normal(size=(N_CLASSES, 6))
    agents = [(name, DecisionTreeClassifier(max_depth=2), [2 * i, 2 * i + 1]) for i, name in enumerate(_NAMES)]
    run = Parties(folder, agents, table, labels, {"method": "ascii", "n_rounds": ROUND + 1}, {}).leader()
    way = Way()
    threading.setprofile(way.watch)
    sys.setprofile(way.watch)
    try:
        for _ in run.train():
            if way.over:
                break
    finally:
        sys.setprofile(None)
        threading.setprofile(None)
    if not way.over:
        raise RuntimeError(f"The reward of {HELPER!r} in round {ROUND} has not reached the other agents.")
    return way


_NAMES = ("clinic", HELPER, "scans")


def main() -> None:
    parser = argparse.ArgumentParser(description="The way of one reward: modules, calls, and bytes made.")
    parser.add_argument("--n", type=int, default=1000, help="samples")
    parser.add_argument("--json", action="store_true", help="one JSON object")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        way = follow(arguments.n, Path(folder))
    if arguments.json:
        print(json.dumps({"modules": way.modules, "calls": way.calls} | way.made()))
        return
    print(f"{len(way.modules)} modules, in the order in which they are entered:")
    for module, calls in way.modules.items():
        print(f"{calls:5} calls  {module}")
    print(f"{way.calls:5} calls in all")
    print("The reward was", ", ".join(f"{what} {times} times" for what, times in way.made().items()))


if __name__ == "__main__":
    main()
