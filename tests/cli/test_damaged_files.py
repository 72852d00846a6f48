"""A run with a damaged file: every command says so, or does what it would have done. Never a traceback, never silence.

``python -m tests.cli.damage`` tries every file, damage and command; here are some of them, others for every file.
"""

from __future__ import annotations

import random
import shutil

import pytest

from tests.cli.damage import COMMANDS, Case, cases, fault, finished, whole_of
from tests.cli.program import assistlearn

pytestmark = pytest.mark.usefixtures("forked_agents")

QUICK = ("show", "audit", "privacy")


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    return finished(tmp_path_factory.mktemp("damaged") / "agents")


def test_no_damage_is_met_with_a_traceback_or_in_silence(run):
    whole = {command: whole_of(run, command) for command in COMMANDS if command != "report"}
    every = [case for case in cases(run) if case.command in whole]
    chance = random.Random(17)
    tried = chance.sample([case for case in every if case.command in QUICK], 40)
    tried += chance.sample([case for case in every if case.command not in QUICK], 10)
    faults = {case: found for case in tried if (found := fault(run, case, whole[case.command]))}
    assert not faults


def test_files_of_a_run_that_has_lost_whose_it_is_are_not_called_forgotten(run, tmp_path):
    folder = shutil.copytree(run, tmp_path / "copy")
    (folder / "lab-models/runs/first/opened.json").unlink()
    said = assistlearn("forget", "--yes", folder / "run")
    assert said.code == 3
    assert "keeps files of run 'first', but opened.json, which says whose run it is, is lost" in " ".join(
        said.out.split()
    )
    assert (folder / "lab-models/runs/first/turns").exists()
    assert assistlearn("forget", "--yes", "first", "--agent", folder / "lab.toml").code == 0
    assert not (folder / "lab-models/runs/first").exists()
    assert assistlearn("forget", "--yes", folder / "run").code == 0


@pytest.mark.parametrize(
    ("file", "damage", "command"),
    [
        ("run/events.jsonl", "emptied", "privacy"),
        ("run/events.jsonl", "cut in half", "privacy"),
        ("run/turns/000002.msg", "removed", "privacy"),
        ("run/events.jsonl", "emptied", "report"),
        ("run/result.json", "removed", "report"),
    ],
)
def test_what_is_counted_or_shown_in_part_says_so(run, file, damage, command):
    assert fault(run, Case(file, damage, command), whole_of(run, command)) is None
