"""A run with a damaged file: every command says so, or does what it would have done. Never a traceback, never silence.

``python -m tests.cli.damage`` tries every file, damage and command; here are some of them, others for every file.
"""

from __future__ import annotations

import random

import pytest

from tests.cli.damage import COMMANDS, cases, fault, finished, whole_of

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
