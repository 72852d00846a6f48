"""How large the page of a long run is, and how long it takes to make.

    python -m bench.report [--rounds 50] [--agents 5] [--samples 2000]

A run in memory is trained first, which takes a minute; then ``assistlearn report`` makes its page in a process of its
own, as a user would have it. Asked for: 50 rounds and 5 agents in less than 300 kB and 3 s.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
from sklearn.tree import DecisionTreeClassifier

from assistlearn.initiator.folder import RunFolder
from tests.initiator.parties import Parties

MOST_BYTES, MOST_SECONDS = 300_000, 3.0


def long_run(place: Path, n_rounds: int, n_agents: int, n_samples: int) -> RunFolder:
    """Train a run of three classes that goes on for all its rounds; every agent has three columns."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n_samples, 3 * n_agents))
    y = (X.sum(axis=1) + rng.normal(size=n_samples) > 0).astype(int) + (X[:, 0] > 0.5)
    stump = DecisionTreeClassifier(max_depth=1)
    agents = [(f"agent-{i}", stump, [3 * i, 3 * i + 1, 3 * i + 2]) for i in range(n_agents)]
    settings = {"n_rounds": n_rounds, "holdout": 0.3, "patience": n_rounds}
    led = Parties(place, agents, X, y, settings, {}).leader()
    list(led.train())
    return led.folder


def main() -> None:
    """Print the size and the time."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=50)
    parser.add_argument("--agents", type=int, default=5)
    parser.add_argument("--samples", type=int, default=2_000)
    asked = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        run = long_run(Path(folder), asked.rounds, asked.agents, asked.samples)
        page, seconds, worked = Path(folder, "page.html"), [], []
        for _ in range(5):
            begun, before = time.perf_counter(), os.times()
            command = [sys.executable, "-m", "assistlearn", "report", str(run.path), "--out", str(page)]
            subprocess.run(command, check=True, capture_output=True)
            after = os.times()
            seconds.append(time.perf_counter() - begun)
            worked.append(after.children_user + after.children_system - before.children_user - before.children_system)
        n_bytes = page.stat().st_size
    print(f"{asked.rounds} rounds, {asked.agents} agents, {asked.samples:,} samples:")
    print(f"{n_bytes:,} bytes (at most {MOST_BYTES:,})")
    print(
        f"{min(seconds):.2f} s (at most {MOST_SECONDS:g}), of which the processor worked {min(worked):.2f} s; best of 5"
    )


if __name__ == "__main__":
    main()
