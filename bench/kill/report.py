"""All points, one after the other, and what became of them."""

from __future__ import annotations

import random
import tempfile
import time
from collections import Counter
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from rich.progress import track

from bench.kill.attempts import get_ready
from bench.kill.cases import PLANS
from bench.kill.executables import by_executables
from bench.kill.points import disturbed, points, undisturbed


@dataclass
class Report:
    """What became of the points."""

    kinds: Counter[str]
    failures: list[dict[str, Any]]
    restarts: int = 0
    seconds: float = 0.0


def kill_all(
    n_points: int,
    seed: int = 0,
    n_executables: int = 0,
    names: tuple[str, ...] = tuple(PLANS),
    progress: bool = False,
) -> Report:
    """Run so many points and return what became of them."""
    rng = random.Random(seed)
    report = Report(Counter(), [])
    start = time.perf_counter()
    in_memory = Path("/dev/shm")
    with tempfile.TemporaryDirectory(dir=in_memory if in_memory.is_dir() else None) as place:
        folder = Path(place).resolve()
        get_ready()
        cases = {name: undisturbed(name, folder) for name in names}
        planned = points(n_points - n_executables, cases, rng)
        for at, point in enumerate(track(planned, "killing") if progress else planned):
            restarts, wrong = disturbed(point, cases[point.case], folder / f"point-{at}")
            report.restarts += restarts
            kind = "step" if point.step else "instant"
            report.kinds[f"{kind}: {point.victim}"] += 1
            if wrong:
                report.failures.append(asdict(point) | {"wrong": wrong})
        for at in range(n_executables):
            case = cases[rng.choice(names)]
            wrong = by_executables(case, folder / f"executables-{at}", rng)
            report.kinds["instant: command line"] += 1
            if wrong:
                report.failures.append({"case": case.name, "wrong": wrong})
    report.seconds = time.perf_counter() - start
    return report
