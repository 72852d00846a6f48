"""A page stays small and quick, also of a long run (``bench/report.py`` measures it in a process of its own)."""

from __future__ import annotations

import os
import time

import pytest

from assistlearn.pages.pictures import drawn
from assistlearn.pages.run_page import run_page
from assistlearn.pages.run_story import view_of
from bench.report import MOST_BYTES, MOST_SECONDS, long_run


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(os, "fsync", lambda _: None)  # no machine is going to fail here
        return long_run(tmp_path_factory.mktemp("long"), n_rounds=50, n_agents=5, n_samples=90)


def test_a_page_of_50_rounds_and_5_agents_is_small_and_made_in_seconds(run):
    for name in ("rounds", "shares", "weights", "reliability", "confusion", "exchanged", "matched", "seconds"):
        getattr(drawn, name).cache_clear()
    begun = time.process_time()
    page = run_page(view_of(run))
    assert time.process_time() - begun < MOST_SECONDS
    assert page.count("<tr>") > 100  # 50 rounds of accuracies and of weights are there
    assert len(page.encode()) < MOST_BYTES


def test_a_picture_is_drawn_once_for_the_same_figures(run):
    run_page(view_of(run))
    before = drawn.weights.cache_info().misses
    run_page(view_of(run))
    assert drawn.weights.cache_info().misses == before
