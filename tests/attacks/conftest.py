"""One job, and one member that nobody allows anything, for all attacks over the network."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.reach.organisations import HELPERS, INITIATOR, STRANGER


@pytest.fixture(scope="package")
def job(organisations) -> Iterator[str]:
    """The number of a job that runs at every site."""
    from assistlearn.protocol import decode, encode
    from assistlearn.protocol import messages as m
    from assistlearn.reach.flare.carrying.flare_transport import FlareTransport
    from assistlearn.reach.flare.provisioning.kit import load_kit
    from tests.reach.organisations import PURPOSE

    organisations.small_tables()
    kits = load_kit(organisations.network.kit(INITIATOR)), load_kit(organisations.network.kit("admin"))
    opening = m.Open(run="attacked", initiator=INITIATOR, purpose=PURPOSE, alignment="hash", overlap="abstain")
    with FlareTransport(*kits, HELPERS) as carrier:
        for helper in HELPERS:
            assert isinstance(decode(carrier.ask(helper, encode(opening))), m.Opened)
        carrier_job = carrier._job
        assert carrier_job is not None
        yield carrier_job.number
        for helper in HELPERS:  # after all attacks the same job still answers
            assert isinstance(decode(carrier.ask(helper, encode(opening))), m.Opened)
        assert carrier._job is carrier_job


@pytest.fixture(scope="package")
def stranger(organisations) -> Iterator[object]:
    """A member that nobody allows anything."""
    from tests.attacks.attackers import Member

    member = Member(organisations.network.kit(STRANGER), STRANGER)
    try:
        member.register()
        yield member
    finally:
        member.close()
