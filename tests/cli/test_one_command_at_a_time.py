"""Two commands in one run's folder: the second says who is there. A command that is killed lets go."""

from __future__ import annotations

import os
import signal
import subprocess
import sys

import pytest

from tests.cli.program import assistlearn
from tests.cli.test_trouble_with_agents import wait_until
from tests.initiator.digests import rewrite
from tests.papers_settings import PAPERS_OPTIONS

pytestmark = pytest.mark.usefixtures("forked_agents")

PROGRAM = [sys.executable, "-c", "from assistlearn.cli import main; main()"]


def test_a_second_command_in_a_run_s_folder_names_the_first_and_changes_nothing(agents):
    clinic, lab = agents[:2]
    run = clinic.parent / "run"
    options = ["--run", "long", "--out", str(run), "--rounds", "400", "--json", *PAPERS_OPTIONS]
    with subprocess.Popen([*PROGRAM, "simulate", str(clinic), str(lab), *options], stdout=subprocess.PIPE) as first:
        wait_until(lambda: len(list((run / "turns").glob("*.msg"))) >= 3 or first.poll() is not None)
        words = (f"{run} is in use by another command (assistlearn simulate, process {first.pid})", "type this one")
        assistlearn("simulate", "--resume", run).failed(2, *words)
        assistlearn("forget", "--yes", run).failed(2, *words)
        assert "is not finished" in assistlearn("show", run).out
        assert first.poll() is None, "the run has ended too early for this test: let it have more rounds"
        os.kill(first.pid, signal.SIGKILL)
    settings = (run / "settings.json").read_bytes()
    rewrite(run, "settings.json", settings.replace(b'"n_rounds": 400', b'"n_rounds": 4'))
    ended = assistlearn("simulate", "--resume", run, "--json")
    assert ended.code == 0, ended.err
    together = [
        subprocess.Popen([*PROGRAM, "predict", str(run), "--out", str(run.parent / f"{name}.csv"), "--json"])
        for name in ("one", "two")
    ]
    assert [process.wait(240) for process in together] == [0, 0]  # those who predict share the folder
    assert (run.parent / "one.csv").read_bytes() == (run.parent / "two.csv").read_bytes()
    assert assistlearn("forget", "--yes", run).code == 0
    assert not run.exists()


def test_of_two_commands_that_start_a_run_in_one_folder_one_is_refused(agents):
    run = agents[0].parent / "run"
    words = [*PROGRAM, "simulate", *map(str, agents[:2]), "--out", str(run), "--rounds", "1", "--json", *PAPERS_OPTIONS]
    both = [
        subprocess.Popen([*words, "--run", name], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        for name in ("one", "two")
    ]
    said = [process.communicate(timeout=240) for process in both]
    assert sorted(process.returncode for process in both) == [0, 2], said
    (refused,) = [out for (out, _), process in zip(said, both, strict=True) if process.returncode == 2]
    assert "holds a run already" in refused or "is in use by another" in refused  # whose name may come later
