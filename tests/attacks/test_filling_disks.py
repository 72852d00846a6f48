"""Disks that others would fill: what a job leaves at a site and at the relay is gone when the job is over."""

from __future__ import annotations

import time
from pathlib import Path

import pytest

pytest.importorskip("nvflare", reason="needs the extra [flare]")

from assistlearn.protocol import decode, encode
from assistlearn.protocol import messages as m
from assistlearn.reach.flare.carrying.flare_transport import FlareTransport
from assistlearn.reach.flare.provisioning.kit import load_kit
from assistlearn.reach.flare.site.job_folders import GRACE, _folders
from bench.disk import measure
from tests.attacks.attack import attack
from tests.reach.conftest import organisations
from tests.reach.organisations import HELPERS, INITIATOR, NAMES, PURPOSE, Organisations

pytestmark = pytest.mark.network
__all__ = ["organisations"]  # the fixture


def one_job(made: Organisations, run: str) -> None:
    """Start a job, ask one thing, and end it."""
    opening = m.Open(run=run, initiator=INITIATOR, purpose=PURPOSE, alignment="hash", overlap="abstain")
    kits = load_kit(made.network.kit(INITIATOR)), load_kit(made.network.kit("admin"))
    with FlareTransport(*kits, HELPERS) as carrier:
        assert isinstance(decode(carrier.ask(HELPERS[0], encode(opening))), m.Opened)


def left(made: Organisations) -> list[Path]:
    return [folder for name in ("relay", *NAMES) for folder in _folders(made.network.kit(name))]


def rest_when_all_is_swept(made: Organisations) -> int:
    """Wait until nothing is left of any job, and return the bytes of the kits, logs apart."""
    until = time.monotonic() + GRACE + 60
    while found := left(made):
        assert time.monotonic() < until, found
        time.sleep(0.5)
    return measure(made.folder / "kits")["rest"]


@attack(
    "initiator",
    "starts job after job, each of which leaves its folders at the sites and at the relay",
    "they are removed when the job is over: disks do not fill",
)
def test_jobs_leave_nothing_on_the_disks_of_sites_and_relay(organisations):
    one_job(organisations, "first")
    assert left(organisations)
    before = rest_when_all_is_swept(organisations)
    for run in ("second", "third"):
        one_job(organisations, run)
    assert abs(rest_when_all_is_swept(organisations) - before) < 1_000  # what a site says of itself is of many lengths
