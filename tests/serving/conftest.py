"""One run that is served, for all tests here that leave it as it is."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.forked_agents import forked
from tests.serving.served_run import Served, served, trained


@pytest.fixture(scope="package")
def service(tmp_path_factory) -> Iterator[Served]:
    """A service of three agents."""
    with forked(), served(trained(tmp_path_factory.mktemp("served"))) as made:
        yield made
