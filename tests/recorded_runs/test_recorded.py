"""Runs have the outcomes that were written down: to the bit on a machine like the one that recorded them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.recorded_runs.cases import ESTIMATORS, SIMULATIONS
from tests.recorded_runs.record import differences, machine, of_estimator, of_simulation

OUTCOMES = json.loads(Path(__file__).with_name("outcomes.json").read_text())
TO_THE_BIT = machine() == OUTCOMES["machine"]
"""Elsewhere the last bits may differ, and so do the digests; the rest must be the same."""


def compared(outcome: dict[str, Any]) -> dict[str, Any]:
    """Return what can be compared here."""
    plain: dict[str, Any] = json.loads(json.dumps(outcome))
    if not TO_THE_BIT:
        plain.pop("digests")
        plain["contributions"] = [[_rounded(part) for part in made] for made in plain["contributions"]]
        plain["holdout"] = [_rounded(score) for score in plain["holdout"]]
    return plain


def _rounded(value: Any) -> Any:
    return float(f"{float.fromhex(value):.9g}") if isinstance(value, str) and "0x" in value else value


@pytest.mark.parametrize("name", ESTIMATORS)
def test_estimators_have_the_recorded_outcomes(name):
    assert list(differences(compared(OUTCOMES["estimators"][name]), compared(of_estimator(name)))) == []


@pytest.mark.slow
@pytest.mark.usefixtures("forked_agents")
@pytest.mark.parametrize("name", SIMULATIONS)
def test_runs_in_processes_have_the_recorded_outcomes_and_messages(name, tmp_path):
    """Those over FLARE, too: ``python -m tests.recorded_runs.record --flare --against FILE``."""
    found = of_simulation(name, tmp_path)
    assert list(differences(compared(OUTCOMES["simulations"][name]), compared(found))) == []
