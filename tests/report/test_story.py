"""The story of a run says what its own files say, whatever became of the run, and does not grow with it."""

from __future__ import annotations

import re
import subprocess
import sys
from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from assistlearn.core import Contribution
from assistlearn.errors import RunError
from assistlearn.events import (
    Answered,
    Asked,
    JobStarted,
    Predicted,
    Recorded,
    ResultJudged,
    RoundFinished,
    RunFinished,
    SamplesDone,
    SamplesMatched,
    StopReason,
    TroubleMet,
    TurnFinished,
)
from assistlearn.report import pictures as drawn
from assistlearn.report import story as time_line
from assistlearn.report.run import answer, rounds
from assistlearn.report.story import MOST, RoundRow, Story, Subject, state_of, view_of

SUBJECT = Subject("r", "bank", ("bank", "lab"), ("no", "yes"), "processes", {}, 5, "accuracy")
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
    assert sum(seconds for _, _, seconds, _ in view.seconds) == pytest.approx(whole, abs=0.05)


def test_a_run_that_has_just_begun_has_a_story_without_an_answer():
    view = Story(SUBJECT).view("going on")
    assert (view.answer, view.rounds, view.turns, view.seconds) == (None, (), 0, ())


def test_a_run_without_an_answer_says_how_many_turns_and_rounds_are_done():
    story = Story(SUBJECT)
    for number, words in ((1, "Done so far: 1 turn."), (2, "Done so far: 2 turns.")):
        story.feed(Recorded(START, turn(number, "bank")))
        assert words in " ".join(answer(story.view("going on")).words)
    story.feed(Recorded(START, RoundFinished(1, 0.8)))
    assert "Done so far: 1 round of 5 at the most." in rounds(story.view("going on")).words[0]


@pytest.mark.parametrize(
    ("name", "title"), [("accuracy", "accuracy"), ("metric", "F1"), ("loss", "loss of the combination")]
)
def test_a_curve_of_zeros_is_drawn(name, title):
    nothing = dict.fromkeys(("accuracy", "metric", "loss", "error"))
    drawing = drawn.rounds((RoundRow(round=1, **nothing | {name: 0.0}),), "F1")
    assert re.findall(r">([a-zF][^<]*)</text>", drawing) == ["round", title]


def test_the_answer_is_known_as_soon_as_it_is_judged():
    story = Story(SUBJECT)
    difference = {"accuracy": {"value": 0.1, "low": 0.05, "high": 0.15}}
    story.feed(Recorded(START, ResultJudged(200, {"accuracy": 0.9}, {"accuracy": 0.8}, difference, [], [])))
    answer = story.view("going on").answer
    assert (answer.verdict, answer.alone, answer.assisted, answer.difference.low) == ("yes", 0.8, 0.9, 0.05)


def test_a_story_says_who_is_waited_for_and_since_when():
    story = Story(SUBJECT)
    story.feed(Recorded(START, Asked("lab", "take-turn", 10)))
    assert (story.view("going on").waiting_for, story.view("going on").since) == ("lab", START)
    assert story.view("stopped").waiting_for is None
    story.feed(Recorded(START, Answered("lab", "turn-taken", 10, 0.1)))
    assert story.view("going on").waiting_for is None


def fed(*facts) -> dict[tuple[str, str], float]:
    """Feed facts, each so many seconds after the one before, and return where the seconds went."""
    story, now = Story(SUBJECT), START
    for later, event in facts:
        now += timedelta(seconds=later)
        story.feed(Recorded(now, event))
    return {(what, agent): seconds for what, agent, seconds, _ in story.view("finished").seconds}


def test_the_time_before_a_run_is_gone_on_with_is_nobodys():
    night = 40_000.0
    first = (0, Asked("lab", "open", 1)), (1, Answered("lab", "opened", 1, 1)), (1, Asked("lab", "begin", 1))
    went = fed(*first, (2, Answered("lab", "ready", 1, 2)), (3, turn(1, "bank")), (night, Asked("lab", "begin", 1)))
    assert went[time_line.IDLE, ""] == night
    assert went[time_line.OWN_FITS, "bank"] == 3
    assert went[time_line.TELLING, "lab"] == 2


def test_the_time_and_the_samples_of_predictions_are_not_those_of_training():
    over = RunFinished(StopReason.ALL_ROUNDS_DONE, 1)
    training = (0, Asked("lab", "open", 1)), (1, SamplesMatched("lab", 500, 450)), (1, over)
    later = (900, SamplesDone("bank", 9, 9)), (2, Answered("lab", "aligned", 1, 2)), (0, SamplesMatched("lab", 9, 8))
    went = fed(*training, *later, (3, Answered("lab", "scores", 1, 3)), (0, Predicted(9, 0)))
    assert went[time_line.IDLE, ""] == 900
    assert went[time_line.PREDICTING, "lab"] == 5
    story = Story(SUBJECT)
    for _, event in (*training, *later):
        story.feed(Recorded(START, event))
    assert [(row.n_asked, row.n_held) for row in story.view("finished").matched] == [(500, 450)]


def test_a_turn_is_counted_once_though_two_facts_tell_of_it():
    story = Story(SUBJECT)
    for event in (Asked("lab", "take-turn", 1), Answered("lab", "turn-taken", 1, 1.0), turn(2, "lab")):
        story.feed(Recorded(START, event))
    assert [(what, times) for what, _, _, times in story.view("going on").seconds] == [(time_line.TURNS, 1)]


def test_a_run_goes_on_while_another_process_has_its_folder_and_to_ask_takes_nothing(in_memory):
    folder = in_memory(turns=1)
    assert state_of(folder) == "stopped"
    hold = "import fcntl, sys; f = open(sys.argv[1], 'a+'); fcntl.lockf(f, fcntl.LOCK_EX); print(flush=True); input()"
    command = [sys.executable, "-S", "-c", hold, str(folder.path / "lock")]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        process.stdout.readline()
        assert state_of(folder) == "going on"
        process.communicate(b"\n")
    assert state_of(folder) == "stopped"


def test_a_log_that_was_damaged_has_no_story(in_memory):
    folder = in_memory(turns=2)
    folder.events.write_bytes(folder.events.read_bytes().replace(b'"event"', b'"evil"', 1))
    with pytest.raises(RunError, match="line 1"):
        view_of(folder)


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
