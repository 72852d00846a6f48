"""What a prediction over HTTP costs: ``python -m bench.serve [latency] [load] [kill] [--flare] [--small]``.

latency   one id, warm, over one connection: for local processes (and with ``--flare`` over FLARE on loopback), for
          helpers' tables of 1,000 rows and more, by keyed hashes
load      100 clients for five minutes: errors, memory, open files, and what is left when the service has ended
kill      kill -9 of a helper's process while ten clients ask: the longest time without an answer, and when it is back
"""

from __future__ import annotations

import argparse
import json
import os
import signal
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.client import HTTPConnection
from pathlib import Path
from typing import Any

import psutil

from assistlearn.protocol.ledger import verify
from assistlearn.reach.flare.local import LocalNetwork
from bench.network_files import write_agent, write_task

NAMES = ("bank", "shop", "telco")
LEARNER = "sklearn.tree.DecisionTreeClassifier"
ROWS = (1_000, 10_000, 100_000)


def command(*arguments: object) -> list[str]:
    return [sys.executable, "-m", "assistlearn", *map(str, arguments)]


def trained(folder: Path, rows: int) -> Path:
    """Train a run whose helpers are processes."""
    files = [write_agent(folder, name, rows, 5, 2, LEARNER, "max_depth = 3") for name in NAMES]
    out = folder / "run"
    simulate = command("simulate", *files, "--out", out, "--run", "bench", "--rounds", 3, "--json")
    subprocess.run(simulate, check=True, stdout=subprocess.DEVNULL)
    return out


@dataclass
class Service:
    """A service in a process of its own."""

    process: psutil.Popen
    port: int
    token: str
    times: list[float] = field(default_factory=list)
    statuses: Counter[str] = field(default_factory=Counter)
    missing: Counter[str] = field(default_factory=Counter)

    def client(self) -> Client:
        """Return another client."""
        return Client(self, HTTPConnection("127.0.0.1", self.port, timeout=60))

    def helper(self, name: str) -> psutil.Process:
        """Return the process of a helper."""
        return next(each for each in self.process.children() if f"/{name}.toml" in " ".join(each.cmdline()))


@dataclass
class Client:
    """A client with a connection of its own."""

    service: Service
    connection: HTTPConnection

    def ask(self, id: int) -> dict[str, Any]:
        """Ask about one id; the answer and its time are counted."""
        begun = time.perf_counter()
        headers = {"Authorization": f"Bearer {self.service.token}"}
        try:
            self.connection.request("GET", f"/predict?id={id}", headers=headers)
            answer = self.connection.getresponse()
            said: dict[str, Any] = json.loads(answer.read())
        except OSError as error:
            self.service.statuses[type(error).__name__] += 1
            self.connection.close()
            return {}
        self.service.times.append(time.perf_counter() - begun)
        self.service.statuses[str(answer.status)] += 1
        for agent in said.get("missing", {}):
            self.service.missing[agent] += 1
        return said


@contextmanager
def served(run: Path) -> Iterator[Service]:
    """Serve a run; afterwards end the service with SIGTERM, and see that it ends.

    Its temporary files go to a folder of their own, so that what is left of them can be told.
    """
    own = run.parent / "temporary"
    own.mkdir(exist_ok=True)
    serving = command("serve", run, "--port", 0, "--json")
    process = psutil.Popen(serving, stdout=subprocess.PIPE, text=True, env=os.environ | {"TMPDIR": str(own)})
    try:
        facts = json.loads(process.stdout.readline())
        port = int(facts["address"].rsplit(":", 1)[1])
        yield Service(process, port, Path(facts["token_file"]).read_text().strip())
    finally:
        begun = time.perf_counter()
        process.send_signal(signal.SIGTERM)
        code = process.wait(60)
        process.stdout.close()
        print(f"ended with {code} after SIGTERM, in {time.perf_counter() - begun:.1f} s", flush=True)


def quantiles(times: list[float]) -> str:
    ordered = sorted(times)
    p50, p95, p99 = (1e3 * ordered[int(share * (len(ordered) - 1))] for share in (0.5, 0.95, 0.99))
    return f"p50 {p50:6.1f} ms   p95 {p95:6.1f} ms   p99 {p99:6.1f} ms   {len(ordered):,} requests"


