"""Kill real processes in the middle of real runs, start again, and compare what comes out, bit for bit.

    python -m bench.kill [--points 200] [--seed 0] [--executables 8] [--json]

Three agents with tables and files of their own are trained and asked to predict, each in its own process, by the code
that ``assistlearn simulate`` and ``predict`` run. A point is one such run in which SIGKILL strikes

- the initiator at one of its steps in the file system (every file that is opened for writing, renamed or removed, every
  folder made, every lock taken is a step; the points are spread over all of them),
- a helper at one of its steps,
- or, from outside and at a random instant, the initiator, a helper, or all of them, up to three times in a row.

Then the run is started again. Its contributions, with their weights, and its scores must be those of a run that nobody
disturbed, and every ledger must be whole.

To save the seconds that Python needs to import scikit-learn, processes are forked from one that has imported everything
and done nothing; ``--executables`` points start the command line itself instead.
"""

from __future__ import annotations

import argparse
import ctypes
import hashlib
import json
import multiprocessing
import os
import random
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Self

import numpy as np
from rich.console import Console
from rich.progress import track
from rich.table import Table
from sklearn.datasets import load_wine

from assistlearn.alignment import Ids
from assistlearn.errors import AssistLearnError, UnreachableError
from assistlearn.events import EventLog
from assistlearn.plan import Plan
from assistlearn.protocol.ledger import verify
from assistlearn.reach import opening, register
from assistlearn.reach.processes import agent_process
from assistlearn.reach.processes.process_transport import receive, send
from assistlearn.reach.processes.reach_processes import Processes, create_run
from assistlearn.runs import prediction
from assistlearn.runs.folder import RunFolder
from assistlearn.runs.settings import RunSettings

HELPERS = ("lab", "scans")
AGENTS = ("clinic", *HELPERS)
PATIENCE = 120
"""Seconds after which an attempt counts as hanging."""

ATTEMPTS = 8
"""Starts after which a run that is no longer disturbed must have ended."""

LEARNERS = {
    "clinic": ("sklearn.tree.DecisionTreeClassifier", "max_depth = 2"),
    "lab": ("sklearn.naive_bayes.GaussianNB", ""),
    "scans": ("sklearn.ensemble.RandomForestClassifier", "n_estimators = 3\nmax_depth = 2"),
}
COLUMNS = {"clinic": range(0, 4), "lab": range(4, 8), "scans": range(8, 13)}
PLANS = {
    "ascii": Plan(method="ascii", n_rounds=3, seed=1),
    "soft": Plan(method="soft", n_rounds=3, seed=2, holdout=0.2, patience=2),
    "random": Plan(method="simple", n_rounds=3, seed=3, order="random", overlap="intersection"),
    "auto": Plan(method="ascii", n_rounds=3, seed=4, reward="auto", cv=3, holdout=0.2, patience=2),
    "ensemble": Plan(method="ensemble", n_rounds=3, seed=5, alignment="psi"),
}


# -- the agents and their run --


def write_agents(folder: Path) -> list[Path]:
    """Write three tables over the same wines, files that describe their agents, and a shared secret."""
    X, y = load_wine(return_X_y=True)
    rng = np.random.default_rng(0)
    folder.mkdir(parents=True)
    (folder / "shared.key").write_text("4f" * 32)
    for name in AGENTS:
        rows = np.arange(len(X)) if name == "clinic" else rng.permutation(len(X))[:-20]
        features = [[f"{X[i, j]:.6g}" for j in COLUMNS[name]] for i in rows]
        lines = [["bottle", *(f"x{j}" for j in COLUMNS[name]), *(["sort"] if name == "clinic" else [])]]
        lines += [
            [f"b-{i:03d}", *values, *([f"sort {y[i]}"] if name == "clinic" else [])]
            for i, values in zip(rows, features, strict=True)
        ]
        (folder / f"{name}.csv").write_text("".join(",".join(line) + "\n" for line in lines))
        kind, parameters = LEARNERS[name]
        label = 'label = "sort"\n' if name == "clinic" else ""
        (folder / f"{name}.toml").write_text(
            f'name = "{name}"\ntable = "{name}.csv"\nid = "bottle"\n{label}secret = "shared.key"\n'
            f'[learner]\nkind = "{kind}"\n[learner.parameters]\n{parameters}\n'
        )
    return [folder / f"{name}.toml" for name in AGENTS]


