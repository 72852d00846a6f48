"""An agent's own page: who asks, its turns, since when it waits; all of it from its ledger, nothing of its table."""

from __future__ import annotations

import re
import tracemalloc
from datetime import UTC, datetime, timedelta

from assistlearn.protocol import Ledger
from assistlearn.protocol.ledger import Claim, Entry, read
from assistlearn.report.page import body
from assistlearn.web.live import MOST_RUNS, AgentStory, LiveAgent
from tests.cli.program import assistlearn
from tests.web.serving import shown, stream, wait_until

START = datetime(2030, 1, 1, 12, tzinfo=UTC)


def free(amount, turn=None):
    return Claim(amount, lambda count, fresh, day: None, turn)


def test_what_is_shown_of_a_run_is_what_the_audit_counts(finished_run):
    lab = finished_run.parent / "lab.toml"
    counted = assistlearn("audit", lab, "--json").json
    agent = LiveAgent(lab)
    while agent.take_news():
        pass
    (run,) = agent._story.runs.values()
    assert (run.asker, run.run, run.state) == ("clinic", "heart", "trained")
    entries = list(read(finished_run.parent / "lab-models" / "ledger.jsonl"))
    assert run.received + run.sent == sum(entry.bytes for entry in entries)
    assert run.turns == len([entry for entry in entries if entry.type == "turn-taken"]) > 0
    assert counted["entries"] == len(entries)
    assert agent.status().condition == "waiting"


def test_its_page_has_what_its_report_tells_and_nothing_of_its_table(finished_run):
    agent = LiveAgent(finished_run.parent / "lab.toml")
    own = len(agent.sections())
    wait_until(lambda: not agent.take_news() and len(agent.sections()) > own)
    report = assistlearn("report", finished_run.parent / "lab.toml", "--json").json
    page = body(agent.frame(), agent.sections())
    assert "clinic" in page
    assert f"{report['entries']} entries" in page
    assert not re.search(r"p-\d\d\d|\bx0\b|\bx1\b|patient|\.csv", page)


def test_it_is_at_work_while_a_request_is_not_answered_and_waits_afterwards(lab):
    ledger = Ledger(lab.parent / "lab-models" / "ledger.jsonl")
    with shown(LiveAgent(lab)) as port, stream(port) as events:
        events.until(lambda told: told.facts.get("words") == "For the first request.")
        ledger.record("received", "clinic", "heart", "take-turn", b"x" * 100, free(1, 7))
        told = events.until(lambda told: "turn 7 of run heart" in told.facts.get("body", ""))
        assert told.facts["name"] == "at work"
        ledger.record("sent", "clinic", "heart", "turn-taken", b"y" * 50, free(400))
        told = events.until(lambda told: "for the next request" in told.facts.get("body", ""))
        assert told.facts["name"] == "waiting"
        assert re.search(r">\d+\.\d\d s</td><td class=\"n\">50</td>", told.facts["body"])  # after how long, how much


def entry(number, direction, peer, run, type_, turn=None):
    time = (START + timedelta(seconds=number)).isoformat()
    return Entry(number, time, direction, peer, run, type_, 10, "", "", "", 1 if turn else None, turn)


def test_two_who_ask_at_once_are_told_apart():
    story = AgentStory()
    story.feed(entry(1, "received", "clinic", "a", "take-turn", 1))
    story.feed(entry(2, "received", "bank", "a", "take-turn", 4))
    assert [run.asker for run in story.at_work] == ["bank", "clinic"]
    story.feed(entry(3, "sent", "clinic", "a", "turn-taken"))
    assert [run.asker for run in story.at_work] == ["bank"]
    turns = [[(each.peer, each.type) for each in turn] for turn in story.turns]
    assert turns == [[("clinic", "take-turn"), ("clinic", "turn-taken")], [("bank", "take-turn")]]


def test_what_is_turned_away_or_asked_of_others_is_no_work_of_the_agent():
    story = AgentStory()
    story.feed(entry(1, "refused", "stranger", "", "topic"))
    story.feed(entry(2, "received", "stranger", "", "unreadable"))
    story.feed(entry(3, "sent", "stranger", "", "problem"))
    story.feed(entry(4, "sent", "lab", "own", "take-turn"))
    story.feed(entry(5, "received", "lab", "own", "turn-taken"))
    assert (story.turned_away, story.asks, story.runs, story.at_work) == (1, 1, {}, [])


def test_of_many_runs_the_latest_are_listed():
    story = AgentStory()
    for number in range(10_000):
        story.feed(entry(number, "received", "clinic", f"run-{number}", "take-turn", number))
    assert (len(story.listed), len(story.at_work), len(story.runs)) == (MOST_RUNS, MOST_RUNS, 10_000)
    assert story.listed[0].run == "run-9999"


def test_a_run_that_speaks_again_after_many_others_is_no_new_one():
    story = AgentStory()
    story.feed(entry(0, "received", "clinic", "first", "take-turn", 1))
    story.feed(entry(1, "sent", "clinic", "first", "ended"))
    for number in range(MOST_RUNS):
        story.feed(entry(2 + number, "received", "clinic", f"run-{number}", "take-turn", 1))
    assert "first" not in [run.run for run in story.listed]
    story.feed(entry(100, "received", "clinic", "first", "predict"))
    assert (len(story.listed), len(story.runs)) == (MOST_RUNS, MOST_RUNS + 1)
    again = story.listed[0]
    assert (again.first, again.turns, again.received, again.state) == (START, 1, 20, "trained")


def test_a_long_ledger_takes_no_more_room_than_a_short_one():
    rooms = []
    for length in (2_000, 20_000):
        tracemalloc.start()
        story = AgentStory()
        for number in range(0, length, 2):
            run = f"run-{number % 200}"
            story.feed(entry(number, "received", "clinic", run, "take-turn", number + 1))
            story.feed(entry(number + 1, "sent", "clinic", run, "turn-taken"))
        rooms.append(tracemalloc.get_traced_memory()[0])
        tracemalloc.stop()
    assert rooms[1] < 1.5 * rooms[0]
    assert len(story.runs) == 100
