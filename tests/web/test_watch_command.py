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
from tests.initiator.digests import rewrite
from tests.papers_settings import PAPERS_OPTIONS
from tests.web.event_stream import EventStream
from tests.web.serving import asked, wait_until

PROGRAM = [sys.executable, "-c", "from assistlearn.cli import main; main()"]


@contextmanager
def command(*words):
    """Start the command; yield its process, and what it says as JSON."""
    said = [*PROGRAM, "watch", *map(str, words), "--json"]
    with subprocess.Popen(said, stdout=subprocess.PIPE, text=True) as process:
        try:
            yield process, json.loads(process.stdout.readline())
        finally:
            process.kill()


def watcher(address):
    """Open the stream that the page goes on with."""
    return EventStream(address.port, f"{address.path}events", patience=60.0)


def in_condition(condition):
    return lambda told: told.facts.get("condition") == condition


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
        with watcher(address) as stream:
            assert "There is no run yet" in stream.until(in_condition("waiting")).facts["words"]
            first = subprocess.Popen([*PROGRAM, "simulate", str(clinic), str(lab), *options], stdout=subprocess.PIPE)
            assert "Run long" in stream.until(in_condition("running"), 60.0).facts["body"]
        with watcher(address) as stream, first:
            wait_until(lambda: len(list((run / "turns").glob("*.msg"))) >= 3 or first.poll() is not None, 60.0)
            assert first.poll() is None, "the run has ended too early for this test: let it have more rounds"
            os.kill(first.pid, signal.SIGKILL)
            stopped = stream.until(in_condition("stopped"))
            assert "Nobody works on it" in stopped.facts["words"]
            settings = (run / "settings.json").read_bytes()
            rewrite(run, "settings.json", settings.replace(b'"n_rounds": 400', b'"n_rounds": 60'))
            ended = assistlearn("simulate", "--resume", run, "--json")
            assert ended.code == 0, ended.err
            resumed, end = stream.until(in_condition("resumed")), stream.until(in_condition("ended"))
            assert stopped.facts["place"] <= resumed.facts["place"] <= end.facts["place"]
            page = asked(address.port, address.path)[2]
            assert turns_on(page) == ended.json["turns"]  # none is lost by the kill, none is told twice
            assert assistlearn("forget", "--yes", run).code == 0
            assert "long" not in stream.until(in_condition("gone")).facts["body"]
        page = asked(address.port, address.path)[2]
        assert "The run was forgotten, or failed before its first turn" in page
        assert "long" not in page
        watch.send_signal(signal.SIGINT)
        assert watch.wait(20) == 0


def test_a_port_that_is_taken_and_a_file_that_is_none_are_named(tmp_path):
    from assistlearn.web.server import listening, port_of

    with listening() as taken:
        assistlearn("watch", tmp_path / "run", "--port", port_of(taken)).failed(2, f"port {port_of(taken)}", "another")
    assistlearn("watch", tmp_path / "lab.toml").failed(2, "lab.toml")


def test_a_browser_is_given_a_file_of_its_owner_and_not_the_token(finished_run, tmp_path):
    called, browser = tmp_path / "called", tmp_path / "browser"
    browser.write_text(
        f'#!/bin/sh\necho "$@" > {called}.new && stat -c %a "${{1#file://}}" >> {called}.new\n'
        f'cat "${{1#file://}}" >> {called}.new && mv {called}.new {called}\n'
    )
    browser.chmod(0o755)
    environment = {**os.environ, "DISPLAY": ":0", "BROWSER": f"{browser} %s"}
    words = [*PROGRAM, "watch", str(finished_run)]
    with subprocess.Popen(words, stdout=subprocess.PIPE, text=True, env=environment) as watch:
        address = urlsplit(watch.stdout.readline().split(" at ")[1].strip())
        wait_until(called.exists)
        argument, mode, *content = called.read_text().splitlines()
        assert argument.startswith("file:///")
        assert mode == "600"
        assert address.geturl() in "".join(content)
        assert address.path.strip("/") not in argument
        with watcher(address) as stream:
            stream.until(in_condition("ended"))
            watch.send_signal(signal.SIGTERM)  # ends it at once, though a page is open
            stream.until(lambda told: told.kind == "over")
        assert watch.wait(10) == 0
        assert watch.stdout.read() == "Stop with Ctrl-C.\nStopped.\n"
    assert not os.path.exists(argument.removeprefix("file://"))
