"""A disk that is full in the middle of a run: the file and the remedy are named, nothing is lost, and it goes on."""

from __future__ import annotations

import json
import os
import resource
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.cli.program import assistlearn
from tests.cli.small_agents import SECRET, toml, write_agents
from tests.papers_settings import PAPERS_OPTIONS

pytestmark = pytest.mark.usefixtures("forked_agents")

ROUNDS = 6
OPTIONS = ["--rounds", str(ROUNDS), *PAPERS_OPTIONS]
PROGRAM = [sys.executable, "-c", "from assistlearn.cli import main; main()"]


@contextmanager
def disk(folder: Path, kilobytes: int) -> Iterator[Path]:
    """A disk of this size, which can be made larger; needs the rights to mount one."""
    folder.mkdir()
    small = ["mount", "-t", "tmpfs", "-o", f"size={kilobytes}k", "tmpfs", str(folder)]
    if os.geteuid() or subprocess.run(small, capture_output=True, check=False).returncode:
        pytest.skip("only root can mount a small disk")
    try:
        yield folder
    finally:
        subprocess.run(["umount", "-l", str(folder)], check=True)


def enlarge(folder: Path) -> None:
    subprocess.run(["mount", "-o", "remount,size=64m", str(folder)], check=True)


@pytest.fixture(scope="module")
def whole(tmp_path_factory) -> tuple[Path, list]:
    """A run whose disks have room: its folder, and its contributions."""
    folder = tmp_path_factory.mktemp("whole")
    agents = write_agents(folder)[:2]
    said = assistlearn("simulate", *agents, "--run", "first", "--out", folder / "run", *OPTIONS, "--json")
    return folder, said.json["result"]["contributions"]


def start(agents: list[Path], run: Path, whole: Path, models: str = "clinic-models"):
    """Train two agents, with the same order of class codes."""
    home = agents[0].parent / models
    home.mkdir(exist_ok=True)
    shutil.copy(whole / "clinic-models" / "class-order.key", home)
    return assistlearn("simulate", *agents, "--run", "first", "--out", run, *OPTIONS)


def test_a_full_disk_of_the_run_s_folder(tmp_path, whole):
    agents = write_agents(tmp_path)[:2]
    with disk(tmp_path / "small", 48) as small:
        run = small / "run"
        words = (f"{run}/turns/", "cannot be written: No space left on device. Make room", f"--resume {run}")
        start(agents, run, whole[0]).failed(2, *words)
        enlarge(small)
        ended = assistlearn("simulate", "--resume", run, "--json")
        assert ended.json["result"]["contributions"] == whole[1]
        subprocess.run(["mount", "-o", "remount,size=128k", str(small)], check=True)
        subprocess.run(["dd", "if=/dev/zero", f"of={small / 'filler'}"], capture_output=True, check=False)
        out = small / "votes.csv"
        assistlearn("predict", run, "--out", out).failed(2, f"{out} cannot be written: ", "No space left")


@pytest.mark.parametrize(("whose", "words"), [("clinic", "small/models/"), ("lab", "Agent 'lab' cannot write")])
def test_a_full_disk_of_an_agent_s_models(tmp_path, whole, whose, words):
    agents = write_agents(tmp_path)[:2]
    file = agents[whose == "lab"]
    label = 'label = "ill"\n' if whose == "clinic" else ""
    file.write_text(toml(whose, SECRET + 'models = "small/models"\n' + label))
    with disk(tmp_path / "small", 100):
        run = tmp_path / "run"
        full = start(agents, run, whole[0], "small/models" if whose == "clinic" else "clinic-models")
        assert full.code in (2, 3), full.err
        for word in (words, "No space left on device", f"--resume {run}"):
            assert word in full.err
        enlarge(tmp_path / "small")
        ended = assistlearn("simulate", "--resume", run, "--json")
        assert ended.json["result"]["contributions"] == whole[1]
        subprocess.run(["dd", "if=/dev/zero", f"of={tmp_path / 'small' / 'filler'}"], capture_output=True, check=False)
        votes = [assistlearn("predict", run, "--out", tmp_path / f"votes{n}.csv") for n in range(20)]
        refused = next(said for said in votes if said.code)  # the ledger has a little room in its last block
        where = "small/models/ledger.jsonl" if whose == "clinic" else "Agent 'lab' cannot write its ledger"
        for word in (where, "No space left on device"):
            assert word in " ".join((refused.out + refused.err).split())


def test_a_limit_on_the_size_of_files_does_the_same(tmp_path, whole):
    """Without the rights to mount a disk: no file may have more than 12,000 bytes. A ledger reaches that first."""
    agents = write_agents(tmp_path)[:2]
    run = tmp_path / "run"
    (tmp_path / "clinic-models").mkdir()
    shutil.copy(whole[0] / "clinic-models" / "class-order.key", tmp_path / "clinic-models")
    words = ["simulate", *map(str, agents), "--run", "first", "--out", str(run), *OPTIONS, "--json"]
    done = subprocess.run(
        [*PROGRAM, *words],
        capture_output=True,
        text=True,
        check=False,
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (12_000, resource.RLIM_INFINITY)),
    )
    said = json.loads(done.stdout)
    assert done.returncode in (2, 3), said
    assert "told-labels.sqlite cannot be written: disk I/O error" in said["message"]
    assert "go on" in said["message"]
    assert f"--resume {run}" in said["notes"][0]
    ended = assistlearn("simulate", "--resume", run, "--json")
    assert ended.json["result"]["contributions"] == whole[1]
