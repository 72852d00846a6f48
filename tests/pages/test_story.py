"""The story of a run says what its own files say, whatever became of the run, and does not grow with it."""

from __future__ import annotations

import tarfile
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from assistlearn.core import Contribution
from assistlearn.events import (
    Answered,
    Asked,
    JobStarted,
    Recorded,
    ResultJudged,
    RoundFinished,
    SamplesMatched,
    TroubleMet,
    TurnFinished,
    read,
)
from assistlearn.pages.run_story import view_of
from assistlearn.pages.story import Story
from assistlearn.pages.thinned import MOST
from assistlearn.pages.view import Subject
from assistlearn.runs.folder import RunFolder

KEPT = sorted((Path(__file__).parents[1] / "runs" / "kept").glob("version-*.tar.gz"))
SUBJECT = Subject("r", "bank", ("bank", "lab"), ("no", "yes"), "processes", (), 5, False, "accuracy")
START = datetime(2030, 1, 1, tzinfo=UTC)


def turn(number: int, agent: str, weight: float = 0.5) -> TurnFinished:
    round = (number + 1) // 2
    made = Contribution(number, round, agent, weight, 0.7, 0.8, False)
    return TurnFinished(number, round, agent, weight, 0.7, made)


FACTS = st.sampled_from(
    [
        Asked("lab", "open", 10),
        Asked("lab", "take-turn", 10),
        Answered("lab", "turn-taken", 20, 0.5),
        Answered("lab", "of another release", 20, 0.5),
        SamplesMatched("lab", 10, 9),
        turn(1, "bank"),
        turn(2, "lab"),
        RoundFinished(1, 0.8),
        JobStarted("j", ["lab"]),
        TroubleMet("a cable"),
    ]
)


@given(st.lists(st.tuples(FACTS, st.one_of(st.none(), st.floats(0.0, 1e6)))))
def test_the_parts_of_the_time_line_add_up_to_the_whole(facts):
    story, now = Story(SUBJECT), START
    for event, later in facts:
        now += timedelta(seconds=later or 0.0)
        story.feed(Recorded(None if later is None else now, event))
    view = story.view("going on")
    whole = 0.0 if view.began is None else (view.last - view.began).total_seconds()
    assert sum(spent.seconds for spent in view.seconds) == pytest.approx(whole, abs=0.05)


@pytest.mark.parametrize("archive", KEPT, ids=lambda path: path.name)
def test_runs_of_older_releases_have_a_story_with_their_own_figures(archive, tmp_path):
    with tarfile.open(archive) as kept:
        kept.extractall(tmp_path, filter="data")
    folders = [RunFolder(path.parent) for path in sorted(tmp_path.rglob("run/settings.json"))]
    assert len(folders) >= 2
    for folder in folders:
        view, result = view_of(folder), folder.result()
        turns = [each.event for each in read(folder.events) if isinstance(each.event, TurnFinished)]
        assert view.state == ("stopped" if result is None else "finished")
        assert view.progress.turns == len(turns) > 0
        if result is not None:
            assert view.n_rounds == result["n_rounds"]
            for exchange in view.exchanges:
                assert exchange.turns == result["traffic"][exchange.helper]["turns"]
                answers = {row.type: row.bytes for row in exchange.rows if row.direction == "received"}
                assert answers["turn-taken"] == result["traffic"][exchange.helper]["received"]["turn-taken"]


def test_a_run_that_has_just_begun_has_a_story_without_an_answer():
    view = Story(SUBJECT).view("going on")
    assert (view.answer, view.rounds, view.progress.turns, view.seconds) == (None, (), 0, ())


def test_the_answer_is_known_as_soon_as_it_is_judged():
    story = Story(SUBJECT)
    difference = {"accuracy": {"value": 0.1, "low": 0.05, "high": 0.15}}
    story.feed(Recorded(START, ResultJudged(200, {"accuracy": 0.9}, {"accuracy": 0.8}, difference, [], [])))
    answer = story.view("going on").answer
    assert (answer.verdict, answer.alone, answer.assisted, answer.difference.low) == ("yes", 0.8, 0.9, 0.05)


def test_a_story_says_who_is_waited_for_and_since_when():
    story = Story(SUBJECT)
    story.feed(Recorded(START, Asked("lab", "take-turn", 10)))
    assert (story.view("going on").progress.waiting_for, story.view("going on").progress.since) == ("lab", START)
    assert story.view("stopped").progress.waiting_for is None
    story.feed(Recorded(START, Answered("lab", "turn-taken", 10, 0.1)))
    assert story.view("going on").progress.waiting_for is None


def test_what_is_kept_of_a_long_run_does_not_grow_with_it_and_the_last_round_is_there():
    story, n = Story(SUBJECT), 20_000
    for number in range(1, n + 1):
        story.feed(Recorded(START, turn(number, SUBJECT.agents[(number + 1) % 2])))
        if number % 2 == 0:
            story.feed(Recorded(START, RoundFinished(number // 2, number / n)))
    view = story.view("going on")
    assert MOST // 2 <= len(view.rounds) <= MOST + 1
    assert MOST // 2 <= len(view.weights) <= MOST + 1
    assert (view.rounds[0].round, view.rounds[-1].round, view.rounds[-1].accuracy) == (1, n // 2, 1.0)
    assert [agent.turns for agent in view.agents] == [n // 2, n // 2]
    assert view.agents[0].weight == pytest.approx(n / 4)
