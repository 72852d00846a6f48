"""What the benchmarks of histogram trees have in common: a figure with its target, one thread, made tables."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

# One thread for everybody, before anything that uses OpenMP is imported: seconds of the processor can then be compared
# on a machine that others use too.
os.environ["OMP_NUM_THREADS"] = "1"

import numpy as np


@dataclass(frozen=True)
class Figure:
    """One measured number; ``reached`` is None where nothing was to be reached."""

    part: str
    case: str
    quantity: str
    value: float
    to_reach: str = ""
    reached: bool | None = None


def at_least(part: str, case: str, quantity: str, value: float, bound: float) -> Figure:
    return Figure(part, case, quantity, value, f"at least {bound:g}", value >= bound)


def at_most(part: str, case: str, quantity: str, value: float, bound: float) -> Figure:
    return Figure(part, case, quantity, value, f"at most {bound:g}", value <= bound)


def seconds(work: Callable[[], Any]) -> tuple[float, Any]:
    """Return the processor's seconds that some work takes, and what it returns."""
    start = time.process_time()
    result = work()
    return time.process_time() - start, result


def made_table(n: int, columns: int, classes: int = 2, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Return a float32 table and labels of one byte each, made block by block so that nothing larger is ever held."""
    rng = np.random.default_rng(seed)
    X = np.empty((n, columns), np.float32)
    y = np.empty(n, np.int8)
    direction = rng.normal(size=columns).astype(np.float32)
    for start in range(0, n, 100_000):
        rows = slice(start, min(start + 100_000, n))
        X[rows] = rng.standard_normal((rows.stop - start, columns), dtype=np.float32)
        score = X[rows] @ direction / np.linalg.norm(direction) + 0.5 * rng.standard_normal(rows.stop - start)
        y[rows] = np.clip((score + 2.0) / 4.0 * classes, 0, classes - 1)
    return X, y
