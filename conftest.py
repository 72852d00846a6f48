"""Where tests and examples find real data: ``ASSISTLEARN_DATA``, else ``../shared/data`` beside the project."""

import os
from pathlib import Path

import pytest

os.fsync = lambda descriptor: None  # no power is cut here; tests would wait for disks half of their time
REASON = "no real data: set ASSISTLEARN_DATA to a data folder (see paper/datasets/README.md)"


def _folder() -> Path | None:
    """Return the data folder, or None where there is none."""
    named = os.environ.get("ASSISTLEARN_DATA")
    folder = Path(named) if named else Path(__file__).parent.parent / "shared" / "data"
    return folder.resolve() if folder.is_dir() else None


@pytest.fixture(scope="session")
def data_folder() -> Path:
    """Return the folder of real data; skip the test where there is none."""
    folder = _folder()
    if folder is None:
        pytest.skip(REASON)
    return folder


@pytest.fixture(autouse=True)
def _data_for_examples(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Let the examples of functions that read ``ASSISTLEARN_DATA`` find real data, or skip them."""
    example = getattr(request.node, "dtest", None)
    if example is not None and "ASSISTLEARN_DATA" in (example.docstring or ""):
        folder = _folder()
        if folder is None:
            pytest.skip(REASON)
        monkeypatch.setenv("ASSISTLEARN_DATA", str(folder))
