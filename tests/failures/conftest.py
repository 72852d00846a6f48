"""A network of three organisations on loopback, real processes, that tests break and repair."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import psutil
import pytest

from assistlearn.cli import run as assistlearn
from assistlearn.cli.network import PURPOSE, write_demo
from assistlearn.reach.flare.guard.processes import MODULE
from assistlearn.reach.flare.local import LocalNetwork

OWN_CODE = Path(__file__).parent / "own_code"
ROUNDS = 4


class World:
    """The network, and the run as it goes when nobody is disturbed."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.misbehave = folder / "misbehave"
        self.misbehave.mkdir()
        os.environ["MISBEHAVE"] = str(self.misbehave)
        os.environ["PYTHONPATH"] = os.pathsep.join(filter(None, (str(OWN_CODE), os.environ.get("PYTHONPATH"))))
        os.environ["OMP_NUM_THREADS"] = "1"
        self.task = write_demo(folder, ROUNDS)
        for name in ("lab", "scans"):
            self._give_own_learner(folder / "data" / f"{name}.toml")
        self.files = {name: folder / "data" / f"{name}.toml" for name in ("clinic", "lab", "scans")}
        self.network = LocalNetwork(folder, self.files)
        self.reference = self._undisturbed()
        self._runs = 0

    @staticmethod
    def _give_own_learner(file: Path) -> None:
        lines = file.read_text().splitlines()
        lines = [line for line in lines if not line.startswith(("max_iter", "max_depth"))]
        lines = ['kind = "slow_learner:tree"' if line.startswith("kind = ") else line for line in lines]
        lines = ["max_runs = 1000" if line.startswith("max_runs") else line for line in lines]
        file.write_text("\n".join(lines) + "\n")

    def _undisturbed(self) -> dict:
        """Return the result of the same run by ``simulate``, and the predictions."""
        out = self.folder / "reference"
        files = [str(file) for file in self.files.values()]
        options = ["--rounds", str(ROUNDS), "--method", "ascii", "--purpose", PURPOSE, "--run", "reference"]
        command = [sys.executable, "-m", "assistlearn"]
        subprocess.run([*command, "simulate", *files, *options, "--out", str(out)], check=True, capture_output=True)
        self.predict(out)
        return json.loads((out / "result.json").read_text())

    def predict(self, run: Path) -> bytes:
        """Return the predictions file of a run."""
        out = run.with_suffix(".csv")
        ids = self.folder / "data" / "new-patients.csv"
        assert assistlearn(["predict", str(run), "--ids", str(ids), "--out", str(out), "--force"]) == 0
        return out.read_bytes()

    # -- runs --

    def train(self, **settings: object) -> Training:
        """Start a run in a process of its own."""
        self._runs += 1
        name = f"run{self._runs}"
        keys = {"run": name, "give_up_after": 60} | settings
        lines = [f"{key} = {json.dumps(value)}" for key, value in keys.items()]
        task = self.folder / f"{name}.toml"
        text = self.task.read_text().replace('run = "demo"', "\n".join(lines))
        task.write_text(text)
        return Training(self, self.folder / name, ["train", str(task), "--out", str(self.folder / name)])

    def resume(self, training: Training) -> Training:
        """Go on with a run."""
        return Training(self, training.run, ["train", "--resume", str(training.run)])

    def predicting(self, training: Training) -> Training:
        """Start to predict with a run, in a process of its own."""
        ids = str(self.folder / "data" / "new-patients.csv")
        again = ["predict", str(training.run), "--ids", ids, "--out", str(training.run.with_suffix(".csv"))]
        training.run.with_suffix(".csv").unlink(missing_ok=True)
        asking = Training(self, training.run, again)
        asking.seen = asking.messages("lab", "align")
        return asking

    # -- processes --

    def jobs(self, name: str) -> list[psutil.Process]:
        """Return the processes of a site's jobs."""
        kinds = {"job", "relay-job"}
        found = []
        for process in psutil.Process(self.network.processes[name].pid).children(recursive=True):
            with contextlib.suppress(psutil.NoSuchProcess):  # gone in the meantime, or nearly so
                words = process.cmdline()
                if MODULE in words and kinds & set(words):
                    found.append(process)
        return found

    def kill_jobs(self, name: str) -> None:
        """Kill a site's job processes, as a machine short of memory does."""
        found = self.jobs(name)
        assert found, f"{name} has no job"
        for process in found:
            os.kill(process.pid, signal.SIGKILL)

    def kill_site(self, name: str) -> None:
        """Kill all processes of a site or of the relay, as a power cut does."""
        command = self.network.processes.pop(name)
        top = psutil.Process(command.pid)
        for process in [top, *top.children(recursive=True)]:
            with contextlib.suppress(psutil.NoSuchProcess):  # it died with its parent
                process.kill()
        command.wait(10)

    def repair(self) -> None:
        """Bring back what tests have broken."""
        for file in self.misbehave.iterdir():
            file.unlink()
        for name in ("relay", "clinic", "lab", "scans"):
            if name not in self.network.processes:
                self.network.start(name)
            for process in self.jobs(name):
                with contextlib.suppress(psutil.NoSuchProcess):
                    process.resume()
        self.network.wait()


