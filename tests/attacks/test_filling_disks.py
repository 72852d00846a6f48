"""Disks that others would fill: what a job leaves at a site and at the relay is gone when the job is over."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path

import pytest

pytest.importorskip("nvflare", reason="needs the extra [flare]")

from bench.disk import growth, many_runs
from tests.attacks.attack import attack

pytestmark = [pytest.mark.network, pytest.mark.slow]


@pytest.fixture
def folder(monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with a short path, in which temporary files are, too; both settings are as before afterwards."""
    monkeypatch.setenv("TMPDIR", tempfile.gettempdir())
    monkeypatch.setattr(tempfile, "tempdir", tempfile.gettempdir())
    with tempfile.TemporaryDirectory() as made:
        yield Path(made)


@attack(
    "initiator",
    "starts job after job, each of which leaves its folders at the sites and at the relay",
    "they are removed when the job is over: the disks do not fill",
)
def test_runs_leave_ledgers_and_models_and_logs_up_to_their_limit_and_nothing_else(folder):
    found = many_runs(folder, 2)
    grown = growth(found)
    assert min(grown["ledgers"], grown["models"], grown["logs"]) > 1_000
    assert grown["rest"] < 15_000  # folders that were made with the first job, and stay; what a site says of itself
    assert found["temporary"] == []
    assert os.environ["TMPDIR"] == str(folder / "tmp")
