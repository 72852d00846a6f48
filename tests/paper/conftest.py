"""Real data under a short name."""

from pathlib import Path

import pytest


@pytest.fixture(scope="session")
def data(data_folder: Path) -> Path:
    return data_folder