@dataclass(frozen=True)
class Case:
    """A run that has been created and not begun, and what it must end with."""

    name: str
    template: Path
    outcome: dict[str, Any]
    steps: dict[str, int]
    seconds: float

    def copy(self, folder: Path) -> Path:
        """Return a fresh copy of the run, agents and all."""
        shutil.copytree(self.template, folder)
        _set_files(folder)
        return folder

    def restore(self, folder: Path) -> None:
        """Start the run again under its name where a failure before its samples were settled has removed it."""
        if not RunFolder(folder / "run").exists:
            shutil.copytree(self.template / "run", folder / "run", dirs_exist_ok=True)
            _set_files(folder)


def _set_files(folder: Path) -> None:
    path = folder / "run" / "settings.json"
    settings = json.loads(path.read_text())
    settings["files"] = {name: str(folder / f"{name}.toml") for name in AGENTS}
    path.write_text(json.dumps(settings))


# -- the processes --


@dataclass(frozen=True)
class Strike:
    """Who is to be killed at which of its steps in the file system; nobody by default."""

    agent: str = ""
    step: int = 0


class Steps:
    """Counts this process's steps in the file system below a folder, and kills it before one of them."""

    WRITING = os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_APPEND
    CHANGES = frozenset(
        {"os.rename", "os.remove", "os.mkdir", "os.rmdir", "os.truncate", "shutil.rmtree", "fcntl.flock"}
    )

    def __init__(self, folder: Path, fatal: int) -> None:
        self.count = 0
        self._folder = str(folder)
        self._fatal = fatal
        sys.addaudithook(self._hook)

    def _hook(self, event: str, arguments: tuple[Any, ...]) -> None:
        if event == "open":
            path, _, flags = arguments
            if not (isinstance(flags, int) and flags & self.WRITING and str(path).startswith(self._folder)):
                return
        elif event not in self.CHANGES:
            return
        self.count += 1
        if self.count == self._fatal:
            os.kill(os.getpid(), signal.SIGKILL)


class ForkTransport:
    """As ``ProcessTransport``, but an agent's process is forked from this one instead of started anew."""

    def __init__(self, files: Mapping[str, Path], case: Path, strike: Strike) -> None:
        self._files = files
        self._case = case
        self._strike = strike
        self._lines: dict[str, socket.socket] = {}
        self._pids: dict[str, int] = {}

    def __enter__(self) -> Self:
        for agent, file in self._files.items():
            ours, theirs = socket.socketpair()
            pid = os.fork()
            if pid == 0:
                code = 1
                try:
                    ours.close()
                    for line in self._lines.values():
                        line.close()
                    code = _answer(agent, file, theirs, self._case, self._strike)
                finally:
                    os._exit(code)  # whatever happens, this process is not the initiator's
            theirs.close()
            ours.settimeout(PATIENCE)
            self._lines[agent], self._pids[agent] = ours, pid
        _write(self._case / "pids.json", self._pids)
        return self

    def __exit__(self, *_: Any) -> None:
        for agent, line in self._lines.items():
            line.close()
            os.waitpid(self._pids[agent], 0)

    def ask(self, agent: str, request: bytes) -> bytes:
        """Return the agent's reply."""
        try:
            send(self._lines[agent], request)
            reply = receive(self._lines[agent])
        except OSError:
            reply = None
        if reply is None:
            raise UnreachableError(f"Agent {agent!r}: its process has ended.")
        return reply


