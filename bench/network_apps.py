"""What the benchmark's sites run instead of the package's own: an echo, and a learner that keeps its own time."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from nvflare.collab import collab
from sklearn.tree import DecisionTreeClassifier

from assistlearn.reach.flare.carrying.command_socket import Errand, Outcome
from assistlearn.reach.flare.site import apps

BARE = "bare "
"""Before an agent's name: measure a bare call of FLARE's with as many bytes, and reply with its seconds."""


class EchoSite(apps.Site):
    """A site that sends back what it gets: by our way, and by a bare call of FLARE's."""

    @collab.publish
    def echo(self, content: bytes) -> bytes:
        """Return what came."""
        return content

    def _answer(self, asker: str, request: bytes) -> bytes:
        return request


def _outcomes(errand: Errand, sites: dict[str, Any]) -> Iterator[Outcome]:
    if not errand.agent.startswith(BARE):
        yield from _ours(errand, sites)
        return
    site = sites[errand.agent.removeprefix(BARE)]
    begun = time.perf_counter()
    answer = site(timeout=60.0, secure=True).echo(errand.request)
    seconds = time.perf_counter() - begun
    assert len(answer) == len(errand.request)
    yield Outcome("done", repr(seconds).encode())


_ours = apps._outcomes
apps._outcomes = _outcomes


class TimedTree(DecisionTreeClassifier):
    """A tree that writes down how long fitting and predicting took it."""

    def fit(self, X, y, sample_weight=None):
        """Fit, and note the seconds."""
        begun = time.perf_counter()
        super().fit(X, y, sample_weight)
        _note(time.perf_counter() - begun)
        return self

    def predict(self, X):
        """Predict, and note the seconds."""
        begun = time.perf_counter()
        answer = super().predict(X)
        _note(time.perf_counter() - begun)
        return answer


def _note(seconds: float) -> None:
    with (Path(os.environ["BENCH_TIMES"]) / str(os.getpid())).open("a") as file:
        file.write(f"{seconds!r}\n")


def timed_tree(max_depth: int = 3) -> TimedTree:
    return TimedTree(max_depth=max_depth)
