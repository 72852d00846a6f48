"""The command line itself, killed: ``assistlearn simulate``, or a process that it started."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import time
from contextlib import suppress
from pathlib import Path

from bench.kill.attempts import Attempt, parent
from bench.kill.cases import Case
from bench.kill.points import ATTEMPTS, difference, errors
from bench.kill.processes import PATIENCE, predict


def by_executables(case: Case, folder: Path, rng: random.Random) -> str:
    """Kill ``assistlearn simulate``, or a process that it started, at a random instant; then resume and predict."""
    place = case.copy(folder)
    program = str(Path(sys.executable).with_name("assistlearn"))
    resume = [program, "simulate", "--resume", str(place / "run"), "--json"]
    victim = rng.choice(["initiator", "a helper"])
    process = subprocess.Popen(resume, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    helpers: list[int] = []
    until = time.monotonic() + PATIENCE
    while process.poll() is None and time.monotonic() < until and len(helpers) < 2:
        helpers = [pid for pid in map(int, filter(str.isdigit, os.listdir("/proc"))) if parent(pid) == process.pid]
        time.sleep(0.05)
    ready = place / "scans-models" / "ledger.jsonl"
    while process.poll() is None and time.monotonic() < until and not ready.exists():
        time.sleep(0.01)
    time.sleep(rng.random() * case.seconds)
    if process.poll() is None:
        with suppress(ProcessLookupError):  # it has just ended by itself
            os.kill(process.pid if victim == "initiator" else rng.choice(helpers), signal.SIGKILL)
    process.wait(PATIENCE)
    for _ in range(ATTEMPTS):
        case.restore(place)
        ended = subprocess.run(resume, capture_output=True, timeout=PATIENCE, text=True)
        if ended.returncode == 0:
            break
    else:
        return f"simulate --resume did not end in {ATTEMPTS} attempts: {ended.stderr[-500:]}"
    if not Attempt(predict, place).run():
        return f"predict failed: {errors(place)}"
    return difference(place, case)
