"""One network for all tests that need a real one: a relay and four sites, each in processes of their own."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.reach.organisations import NAMES, Organisations

STARTING = 240.0
"""Seconds that all sites have to connect; a quiet machine needs fifteen, one that does much else may need minutes."""


@pytest.fixture(scope="package")
def organisations(tmp_path_factory) -> Iterator[Organisations]:
    made = Organisations(tmp_path_factory.mktemp("organisations"))
    try:
        for name in ("relay", *NAMES):
            made.network.start(name)
        made.network.wait(STARTING)
        yield made
    finally:
        made.network.__exit__(None, None, None)


@pytest.fixture
def small(organisations) -> Organisations:
    """The same, with the small tables that it has at first."""
    organisations.small_tables()
    return organisations
