"""Where SIGKILL strikes, and what must come out nevertheless."""

from __future__ import annotations

import json
import random
import shutil
import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from assistlearn.errors import AssistLearnError
from assistlearn.protocol.ledger import verify
from assistlearn.reach.processes.reach_processes import create_run
from bench.kill.attempts import Attempt
from bench.kill.cases import AGENTS, HELPERS, LABEL_ONLY, PLANS, Case, set_files, write_agents
from bench.kill.processes import NOBODY, Strike, predict, train

ATTEMPTS = 8
"""Starts after which a run that is no longer disturbed must have ended."""


def undisturbed(name: str, folder: Path) -> Case:
    """Create a run and return it with what it ends with when nobody disturbs it."""
    template = folder / f"template-{name}"
    files = write_agents(template, label_only=name in LABEL_ONLY)
    create_run(template / "run", "kill", files, PLANS[name])
    case = folder / f"whole-{name}"
    shutil.copytree(template, case)
    set_files(case)
    start = time.perf_counter()
    if not (Attempt(train, case).run() and Attempt(predict, case).run()):
        raise RuntimeError((folder / f"whole-{name}-errors.txt").read_text())
    seconds = time.perf_counter() - start
    steps = {agent: json.loads((folder / f"whole-{name}-steps-{agent}.json").read_text()) for agent in AGENTS}
    return Case(name, template, json.loads((case / "outcome.json").read_text()), steps, seconds)


@dataclass(frozen=True)
class Point:
    """Where SIGKILL strikes: at a step of an agent, or at instants (shares of a run's duration) from outside."""

    case: str
    victim: str
    step: int = 0
    instants: tuple[float, ...] = ()


def disturbed(point: Point, case: Case, folder: Path) -> tuple[int, str]:
    """Run one point; return how often it had to be started again, and what is wrong in the end, or nothing."""
    place = case.copy(folder)
    strikes = [Strike(point.victim, point.step)] if point.step else []
    delays = [instant * case.seconds for instant in point.instants]
    starts = 0
    for work in (train, predict):
        for _ in range(ATTEMPTS):
            case.restore(place)
            strike = strikes.pop() if strikes else NOBODY
            victim, delay = (point.victim, delays.pop(0)) if delays else ("", 0.0)
            starts += 1
            if Attempt(work, place, strike, victim, delay).run():
                break
        else:
            return starts - 2, f"{work.__name__} did not end in {ATTEMPTS} attempts: {errors(place)}"
    wrong = difference(place, case)
    if point.step and starts == 2:
        wrong = "nobody was killed"
    if not wrong:
        shutil.rmtree(place)
    return starts - 2, wrong


def difference(place: Path, case: Case) -> str:
    """Return in what a run differs from the one that nobody disturbed, or nothing."""
    outcome = json.loads((place / "outcome.json").read_text())
    different = [name for name in outcome if outcome[name] != case.outcome[name]]
    if different:
        return f"{', '.join(different)} differ: {errors(place)}"
    for agent in AGENTS:
        try:
            verify(place / f"{agent}-models" / "ledger.jsonl")
        except AssistLearnError as error:
            return str(error)
    return ""


def errors(place: Path) -> str:
    path = place.parent / f"{place.name}-errors.txt"
    return path.read_text()[-500:] if path.exists() else "no error was reported"


def points(n_points: int, cases: Mapping[str, Case], rng: random.Random) -> list[Point]:
    """Return where to strike: a third at steps of the initiator, a third at steps of helpers, the rest from outside."""
    names = list(cases)
    out: list[Point] = []
    for at in range(n_points):
        case = cases[names[at % len(names)]]
        kind, place = at % 3, (at + 0.5) / n_points
        if kind == 2:
            victim = rng.choice([*AGENTS, "clinic", "all"])
            instants = tuple(rng.random() for _ in range(rng.choice([1, 1, 2, 3])))
            out.append(Point(case.name, victim, instants=instants))
        else:
            victim = "clinic" if kind == 0 else HELPERS[at // 3 % 2]
            out.append(Point(case.name, victim, step=1 + int(place * case.steps[victim])))
    return out
