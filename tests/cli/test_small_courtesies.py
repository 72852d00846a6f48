"""What one expects of any command: names that do not collide, and quiet when the reader has gone."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

from assistlearn.cli.output import new_name
from tests.cli.program import assistlearn
from tests.cli.small_agents import know_the_key, write_agents


def test_runs_that_begin_within_a_second_have_different_names():
    assert len({new_name("run") for _ in range(20)}) == 20


def test_a_reader_who_has_seen_enough_is_no_error():
    reader, writer = os.pipe()
    os.close(reader)  # as of `| head`, once it has its lines
    with os.fdopen(writer, "wb") as pipe:
        ended = subprocess.run(
            [sys.executable, "-m", "assistlearn", "--help"],
            stdout=pipe,
            stderr=subprocess.PIPE,
            check=False,
            timeout=240,
        )
    assert ended.returncode == 0
    assert ended.stderr == b""


@pytest.mark.usefixtures("forked_agents")
def test_show_tells_rounds_that_were_made_from_those_that_count(tmp_path):
    """The hold-out samples choose the second of three rounds here."""
    agents = write_agents(tmp_path)[:2]
    know_the_key(agents[0])
    options = ("--method", "ascii", "--rounds", 3, "--holdout", 0.3, "--seed", 2)
    said = assistlearn("simulate", *agents, "--run", "first", "--out", tmp_path / "run", *options)
    facts = assistlearn("show", tmp_path / "run", "--json").json
    n_rounds = facts["result"]["n_rounds"]
    assert (n_rounds, len(facts["holdout_accuracy"])) == (2, 3)
    assert "2 of 3 rounds count; it stopped because: all rounds done." in said.out
    assert facts["log_is_whole"]
    _lose_the_log_and_the_result(tmp_path / "run")


def _lose_the_log_and_the_result(run):
    log = run / "events.jsonl"
    whole, kept = log.read_bytes(), assistlearn("show", run, "--json").json["result"]["contributions"]
    log.write_bytes(b"".join(whole.splitlines(keepends=True)[:5]))
    assert "events.jsonl lacks the end of the run:" in " ".join(assistlearn("show", run).out.split())
    assert assistlearn("show", run, "--json").json["log_is_whole"] is False
    log.write_text("[1, null]\n")
    assistlearn("show", run).failed(
        2, "events.jsonl, line 1: this line is not an event of a run", "`object`, got `array`"
    )
    log.write_bytes(whole)
    (run / "result.json").unlink()
    assert "its result.json is lost. Go on to make it again" in assistlearn("show", run).out
    assistlearn("predict", run).failed(2, "It was finished once: its result.json is lost")
    assert assistlearn("simulate", "--resume", run).code == 0
    assert assistlearn("show", run, "--json").json["result"]["contributions"] == kept
