"""How time grows with samples, agents and rounds, and the memory of a large run."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from assistlearn import AssistedClassifier
from assistlearn.learners import HistTreeClassifier
from bench.hist_result import Figure, at_most, made_table, seconds

SAMPLES, QUICK_SAMPLES = [10_000, 100_000, 1_000_000, 10_000_000], [1_000, 4_000]
AGENTS, QUICK_AGENTS = [1, 3, 10, 30, 100], [1, 4]
ROUNDS, QUICK_ROUNDS = [1, 10, 100, 1_000], [1, 4]


def measure(quick: bool) -> Iterator[Figure]:
    yield from _growth("samples", QUICK_SAMPLES if quick else SAMPLES, lambda n: _run(n, agents=2, rounds=5))
    yield from _growth("agents", QUICK_AGENTS if quick else AGENTS, lambda m: _run(20_000, agents=m, rounds=5))
    yield from _growth("rounds", QUICK_ROUNDS if quick else ROUNDS, lambda t: _run(10_000, agents=2, rounds=t))
    yield from _memory(20_000 if quick else 10_000_000, 2 if quick else 20)


def run_and_report(n: int, rounds: int) -> None:
    """Train once; print the MiB of the interpreter, with the table, at the peak, and of the table; and the seconds.

    All that is resident counts, shared libraries included.
    """
    import xgboost  # noqa: F401  what is loaded belongs to the interpreter

    interpreter = _status("VmRSS")
    X, y = made_table(n, 10)
    table = _status("VmRSS")
    taken, _ = seconds(lambda: _fit(X, y, agents=2, rounds=rounds))
    print(interpreter, table, _status("VmHWM"), X.nbytes / 2**20, taken)


def _growth(what: str, sizes: Sequence[int], run: Callable[[int], float]) -> Iterator[Figure]:
    taken = []
    for size in sizes:
        taken.append(run(size))
        yield Figure("growth", what, f"seconds at {size:,}", taken[-1])
    slope = float(np.polyfit(np.log(sizes), np.log(taken), 1)[0])
    last = float(np.log(taken[-1] / taken[-2]) / np.log(sizes[-1] / sizes[-2]))
    yield at_most("growth", what, "exponent", slope, 1.05)
    yield Figure("growth", what, "exponent of the last step alone", last)


def _run(n: int, agents: int, rounds: int) -> float:
    """Return the seconds of the better of two runs (of one, where it is long) of agents with five columns each."""
    X, y = made_table(n, 5 * agents)
    taken = [seconds(lambda: _fit(X, y, agents, rounds))[0]]
    if taken[0] < 20.0:
        taken.append(seconds(lambda: _fit(X, y, agents, rounds))[0])
    return min(taken)


def _fit(X: np.ndarray, y: np.ndarray, agents: int, rounds: int) -> None:
    tree = HistTreeClassifier(5, n_jobs=1)
    each = X.shape[1] // agents
    named = [(f"agent{i}", tree, slice(each * i, each * (i + 1))) for i in range(agents)]
    AssistedClassifier(named, n_rounds=rounds, random_state=0, method="ascii").fit(X, y)


def _memory(n: int, rounds: int) -> Iterator[Figure]:
    code = f"from bench.hist_growth import run_and_report; run_and_report({n}, {rounds})"
    captured: dict[str, Any] = {"capture_output": True, "text": True, "check": True}
    done = subprocess.run([sys.executable, "-c", code], cwd=Path(__file__).parents[1], **captured)
    interpreter, table, peak, raw, taken = map(float, done.stdout.split())
    case = f"{n:,} x 10, 2 agents, {rounds} rounds"
    yield Figure("memory", case, "MiB of the raw float32 table", raw)
    yield Figure("memory", case, "MiB of the interpreter and its modules", interpreter)
    yield Figure("memory", case, "MiB at the peak, everything", peak)
    yield Figure("memory", case, "times the raw table, everything", peak / raw)
    yield Figure("memory", case, "times the raw table, beyond interpreter and table", (peak - table) / raw)
    yield Figure("memory", case, "seconds", taken)


def _status(key: str) -> float:
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) / 1024 for line in lines if line.startswith(key))
