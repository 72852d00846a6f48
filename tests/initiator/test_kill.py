"""A dozen points at which SIGKILL strikes real processes, in the way ``bench.kill`` tries two hundred."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from assistlearn.reach.created_from import Onward, create_from
from bench import kill
from bench.kill.attempts import Attempt, get_ready
from bench.kill.processes import Strike, predict, train
from tests.initiator.growing import Growing


def test_runs_that_are_killed_go_on_and_end_the_same():
    report = kill.kill_all(12, seed=1, names=("ascii", "soft", "auto", "labels"))
    assert report.failures == []
    assert report.kinds.total() == 12
    assert report.restarts >= 8  # every one of the points that are at a step, at least


# -- sIGKILL strikes real processes of a run that goes on from another; started again, it ends as if undisturbed


@pytest.fixture(scope="module")
def begun(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run that goes on from another and has not begun to train."""
    made = Growing(tmp_path_factory.mktemp("killed") / "begun")
    made.write(range(100))
    made.train(made.begin("first", method="ascii", combine=None, models_per_turn=None, reward=None, n_rounds=2))
    made.write(range(30, 150))
    create_from(made.folder / "run", "second", made.run("first"), Onward())
    get_ready()
    return made.folder


def outcome(case: Path, strike: Strike) -> dict[str, object]:
    """Return what came of a run: struck once, and started again."""
    struck = Attempt(train, case, strike).run()
    assert struck == (not strike.agent)
    assert struck or Attempt(train, case).run()
    assert Attempt(predict, case).run()
    found: dict[str, object] = json.loads((case / "outcome.json").read_text())
    return found


def test_killed_at_any_step_and_started_again_it_ends_the_same(begun, tmp_path):
    whole = shutil.copytree(begun, tmp_path / "whole")
    expected = outcome(whole, Strike())
    assert expected["n_turns"] > 4  # some taken again, some afresh
    for agent, place in (("clinic", 0.5), ("lab", 0.4)):  # amid turns that are taken again
        n_steps = json.loads((tmp_path / f"whole-steps-{agent}.json").read_text())
        case = shutil.copytree(begun, tmp_path / f"{agent}-{place}")
        assert outcome(case, Strike(agent, int(place * n_steps))) == expected, (agent, place)
