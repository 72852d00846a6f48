"""Over a real network the service answers what ``predict`` answers, and outlives the death of a helper's process."""

from __future__ import annotations

import time

import numpy as np
import psutil
import pytest

from assistlearn.alignment import Ids
from assistlearn.reach.flare import reach_flare
from assistlearn.reach.opening import opened_run
from assistlearn.runs.prediction import predict
from assistlearn.runs.training import train
from assistlearn.web.serving.opened_predictor import opened_predictor
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


def test_a_service_over_a_network_answers_as_predict_does_and_outlives_a_helpers_process(small):
    task = small.task("served", HELPERS, rounds=2, seed=3)
    folder = reach_flare.create_run(small.folder / "served", "served", task)
    with opened_run(folder, training=True) as (run, own):
        list(train(run))
        texts = own.table.ids.to_list()[:5]
        expected = predict(run, Ids(texts), np.arange(5))
    with opened_predictor(folder.path) as predictor:
        assert [way.wait(120) for way in predictor.ways.values()] == ["", ""]
        said = predictor.submit(texts).result(60)
        assert said.probabilities.tolist() == expected.probabilities.tolist()
        assert list(said.known) == [INITIATOR, *HELPERS]
        for text in texts:
            predictor.submit([text]).result(60)
        part_of(str(small.network.kit("lab"))).kill()
        begun, slowest = time.monotonic(), 0.0
        while time.monotonic() - begun < 120:
            asked = time.monotonic()
            said = predictor.submit(texts).result(60)
            slowest = max(slowest, time.monotonic() - asked)
            assert "scans" in said.known
            if "lab" in said.known and time.monotonic() - begun > 3:
                break
            time.sleep(0.2)
        assert said.probabilities.tolist() == expected.probabilities.tolist()
        assert slowest < 3.0
