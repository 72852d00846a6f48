"""A page stays small and quick, also of a long run (``bench/report.py`` measures it with a real one)."""

from __future__ import annotations

import time
from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest

from assistlearn.core import Contribution
from assistlearn.events import Answered, Asked, Recorded, RoundFinished, SamplesMatched, TurnFinished
from assistlearn.report.run import run_page
from assistlearn.report.story import Story, Subject, View
from bench.report import MOST_BYTES, MOST_SECONDS

AGENTS = tuple(f"agent-{i}" for i in range(5))
N_ROUNDS = 50


def facts():
    """The facts of a run of 50 rounds and 5 agents, one after the other."""
    yield from (SamplesMatched(agent, 1000, 900) for agent in AGENTS[1:])
    for turn in range(1, N_ROUNDS * len(AGENTS) + 1):
        agent, round = AGENTS[(turn - 1) % len(AGENTS)], (turn - 1) // len(AGENTS) + 1
        if agent != AGENTS[0]:
            yield Asked(agent, "take-turn", 1000 + turn)
            yield Answered(agent, "turn-taken", 500 + turn, 0.5)
        made = Contribution(turn, round, agent, 1.0 / turn, 0.6, 0.7, False)
        yield TurnFinished(turn, round, agent, made.model_weight, 0.6, made)
        if agent == AGENTS[-1]:
            yield RoundFinished(round, 0.7 + 0.001 * round, 0.5 / round, 0.01, 0.3)


@pytest.fixture(scope="module")
def view(shown) -> View:
    subject = Subject("long", AGENTS[0], AGENTS, ("a", "b"), "processes", {}, N_ROUNDS, "log_loss")
    story, now = Story(subject), datetime(2030, 1, 1, tzinfo=UTC)
    for place, fact in enumerate(facts()):
        story.feed(Recorded(now + timedelta(seconds=place), fact))
    real = shown("trained")[0]
    shares = tuple(replace(real.shares[0], helper=agent) for agent in AGENTS[1:])
    found = {"answer": real.answer, "metrics": real.metrics, "shares": shares, "reliability": real.reliability}
    found |= {"reliability_alone": real.reliability_alone, "confusion": real.confusion, "released": real.released}
    settings = replace(subject, settings=real.subject.settings)
    return replace(story.view("finished"), subject=settings, calibration="as they are", **found)


def test_a_page_of_50_rounds_and_5_agents_is_small_and_made_in_seconds(view):
    begun = time.process_time()
    page = run_page(view)
    assert time.process_time() - begun < MOST_SECONDS
    assert page.count("<tr>") > 2 * N_ROUNDS  # of accuracies and of weights
    assert page.count("<svg") == 8
    assert len(page.encode()) < MOST_BYTES
