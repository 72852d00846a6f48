"""The live page under load: whether it keeps up with a busy run, and whether its memory stays flat.

    python -m bench.watch [--rate 1000] [--seconds 60] [--facts 3600000] [--watchers 3] [--seen 20] [--json]

The server is ``assistlearn watch`` in a process of its own; watchers are clients of server-sent events over loopback.

*keeping up*: facts are appended to the run's log one by one, as a run does it, at a steady rate. The lag of a fact is
the time from before it is appended until a watcher has a page that goes beyond it, by the byte offset in the log.

*an hour's worth*: as many facts as that rate makes in an hour, appended as fast as the machine can, in blocks. The
memory of the server (RSS) is taken every tenth of the way; *growth* is the last over the first tenth.

*on screen*: rounds end, one a second; the time from before each is appended until Chromium shows its accuracy.

Facts are those of a run of three agents: asked, answered, turn and round finished, over and over.
"""

from __future__ import annotations

import argparse
import json
import shutil
import statistics
import subprocess
import sys
import tempfile
import threading
from bisect import bisect_left
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from itertools import count, islice
from pathlib import Path
from time import monotonic, sleep
from typing import Any
from urllib.parse import urlsplit

import psutil

from assistlearn.core import Contribution
from assistlearn.events import Answered, Asked, Event, RoundFinished, TurnFinished
from assistlearn.initiator.folder import RunFolder
from assistlearn.plan import Plan
from assistlearn.reach.processes.reach_processes import create_run
from tests.browser import NAMES
from tests.cli.small_agents import write_agents
from tests.web.event_stream import EventStream

AGENTS = ("clinic", "lab", "scans")
BLOCK = 5_000
PROGRAM = [sys.executable, "-c", "from assistlearn.cli import main; main()"]


@dataclass(frozen=True)
class KeptUp:
    """How far watchers were behind, in seconds; how many facts and pages; the server's share of a core; its memory."""

    rate: float
    facts: int
    pages: int
    median: float
    p99: float
    worst: float
    cpu: float
    rss: int


@dataclass(frozen=True)
class Hour:
    """How long an hour's worth of facts took, and the memory of the server on the way, in bytes."""

    facts: int
    log_bytes: int
    seconds: float
    pages: int
    rss: list[int]

    @property
    def growth(self) -> float:
        """The memory in the end over that after a tenth of the way."""
        return self.rss[-1] / self.rss[0]


def facts() -> Iterator[Event]:
    """Yield what happens in a run of three agents that never ends."""
    turns = count(1)
    for round in count(1):
        for agent in AGENTS:
            turn = next(turns)
            if agent != AGENTS[0]:
                yield Asked(agent, "take-turn", 1200 + turn % 100)
                yield Answered(agent, "turn-taken", 900 + turn % 77, 0.125)
            weight = 0.5 + (turn % 10) / 20
            made = Contribution(turn, round, agent, weight, 0.7, 0.75, False)
            yield TurnFinished(turn, round, agent, weight, 0.7, made)
        yield RoundFinished(round, 0.6 + (round % 300) / 1000)


def begun(folder: Path) -> RunFolder:
    """Set up a run in which nothing has happened yet."""
    return create_run(folder / "busy", "busy", write_agents(folder), Plan(n_rounds=1_000_000))