def measure(run: Path, n: int, what: str) -> None:
    """Print how long one warm id takes."""
    with served(run) as service:
        client = service.client()
        for id in range(10):
            client.ask(id)
        service.times.clear()
        for id in range(n):
            client.ask(id)
        print(f"{what:<40} {quantiles(service.times)}   {dict(service.statuses)} {dict(service.missing)}", flush=True)


def latency(folder: Path, small: bool, flare: bool) -> None:
    """One warm id, for tables of several sizes."""
    n = 50 if small else 500
    for rows in ROWS[: 1 if small else None]:
        measure(trained(folder / f"rows-{rows}", rows), n, f"processes, {rows:,} rows")
    if flare:
        home = folder / "flare"
        files = {name: write_agent(home, name, ROWS[0], 5, 2, LEARNER, "max_depth = 3") for name in NAMES}
        with LocalNetwork(home, files) as network:
            task = write_task(home, network, NAMES[1:], 3)
            train = command("train", task, "--out", home / "run", "--json")
            subprocess.run(train, check=True, stdout=subprocess.DEVNULL)
            measure(home / "run", n, f"FLARE on loopback, {ROWS[0]:,} rows")


def load(folder: Path, small: bool, flare: bool) -> None:
    """Many clients for some minutes: what grows, and what is left."""
    n_clients, seconds = (20, 5.0) if small else (100, 300.0)
    run = trained(folder / "load", ROWS[0])
    before = {each.name for each in run.iterdir()}
    with served(run) as service:
        everybody = [service.process, *service.process.children(recursive=True)]
        stop = time.monotonic() + seconds
        clients = [threading.Thread(target=_ask_until, args=(service, number, stop)) for number in range(n_clients)]
        for client in clients:
            client.start()
        _watch(everybody, stop, seconds / 10)
        for client in clients:
            client.join()
        print(f"{n_clients} clients, {seconds:g} s: {quantiles(service.times)}")
        print(f"answers: {dict(service.statuses)}; without a helper: {dict(service.missing)}", flush=True)
    after = {each.name for each in run.iterdir()} | set(os.listdir(run.parent / "temporary"))
    print(f"processes left: {[each.pid for each in everybody if each.is_running()]}")
    print(f"files left: {sorted(after - before)}")
    entries = {name: verify(folder / "load" / f"{name}-models" / "ledger.jsonl") for name in NAMES}
    print(f"entries of the ledgers, verified: {entries}")


def _ask_until(service: Service, number: int, stop: float) -> None:
    client = service.client()
    while time.monotonic() < stop:
        client.ask(number * 7 % ROWS[0])
        number += 1
    client.connection.close()


def _watch(everybody: list[psutil.Process], stop: float, pause: float) -> None:
    """Print memory and open files now and then."""
    while time.monotonic() < stop:
        memory = " + ".join(f"{each.memory_info().rss / 1e6:.0f}" for each in everybody)
        files = " + ".join(str(each.num_fds()) for each in everybody)
        print(f"  {stop - time.monotonic():5.0f} s left: {memory} MB, {files} open files", flush=True)
        time.sleep(max(min(pause, stop - time.monotonic()), 0.01))


def kill(folder: Path, small: bool, flare: bool) -> None:
    """Kill a helper's process, with -9, while clients ask."""
    run, times = trained(folder / "kill", ROWS[0]), 1 if small else 5
    with served(run) as service:
        for id in range(10):
            service.client().ask(id)
        stop = time.monotonic() + 10.0 * times
        clients = [threading.Thread(target=_ask_until, args=(service, number, stop)) for number in range(10)]
        for client in clients:
            client.start()
        back = []
        for _ in range(times):
            time.sleep(2)
            service.helper("shop").kill()
            begun, client = time.perf_counter(), service.client()
            time.sleep(0.2)
            while "shop" in client.ask(0)["missing"]:
                time.sleep(0.01)
            back.append(time.perf_counter() - begun)
        for client in clients:
            client.join()
        print(f"{times} x kill -9, ten clients: the slowest answer took {max(service.times):.2f} s; {service.statuses}")
        print(f"back after {statistics.median(back):.1f} s (median), {max(back):.1f} s at the most", flush=True)


PARTS = {"latency": latency, "load": load, "kill": kill}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("parts", nargs="*", choices=[*PARTS, []], default=[])
    parser.add_argument("--small", action="store_true", help="a short form, for CI")
    parser.add_argument("--flare", action="store_true", help="over FLARE, too")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        for name in options.parts or PARTS:
            PARTS[name](Path(folder), options.small, options.flare)


if __name__ == "__main__":
    main()
