"""Agents that refuse, cannot start, or have changed: who and why is said; runs can be started again or gone on with."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.cli.program import assistlearn
from tests.cli.small_agents import LABEL, SECRET, lines_of, toml
from tests.papers_settings import PAPERS_OPTIONS

pytestmark = pytest.mark.usefixtures("forked_agents")


def simulate(agents: list[Path], *options: object):
    return assistlearn(
        "simulate", *agents, "--run", "first", "--out", agents[0].parent / "run", *PAPERS_OPTIONS, *options
    )


def test_what_fails_before_training_leaves_nothing_behind_and_can_be_started_again(agents):
    """The lab uses another secret, then does not allow the clinic; when both are right, the same command trains."""
    folder, two = agents[0].parent, agents[:2]
    (folder / "other.key").write_text("another secret of theirs")
    two[1].write_text(toml("lab", 'secret = "other.key"\n'))
    simulate(two, "--rounds", 1).failed(3, "Agent 'lab': the initiator uses another shared secret", "start again")
    two[1].write_text(toml("lab", SECRET + '[allow]\ninitiators = ["hospital"]\nunknown = "refuse"\n'))
    refused = simulate(two, "--rounds", 1, "--json")
    assert refused.code == refused.json["exit_code"] == 3
    assert refused.json["error"] == "RefusedError"
    assert refused.json["message"] == "Agent 'lab' does not work for 'clinic', but for ['hospital']."
    assert "nothing of the run is kept" in refused.json["notes"][0]
    assert not (folder / "run").exists()
    assert not list(folder.glob("*-models/runs/*"))
    two[1].write_text(toml("lab", SECRET + '[allow]\ninitiators = ["clinic"]\n'))
    assert simulate(two, "--rounds", 1).code == 0


def test_an_agent_that_cannot_start_says_why(agents):
    (agents[1].parent / "lab.csv").unlink()
    said = simulate(agents[:2])
    said.failed(3, "Agent 'lab' cannot start: ", "lab.csv", "nothing of the run is kept")
    assert not (agents[0].parent / "run").exists()


def test_a_learner_of_ones_own_that_never_ends_is_given_up_and_the_run_goes_on_with_a_better_one(agents):
    clinic, lab = agents[:2]
    run = clinic.parent / "run"
    (clinic.parent / "endless.py").write_text(
        "import time\nfrom pathlib import Path\nfrom sklearn.tree import DecisionTreeClassifier\n\n"
        "class Endless(DecisionTreeClassifier):\n"
        "    def fit(self, X, y, sample_weight=None):\n"
        f"        while Path({str(clinic.parent / 'hang')!r}).exists():\n            time.sleep(0.05)\n"
        "        return super().fit(X, y, sample_weight)\n"
    )
    (clinic.parent / "hang").touch()
    clinic.write_text(toml("clinic", SECRET + LABEL, learner='"endless.Endless"'))
    begun = time.monotonic()
    said = simulate([clinic, lab], "--rounds", 1, "--timeout", 1)
    assert time.monotonic() - begun < 30
    said.failed(
        3, "Agent 'clinic', this organisation's own, has not answered for 1 seconds", f"The run is kept in {run}"
    )
    (clinic.parent / "hang").unlink()
    assert assistlearn("simulate", "--resume", run).code == 0


def test_ctrl_c_leaves_a_run_to_go_on_with_on_the_same_tables(agents):
    clinic, lab = agents[:2]
    run, table = clinic.parent / "run", clinic.parent / "lab.csv"
    interrupt_training([clinic, lab], run)
    shown = assistlearn("show", run)
    assert "is not finished" in shown.out
    assert f"assistlearn simulate --resume {run}" in shown.out
    assert assistlearn("show", run, "--json").json["finished"] is False
    assistlearn("predict", run).failed(2, "not finished", "--resume")

    rows = lines_of(table)
    table.write_text("\n".join([rows[0], *reversed(rows[1:])]) + "\n")
    changed = assistlearn("simulate", "--resume", run)
    changed.failed(3, "'lab'", "table has changed", f"The run is kept in {run}")
    table.write_text("\n".join(rows) + "\n")

    own = clinic.parent / "clinic.csv"
    kept = own.read_text()
    own.write_text(kept.replace("yes", "no", 1))
    assistlearn("simulate", "--resume", run).failed(2, f"The table of 'clinic' ({own}) has changed", "Bring the old")
    own.write_text(kept)

    before = assistlearn("show", run, "--json").json["turns"]
    ended = assistlearn("simulate", "--resume", run, "--json").json
    assert ended["finished"]
    assert ended["turns"] > before


def interrupt_training(agents: list[Path], run: Path) -> None:
    """Start a long run, press Ctrl-C when some turns are taken, and check what it says."""
    program = [sys.executable, "-c", "from assistlearn.cli import main; main()"]
    options = ["--run", "long", "--out", str(run), "--rounds", "60", "--json", *PAPERS_OPTIONS]
    with subprocess.Popen(
        [*program, "simulate", *map(str, agents), *options],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,  # a terminal of its own: Ctrl-C goes to the whole foreground group
    ) as process:
        wait_until(lambda: len(list((run / "turns").glob("*.msg"))) >= 3 or process.poll() is not None)
        os.killpg(process.pid, signal.SIGINT)
        out, err = process.communicate(timeout=240)
    assert process.returncode == 130
    assert out.count("\n") == 1
    assert '"error": "InterruptedRunError"' in out
    assert '"exit_code": 130' in out
    assert err.startswith("Error: Interrupted after ")
    assert f"Go on with it: assistlearn simulate --resume {run}" in err
    assert "Traceback" not in err


def wait_until(there, patience: float = 120.0) -> None:
    end = time.monotonic() + patience
    while not there():
        assert time.monotonic() < end
        time.sleep(0.01)


def test_an_initiator_needs_no_permission_of_its_own(agents):
    """An organisation may help others and ask for help under one file, whose [allow] is about the others."""
    agents[0].write_text(toml("clinic", SECRET + LABEL + '[allow]\ninitiators = ["hospital"]\nexpires = 2020-01-01\n'))
    assert simulate(agents[:2], "--rounds", 1).code == 0