class Training:
    """A command that runs, in a process of its own."""

    def __init__(self, world: World, run: Path, arguments: list[str]) -> None:
        self._world = world
        self.run = run
        self.seen = 0
        self.begun = time.monotonic()
        self.process = subprocess.Popen(
            [sys.executable, "-m", "assistlearn", *arguments],
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )

    def wait_until(self, reached: Callable[[], bool], what: str, seconds: float = 90.0) -> None:
        """Wait for something to happen while the command runs."""
        until = time.monotonic() + seconds
        while not reached():
            assert self.process.poll() is None, f"ended before {what}: {self.process.stdout.read()}"
            assert time.monotonic() < until, f"not {what} within {seconds} s"
            time.sleep(0.01)

    def wait_for_turns(self, number: int) -> None:
        """Wait until so many turns are taken."""
        self.wait_until(lambda: len(list((self.run / "turns").glob("*.msg"))) >= number, f"{number} turns taken")

    def messages(self, helper: str, type_: str) -> int:
        """Return how many messages of this type a helper has received in this run."""
        ledger = self._world.folder / "data" / f"{helper}-models" / "ledger.jsonl"
        wanted = (f'"run":"{self.run.name}"', f'"type":"{type_}"')
        lines = ledger.read_text().replace('": "', '":"').splitlines() if ledger.exists() else []
        return sum(all(word in line for word in wanted) for line in lines)

    def wait_for_message(self, helper: str, type_: str) -> None:
        """Wait until a helper has received another message of this type."""
        self.wait_until(lambda: self.messages(helper, type_) > self.seen, f"{type_} at {helper}")

    def predictions(self) -> bytes:
        return self.run.with_suffix(".csv").read_bytes()

    def end(self, seconds: float = 200.0) -> tuple[int, str]:
        """Return the command's exit code, and all that it said."""
        said, _ = self.process.communicate(timeout=seconds)
        return self.process.returncode, said

    def result(self) -> dict:
        return json.loads((self.run / "result.json").read_text())

    def check_same(self) -> None:
        """The run must have ended with the model of the undisturbed one, which predicts the same."""
        code, said = self.end()
        assert code == 0, said
        assert self.result()["contributions"] == self._world.reference["contributions"]
        assert self._world.predict(self.run) == (self._world.folder / "reference.csv").read_bytes()


@pytest.fixture(scope="session")
def _one_world(tmp_path_factory: pytest.TempPathFactory) -> Iterator[World]:
    before = dict(os.environ)
    world = World(tmp_path_factory.mktemp("world"))
    with world.network:
        yield world
        world.repair()
    os.environ.clear()
    os.environ.update(before)


@pytest.fixture
def world(_one_world: World) -> Iterator[World]:
    yield _one_world
    _one_world.repair()
