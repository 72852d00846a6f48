"""Over a real network the service answers what ``predict`` answers, and outlives the death of a helper's process."""

from __future__ import annotations

import time

import numpy as np
import psutil
import pytest

from assistlearn.alignment import Ids
from assistlearn.initiator.prediction import predict
from assistlearn.initiator.training import train
from assistlearn.reach.flare import reach_flare
from assistlearn.reach.opening import opened_run
from assistlearn.web.predictor import opened_predictor
from tests.reach.organisations import INITIATOR

pytestmark = pytest.mark.network

HELPERS = ["lab", "scans"]


def part_of(kit: str) -> psutil.Process:
    """The process that takes part in the youngest job for an organisation."""
    found = [each for each in psutil.process_iter(["cmdline", "create_time"]) if _takes_part(each, kit)]
    return max(found, key=lambda each: each.info["create_time"])


def _takes_part(process: psutil.Process, kit: str) -> bool:
    words = process.info["cmdline"] or []
    return "job" in words and any(kit in word for word in words)


@pytest.fixture
def trained(small, request):
    """A finished run, and what it says of five people."""
    name = f"served-{len(request.node.name)}"
    folder = reach_flare.create_run(small.folder / name, name, small.task(name, HELPERS, rounds=2, seed=3))
    with opened_run(folder, training=True) as (run, own):
        list(train(run))
        texts = own.table.ids.to_list()[:5]
        expected = predict(run, Ids(texts), np.arange(5)).probabilities.tolist()
    return folder.path, texts, expected


def test_a_service_over_a_network_answers_as_predict_does(trained):
    path, texts, expected = trained
    with opened_predictor(path) as predictor:
        assert [way.wait(120) for way in predictor.ways.values()] == ["", ""]
        together = predictor.submit(texts).result(60)
        alone = [predictor.submit([text]).result(60) for text in texts]
    assert list(together.known) == [INITIATOR, *HELPERS]
    assert together.probabilities.tolist() == expected
    assert [each.probabilities[0].tolist() for each in alone] == expected


@pytest.mark.slow
def test_answers_go_on_when_a_helpers_part_in_the_job_dies_and_it_comes_back(small, trained):
    path, texts, expected = trained
    with opened_predictor(path) as predictor:
        assert [way.wait(120) for way in predictor.ways.values()] == ["", ""]
        for text in texts:
            predictor.submit([text]).result(60)
        usual = predictor.ways["lab"].waited_for
        part_of(str(small.network.kit("lab"))).kill()
        begun, slowest, missed = time.monotonic(), 0.0, 0
        while time.monotonic() - begun < 120:
            asked = time.monotonic()
            said = predictor.submit(texts).result(60)
            slowest = max(slowest, time.monotonic() - asked)
            assert "scans" in said.known
            missed += "lab" not in said.known
            if missed and "lab" in said.known:
                break
            time.sleep(0.2)
    assert missed
    assert said.probabilities.tolist() == expected
    assert slowest < usual + 2.0
