"""Small agents in a temporary folder."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.cli.small_agents import write_agents


@pytest.fixture
def agents(tmp_path: Path) -> list[Path]:
    """Return the files of a clinic (the initiator), a lab and a scanner."""
    return write_agents(tmp_path)
