"""Hypothesis' profiles, agents that start at once, and one network for all tests that need a real one."""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import TYPE_CHECKING

import pytest
from hypothesis import settings

if TYPE_CHECKING:
    from tests.reach.organisations import Organisations

# No deadlines: the machines that run these tests are shared and noisy.
settings.register_profile("assistlearn", deadline=None, max_examples=60)
settings.register_profile("assistlearn-ci", settings.get_profile("assistlearn"), derandomize=True, database=None)
# The same examples in every run on CI, fresh ones elsewhere.
settings.load_profile("assistlearn-ci" if os.environ.get("CI") else "assistlearn")

STARTING = 240.0
"""Seconds that all sites have to connect; a quiet machine needs fifteen, one that does much else may need minutes."""


@pytest.fixture(scope="module")
def forked_agents() -> Iterator[None]:
    """Let agents' processes of a module's tests start at once (``tests.forked_agents``)."""
    from tests.forked_agents import forked

    with forked():
        yield


@pytest.fixture(scope="session")
def organisations(tmp_path_factory) -> Iterator[Organisations]:
    """Four sites and a relay, each in processes of their own."""
    from tests.reach.organisations import NAMES, Organisations

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