@contextmanager
def watched(run: Path) -> Iterator[tuple[psutil.Process, str]]:
    """Start the command; yield its process and the address of its page."""
    words = [*PROGRAM, "watch", str(run), "--no-open", "--json"]
    with subprocess.Popen(words, stdout=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdout is not None
            yield psutil.Process(process.pid), json.loads(process.stdout.readline())["address"]
        finally:
            process.terminate()
            process.wait(30)


class Watcher(threading.Thread):
    """A client that notes when it had the page up to which place."""

    def __init__(self, address: str) -> None:
        super().__init__(daemon=True)
        parts = urlsplit(address)
        self._stream = EventStream(parts.port or 0, f"{parts.path}events", patience=60.0)
        self.places: list[int] = [0]
        self.times: list[float] = [0.0]
        self.start()

    def run(self) -> None:
        """Read until the server ends."""
        with self._stream:
            for told in self._stream:
                if told.facts.get("place", 0) > self.places[-1]:
                    self.places.append(told.facts["place"])
                    self.times.append(told.at)

    def wait_for(self, place: int, seconds: float) -> None:
        """Wait until the page is up to a place."""
        end = monotonic() + seconds
        while self.places[-1] < place:
            if monotonic() > end:
                raise TimeoutError(f"The page is at byte {self.places[-1]:,} of {place:,} after {seconds:g} s.")
            sleep(0.02)

    def lag(self, place: int, at: float) -> float:
        """How long after a time the page was up to a place."""
        return self.times[bisect_left(self.places, place)] - at


def keep_up(rate: float, seconds: float, n_watchers: int) -> KeptUp:
    """Append facts at a steady rate, and measure how far watchers are behind."""
    with tempfile.TemporaryDirectory() as folder:
        run = begun(Path(folder))
        log = run.log()
        with watched(run.path) as (server, address):
            watchers = [Watcher(address) for _ in range(n_watchers)]
            begins, cpu, sent = monotonic(), sum(server.cpu_times()[:2]), []
            for number, fact in enumerate(islice(facts(), int(rate * seconds))):
                sleep(max(begins + number / rate - monotonic(), 0.0))
                at = monotonic()
                log.append(fact)
                sent.append((run.events.stat().st_size, at))
            took = monotonic() - begins
            for watcher in watchers:
                watcher.wait_for(sent[-1][0], 60.0)
            cpu = (sum(server.cpu_times()[:2]) - cpu) / took
            rss = server.memory_info().rss
            lags = sorted(watcher.lag(*each) for watcher in watchers for each in sent)
            pages = max(len(watcher.places) for watcher in watchers) - 1
        for watcher in watchers:
            watcher.join(30.0)
    p99 = lags[int(0.99 * (len(lags) - 1))]
    return KeptUp(len(sent) / took, len(sent), pages, statistics.median(lags), p99, lags[-1], cpu, rss)


def an_hour(n_facts: int) -> Hour:
    """Append very many facts as fast as can be, and look at the memory of the server on the way."""
    with tempfile.TemporaryDirectory() as folder:
        run, rss = begun(Path(folder)), []
        coming, size, begins = facts(), 0, monotonic()
        with watched(run.path) as (server, address):
            watcher = Watcher(address)
            for tenth in range(1, 11):
                for _ in range(n_facts // 10 // BLOCK):
                    size += _append_block(run.events, coming)
                watcher.wait_for(size, 600.0)
                rss.append(server.memory_info().rss)
                print(f"{tenth}0 %: {rss[-1] / 1e6:.0f} MB", file=sys.stderr)
            took = monotonic() - begins
        watcher.join(30.0)
    return Hour(n_facts, size, took, len(watcher.places) - 1, rss)


def on_screen(n_facts: int) -> list[float]:
    """Return how long each of some facts took to be seen in a browser, in seconds."""
    from playwright.sync_api import sync_playwright

    path = next(found for name in NAMES if (found := shutil.which(name)))
    with tempfile.TemporaryDirectory() as folder, sync_playwright() as driver:
        run, seconds = begun(Path(folder)), []
        with watched(run.path) as (_, address):
            browser = driver.chromium.launch(executable_path=path, args=["--no-sandbox"])
            page = browser.new_page()
            page.goto(address)
            for number in range(1, n_facts + 1):
                sleep(1.0)
                begins = monotonic()
                run.log().append(RoundFinished(number, number / 1000))
                page.get_by_text(f"Round {number} is over").first.wait_for()
                seconds.append(monotonic() - begins)
            browser.close()
    return seconds


def _append_block(log: Path, coming: Iterator[Event]) -> int:
    """Append a block of facts, with the lines that a run writes; return its bytes."""
    now = datetime.now(UTC).isoformat(timespec="milliseconds")
    lines = (json.dumps({"time": now, "event": type(e).__name__} | asdict(e)) for e in islice(coming, BLOCK))
    block = ("\n".join(lines) + "\n").encode()
    with log.open("ab") as file:
        file.write(block)
    return len(block)


def main() -> None:
    """Measure, and print what was found."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rate", type=float, default=1000.0)
    parser.add_argument("--seconds", type=float, default=60.0)
    parser.add_argument("--facts", type=int, default=3_600_000)
    parser.add_argument("--watchers", type=int, default=3)
    parser.add_argument("--seen", type=int, default=20)
    parser.add_argument("--json", action="store_true")
    asked = parser.parse_args()
    found: dict[str, Any] = {}
    if asked.seconds:
        kept = keep_up(asked.rate, asked.seconds, asked.watchers)
        found["keeping up"] = asdict(kept)
    if asked.facts:
        hour = an_hour(asked.facts)
        found["an hour's worth"] = asdict(hour) | {"growth": hour.growth}
    if asked.seen:
        seen = on_screen(asked.seen)
        found["on screen"] = {"facts": len(seen), "median": statistics.median(seen), "worst": max(seen)}
    if asked.json:
        print(json.dumps(found))
        return
    for title, figures in found.items():
        print(title)
        for name, value in figures.items():
            print(f"  {name}: {value:.4g}" if isinstance(value, float) else f"  {name}: {value}")


if __name__ == "__main__":
    main()
