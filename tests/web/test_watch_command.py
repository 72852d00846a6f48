"""The command as a user has it: a run is watched from before its beginning to beyond its end."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
from contextlib import contextmanager
from urllib.parse import urlsplit

import pytest

from tests.cli.program import assistlearn
from tests.cli.small_agents import write_agents
from tests.papers_settings import PAPERS_OPTIONS
from tests.web.event_stream import EventStream
from tests.web.serving import asked, wait_until

PROGRAM = [sys.executable, "-c", "from assistlearn.cli import main; main()"]


@contextmanager
def command(*words):
    """Start the command; yield its process, and what it says as JSON."""
    with subprocess.Popen(
        [*PROGRAM, "watch", *map(str, words), "--json"], stdout=subprocess.PIPE, text=True
    ) as process:
        try:
            yield process, json.loads(process.stdout.readline())
        finally:
            process.kill()


def turns_on(html):
    return int(re.search(r"([\d,]+) turns? taken", html)[1].replace(",", ""))


@pytest.mark.usefixtures("forked_agents")
def test_a_run_is_followed_from_before_its_beginning_through_a_kill_to_its_end_and_beyond(tmp_path):
    clinic, lab, _ = write_agents(tmp_path)
    run = tmp_path / "run"
    options = ["--run", "long", "--out", str(run), "--rounds", "400", "--json", *PAPERS_OPTIONS]
    with command(run, "--no-open") as (watch, said):
        address = urlsplit(said["address"])
        assert (address.hostname, address.port) == ("127.0.0.1", said["port"])
        assert len(address.path) > 30
        path, events = f"{address.path}events?log=0&after=0", []
        with EventStream(address.port, path, patience=60.0) as stream:

            def wait_for(condition):
                told = stream.until(lambda told: told.facts.get("condition") == condition, 60.0)
                events.append(told.id)
                return told

            assert "There is no run yet" in wait_for("waiting").facts["words"]
            with subprocess.Popen(
                [*PROGRAM, "simulate", str(clinic), str(lab), *options], stdout=subprocess.PIPE
            ) as first:
                wait_for("running")
                wait_until(lambda: len(list((run / "turns").glob("*.msg"))) >= 3 or first.poll() is not None, 60.0)
                assert first.poll() is None, "the run has ended too early for this test: let it have more rounds"
                os.kill(first.pid, signal.SIGKILL)
            assert "Nobody works on it" in wait_for("stopped").facts["words"]
            settings = run / "settings.json"
            settings.write_text(settings.read_text().replace('"n_rounds": 400', '"n_rounds": 60'))
            ended = assistlearn("simulate", "--resume", run, "--json")
            assert ended.code == 0, ended.err
            wait_for("resumed")
            wait_for("ended")
            assert sorted(map(int, events)) == [*map(int, events)]
            page = asked(address.port, address.path)[2]
            assert turns_on(page) == ended.json["turns"]  # none is lost by the kill, none is told twice
            assert assistlearn("forget", run).code == 0
            assert stream.until(lambda told: told.kind == "anew")
        page = asked(address.port, address.path)[2]
        assert "The run was forgotten" in page
        assert "long" not in page
        watch.send_signal(signal.SIGINT)
        assert watch.wait(20) == 0


def test_sigterm_ends_it_at_once_though_a_page_is_open(finished_run):
    with command(finished_run, "--no-open") as (watch, said):
        address = urlsplit(said["address"])
        with EventStream(address.port, f"{address.path}events?log=0&after=0") as stream:
            assert stream.until(lambda told: told.facts.get("condition") == "ended")
            watch.send_signal(signal.SIGTERM)
            assert stream.until(lambda told: told.kind == "over")
        assert watch.wait(10) == 0


def test_a_port_that_is_taken_and_a_file_that_is_none_are_named(tmp_path):
    from assistlearn.web.running import listening, port_of

    with listening() as taken:
        assistlearn("watch", tmp_path / "run", "--port", port_of(taken)).failed(2, f"Port {port_of(taken)}", "another")
    assistlearn("watch", tmp_path / "lab.toml").failed(2, "lab.toml")
