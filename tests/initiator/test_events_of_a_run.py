"""Every fact is in the run's log the moment it happens, once, however often the run is interrupted."""

from __future__ import annotations

import json
from collections import Counter

import numpy as np
import pytest

from assistlearn.events import (
    AloneBegan,
    Answered,
    Asked,
    Predicted,
    ResultJudged,
    RoundFinished,
    RunFinished,
    RunForgotten,
    SamplesMatched,
    SamplesSettled,
    TurnFinished,
    read,
)
from tests.agent.recording import three_agents
from tests.cli.program import assistlearn


def of(folder, kind) -> list:
    return [recorded.event for recorded in read(folder.events) if isinstance(recorded.event, kind)]


def test_the_log_tells_the_whole_life_of_a_run_in_order(tmp_path):
    parties = three_agents(tmp_path, n_rounds=2, holdout=0.2)
    leader = parties.leader()
    events = list(leader.train())
    folder = leader.folder
    assert of(folder, (TurnFinished, RoundFinished, AloneBegan, ResultJudged, RunFinished)) == events
    n = len(parties.X)
    held = int(np.count_nonzero(parties.held["lab"]))
    assert of(folder, SamplesMatched) == [SamplesMatched("lab", n, held), SamplesMatched("scans", n, n)]
    (settled,) = of(folder, SamplesSettled)
    assert settled.n_samples + settled.n_holdout == n
    assert 0.15 * n < settled.n_holdout < 0.25 * n
    leader.predict_rows(np.arange(5))
    (predicted,) = of(folder, Predicted)
    held_of_five = int(np.count_nonzero(parties.held["lab"][:5]))
    assert predicted == Predicted(5, 0, {"clinic": 5, "lab": held_of_five, "scans": 5}, {})
    times = [recorded.time for recorded in read(folder.events)]
    assert None not in times
    assert times == sorted(times)


def test_every_message_with_a_helper_is_asked_and_answered(tmp_path):
    leader = three_agents(tmp_path, n_rounds=2).leader()
    list(leader.train())
    asked, answered = of(leader.folder, Asked), of(leader.folder, Answered)
    assert {event.agent for event in asked} == {"lab", "scans"}
    assert len(asked) == len(answered)
    assert Counter(event.type for event in asked)["take-turn"] == 4
    ledger = [json.loads(line) for line in (tmp_path / "clinic" / "ledger.jsonl").read_text().splitlines()]
    assert [(e["peer"], e["type"], e["bytes"]) for e in ledger if e["direction"] == "sent"] == [
        (event.agent, event.type, event.bytes) for event in asked
    ]
    assert all(event.seconds >= 0.0 for event in answered)


@pytest.mark.parametrize("turns", [0, 1, 4])
def test_a_turn_is_in_the_log_before_the_next_one_begins_and_only_once(tmp_path, turns):
    parties = three_agents(tmp_path, n_rounds=2)
    going = parties.leader().train()
    seen = []
    while len([event for event in seen if isinstance(event, TurnFinished)]) < turns:
        seen.append(next(going))
        assert of(parties.leader().folder, (TurnFinished, RoundFinished)) == seen
    going.close()  # interrupted here
    heard = []
    leader = parties.leader()
    leader.run.log.listen(heard.append)
    events = list(leader.train())
    assert of(leader.folder, (TurnFinished, RoundFinished, RunFinished)) == events
    assert [event for event in heard if isinstance(event, TurnFinished | RoundFinished | RunFinished)] == events


def test_what_was_forgotten_is_told_though_the_log_goes_with_the_run(tmp_path):
    leader = three_agents(tmp_path, n_rounds=1).leader()
    list(leader.train())
    heard = []
    leader.run.log.listen(heard.append)
    forgotten = leader.forget()
    assert heard[-1] == forgotten == RunForgotten({"clinic": 1, "lab": 1, "scans": 1}, {})
    assert not leader.folder.path.exists()


def test_a_damaged_log_does_not_keep_a_run_from_going_on(tmp_path):
    parties = three_agents(tmp_path, n_rounds=2)
    going = parties.leader().train()
    first = next(going)
    going.close()
    folder = parties.leader().folder
    with folder.events.open("ab") as file:
        file.write(b"\0\0\0\0\n")  # as a power cut may leave it
    events = list(parties.leader().train())
    assert events[0] == first
    kept = [r.event for r in read(folder.events, strict=False)]
    assert [event for event in kept if isinstance(event, TurnFinished | RoundFinished | RunFinished)] == events


def test_samples_are_settled_once_and_the_end_is_told_once(tmp_path):
    parties = three_agents(tmp_path, n_rounds=1)
    going = parties.leader().train()
    next(going)
    going.close()
    leader = parties.leader()
    list(leader.train())
    (leader.folder.path / "result.json").unlink()  # as if the machine had stopped just before it was written
    list(parties.leader().train())
    assert len(of(leader.folder, SamplesSettled)) == len(of(leader.folder, RunFinished)) == 1


def test_a_result_whose_log_is_lost_does_not_claim_that_nothing_was_held_out(tmp_path):
    leader = three_agents(tmp_path, n_rounds=2, holdout=0.2, patience=9).leader()
    events = list(leader.train())
    scores = [event.holdout_accuracy for event in events if isinstance(event, RoundFinished)]
    assert "hold-out samples, whose labels helpers were not told" in assistlearn("show", leader.folder.path).out
    assert assistlearn("show", leader.folder.path, "--json").json["holdout_accuracy"] == scores
    lines = leader.folder.events.read_text().splitlines(keepends=True)
    first = next(line for line in lines if '"RoundFinished"' in line)
    leader.folder.events.write_text("".join(line for line in lines if line != first))
    assert assistlearn("show", leader.folder.path, "--json").json["holdout_accuracy"] == [None, scores[1]]
    leader.folder.events.unlink()
    shown = assistlearn("show", leader.folder.path).out
    assert "hold-out samples, whose labels helpers were not told" in shown  # the result has it, too
    assert "There are no hold-out samples" not in shown