@dataclass(frozen=True)
class Forks(Processes):
    """Reaches agents as ``Processes`` does, but by forks, one of which may be struck."""

    case: Path
    strike: Strike

    def opened(self, settings: RunSettings, log: EventLog, timeout: float) -> ForkTransport:
        """Return a transport whose processes run while it is open."""
        files = {name: Path(settings.files[name]) for name in settings.helpers}
        return ForkTransport(files, self.case, self.strike)


def _answer(agent: str, file: Path, line: socket.socket, case: Path, strike: Strike) -> int:
    """Be an agent's process: count its steps, then do what ``agent_process`` does."""
    steps = Steps(case, strike.step if strike.agent == agent else 0)
    code = agent_process.main(str(file), str(line.detach()))
    counted = case.parent / f"{case.name}-steps-{agent}.json"
    if not counted.exists():  # the first time is training, the second prediction
        _write(counted, steps.count)
    return code


def train(case: Path, strike: Strike) -> None:
    """Be the initiator's process: go on with the run to its end."""
    steps = _become_initiator(case, strike)
    folder = RunFolder(case / "run")
    if folder.result() is None:
        for _ in opening.train(folder):
            pass
    _write(case.parent / f"{case.name}-steps-clinic.json", steps.count)


def predict(case: Path, strike: Strike) -> None:
    """Be the initiator's process: predict all samples, and write down what came out."""
    _become_initiator(case, strike)
    folder = RunFolder(case / "run")
    with opening.opened_run(folder, training=False) as (run, own):
        found = prediction.predict(run, Ids(own.table.ids, "all"), np.arange(len(own.table)))
    if found.absent:
        raise UnreachableError(str(found.absent))
    _write(case / "outcome.json", _outcome(folder, found.scores))


def _become_initiator(case: Path, strike: Strike) -> Steps:
    ctypes.CDLL(None).prctl(1, signal.SIGKILL)  # PR_SET_PDEATHSIG: do not outlive an interrupted benchmark
    register("processes", lambda: Forks(case, strike))
    return Steps(case, strike.step if strike.agent == "clinic" else 0)


def _outcome(folder: RunFolder, scores: np.ndarray[Any, Any]) -> dict[str, Any]:
    result = folder.result() or {}
    contributions = [
        contribution | {"model_weight": contribution["model_weight"].hex()} for contribution in result["contributions"]
    ]
    facts = {name: result[name] for name in ("stop_reason", "n_rounds", "n_turns")}
    return facts | {"contributions": contributions, "scores": hashlib.sha256(scores.tobytes()).hexdigest()}


def _write(path: Path, content: Any) -> None:
    fresh = path.with_suffix(".fresh")
    fresh.write_text(json.dumps(content))
    fresh.rename(path)


# -- one run, disturbed or not --

_FORKS = multiprocessing.get_context("forkserver")
_FORKS.set_forkserver_preload(
    [
        "bench.kill",
        "sklearn.tree",
        "sklearn.naive_bayes",
        "sklearn.ensemble",
        "skops.io",
        "assistlearn.alignment.cipher",
    ]
)


@dataclass
class Attempt:
    """One start of the initiator's process, which ends by itself or is killed from outside after a while."""

    work: Callable[[Path, Strike], None]
    case: Path
    strike: Strike = Strike()
    victim: str = ""
    delay: float = 0.0

    def run(self) -> bool:
        """Return whether the work was done."""
        process = _FORKS.Process(target=_quietly, args=(self.work.__name__, self.case, self.strike))
        process.start()
        if self.victim:
            process.join(self.delay)
            self._strike(process.pid or 0)
        process.join(PATIENCE)
        if process.is_alive():
            process.kill()
            raise TimeoutError(f"{self.work.__name__} in {self.case} has not ended for {PATIENCE} seconds")
        return process.exitcode == 0

    def _strike(self, initiator: int) -> None:
        pids = self.case / "pids.json"
        helpers = json.loads(pids.read_text()) if pids.exists() else {}
        victims = {"clinic": [initiator], "all": [initiator, *helpers.values()]}.get(self.victim)
        for pid in victims or [helpers.get(self.victim, 0)]:
            if pid and (
                pid == initiator or _parent(pid) == initiator
            ):  # none that has ended and whose number is reused
                with suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGKILL)


