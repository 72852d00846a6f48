"""Agents' files and tables for one test, and the folder of real data."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import polars as pl
import pytest

ROOT = Path(__file__).resolve().parents[2]

WriteAgent = Callable[..., Path]


@pytest.fixture
def write_agent(tmp_path: Path) -> WriteAgent:
    """Write ``lab.toml`` and its table; keywords replace lines of the file (None leaves one out), ``more`` follows."""

    def write(content: str | pl.DataFrame | None = None, more: str = "", /, **lines: str | None) -> Path:
        if isinstance(content, str):
            (tmp_path / "lab.csv").write_text(content, encoding="utf-8")
        elif content is not None:
            content.write_parquet(tmp_path / "lab.parquet")
            lines.setdefault("table", '"lab.parquet"')
        defaults = {
            "name": '"lab"',
            "table": '"lab.csv"',
            "id": '"id"',
            "learner": '"sklearn.tree.DecisionTreeClassifier"',
        }
        said = {key: value for key, value in {**defaults, **lines}.items() if value is not None}
        text = "".join(f"{key} = {value}\n" for key, value in said.items())
        path = tmp_path / "lab.toml"
        path.write_text(text + more, encoding="utf-8")
        return path

    return write


@pytest.fixture(scope="session")
def fate() -> Path:
    """Return the folder with FATE's guest and host files."""
    given = os.environ.get("ASSISTLEARN_DATA")
    folder = (Path(given) if given else ROOT.parent / "shared" / "data") / "fate_hetero"
    if not folder.is_dir():
        pytest.skip(f"FATE's files are not here: set ASSISTLEARN_DATA to the folder above {folder.name}")
    return folder
