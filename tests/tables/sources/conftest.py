"""Servers of tables, each once per process of tests, and agents whose tables they hold."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from bench.sources import servers
from tests.agent.conftest import write_agent

__all__ = ["write_agent"]


@pytest.fixture(scope="session")
def postgres_server() -> Iterator[servers.Postgres]:
    if servers.postgres_programs() is None:
        pytest.skip(servers.NO_POSTGRES)
    with servers.postgres() as server:
        yield server


@pytest.fixture
def postgres(postgres_server: servers.Postgres, monkeypatch: pytest.MonkeyPatch) -> str:
    """Return the URL of a database, whose password the environment has."""
    for name in [name for name in os.environ if name.startswith("PG")]:
        monkeypatch.delenv(name)
    monkeypatch.setenv("PGPASSWORD", servers.PASSWORD)
    return postgres_server.url


@pytest.fixture(scope="session")
def s3_server() -> Iterator[dict[str, str]]:
    with servers.s3() as environment:
        yield environment


@pytest.fixture
def s3(s3_server: dict[str, str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> dict[str, str]:
    """Set the environment by which the S3 server is found."""
    for name in [name for name in os.environ if name.startswith("AWS_")]:
        monkeypatch.delenv(name)
    monkeypatch.setenv("HOME", str(tmp_path))
    for name, value in s3_server.items():
        monkeypatch.setenv(name, value)
    return s3_server