def _parent(pid: int) -> int:
    try:
        return int(Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[1])
    except (FileNotFoundError, ProcessLookupError):
        return 0


def _quietly(work: str, case: Path, strike: Strike) -> None:
    """Do one of the two kinds of work; an error of ours is what a user would see, and start again after."""
    from bench import kill

    try:
        getattr(kill, work)(case, strike)
    except AssistLearnError as error:
        (case.parent / f"{case.name}-errors.txt").open("a").write(f"{work}: {error}\n")
        sys.exit(3)


def undisturbed(name: str, folder: Path) -> Case:
    """Create a run and return it with what it ends with when nobody disturbs it."""
    template = folder / f"template-{name}"
    files = write_agents(template)
    create_run(template / "run", "kill", files, PLANS[name])
    case = folder / f"whole-{name}"
    shutil.copytree(template, case)
    _set_files(case)
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
            strike = strikes.pop() if strikes else Strike()
            victim, delay = (point.victim, delays.pop(0)) if delays else ("", 0.0)
            starts += 1
            if Attempt(work, place, strike, victim, delay).run():
                break
        else:
            return starts - 2, f"{work.__name__} did not end in {ATTEMPTS} attempts: {_errors(place)}"
    wrong = _difference(place, case)
    if point.step and starts == 2:
        wrong = "nobody was killed"
    if not wrong:
        shutil.rmtree(place)
    return starts - 2, wrong


def _difference(place: Path, case: Case) -> str:
    """Return in what a run differs from the one that nobody disturbed, or nothing."""
    outcome = json.loads((place / "outcome.json").read_text())
    different = [name for name in outcome if outcome[name] != case.outcome[name]]
    if different:
        return f"{', '.join(different)} differ: {_errors(place)}"
    for agent in AGENTS:
        try:
            verify(place / f"{agent}-models" / "ledger.jsonl")
        except AssistLearnError as error:
            return str(error)
    return ""


def _errors(place: Path) -> str:
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


# -- the command line itself --


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
        helpers = [pid for pid in map(int, filter(str.isdigit, os.listdir("/proc"))) if _parent(pid) == process.pid]
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
        return f"predict failed: {_errors(place)}"
    return _difference(place, case)


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
        _get_ready()
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


def _get_ready() -> None:
    """Start the process that all others are forked from; it imports this file, so it must know where it is."""
    before = os.environ.get("PYTHONPATH")
    os.environ["PYTHONPATH"] = os.pathsep.join([str(Path(__file__).parents[1]), *([before] if before else [])])
    try:
        process = _FORKS.Process(target=int)
        process.start()
        process.join()
    finally:
        os.environ.pop("PYTHONPATH")
        if before:
            os.environ["PYTHONPATH"] = before


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--points", type=int, default=200)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--executables", type=int, default=8, help="how many of the points start the command line")
    parser.add_argument("--json", action="store_true")
    arguments = parser.parse_args()
    report = kill_all(arguments.points, arguments.seed, arguments.executables, progress=not arguments.json)
    if arguments.json:
        print(json.dumps(asdict(report)))
    else:
        console = Console()
        table = Table(title=f"{report.kinds.total()} points, {len(report.failures)} with another outcome")
        table.add_column("killed at")
        table.add_column("points", justify="right")
        for kind, count in sorted(report.kinds.items()):
            table.add_row(kind, str(count))
        console.print(table)
        console.print(f"{report.restarts} restarts, {report.seconds:.0f} s")
        for failure in report.failures:
            console.print_json(data=failure)
    return 1 if report.failures else 0


if __name__ == "__main__":
    from bench import kill  # the forked processes know these classes by this name

    sys.exit(kill.main())
