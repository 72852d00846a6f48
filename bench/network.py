"""What the network costs: ``python -m bench.network [hops] [run] [line] [soak]``, on loopback, real certificates.

hops   our way of asking another organisation, against a bare call of FLARE's with as many bytes, side by side
run    three organisations, a million samples, twenty rounds of depth-3 trees: where the time goes
line   the same, shorter, over a line of 10 Mbit/s and 50 ms at every site
soak   2,000 rounds with five sites: memory, files and processes
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from contextlib import ExitStack
from pathlib import Path
from typing import Any
from unittest import mock

import psutil

from assistlearn.reach.flare.carrying.flare_transport import FlareTransport
from assistlearn.reach.flare.local import LocalNetwork
from assistlearn.reach.flare.provisioning import policy
from assistlearn.reach.flare.provisioning.kit import load_kit
from bench.network_files import lead_through, write_agent, write_task
from bench.slow_line import SlowLine

ROOT = Path(__file__).parents[1]
ECHO = "bench.network_apps.EchoSite"
RATE, DELAY = 10e6, 0.05
"""Bits per second and seconds of a slow line."""

SIZES = (10_000, 1_000_000, 10_000_000)


def hops(folder: Path, small: bool) -> dict[str, Any]:
    """Our hop against a bare call with as many bytes, in turn, in one job."""
    path = {"PYTHONPATH": os.pathsep.join([str(ROOT / "bench" / "echo"), os.environ["PYTHONPATH"]])}
    echoing = mock.patch.multiple(policy, SITE_CLASS=ECHO, CLASSES=(*policy.CLASSES, ECHO))
    with echoing, mock.patch.dict(os.environ, path):
        return _hops(folder, small)


def _hops(folder: Path, small: bool) -> dict[str, Any]:
    files = {name: write_agent(folder, name, 100, 1, 2, "sklearn.naive_bayes.GaussianNB") for name in ("bank", "shop")}
    found: dict[str, Any] = {}
    with LocalNetwork(folder, files) as network, FlareTransport(*kits(network), ["shop"]) as transport:
        transport._attendance.agents.append("bare shop")
        transport.ask("shop", b"hello")
        transport._job.agents.append("bare shop")
        for n in SIZES[: 1 if small else None]:
            ours, bare = [], []
            for _ in range(5 if small else 30):
                content = os.urandom(n // 8)
                bare.append(float(transport.ask("bare shop", content)))
                begun = time.perf_counter()
                assert transport.ask("shop", content) == content
                ours.append(time.perf_counter() - begun)
            found[f"{n:,}"] = {
                "bytes": n // 8,
                "ours": statistics.median(ours),
                "bare": statistics.median(bare),
                "ratio": statistics.median(ours) / statistics.median(bare),
            }
            print(
                f"n = {n:>10,}  {n // 8:>9,} bytes each way   ours {statistics.median(ours) * 1e3:7.1f} ms   "
                f"bare {statistics.median(bare) * 1e3:7.1f} ms   ratio {found[f'{n:,}']['ratio']:.2f}",
                flush=True,
            )
    return found


def run(folder: Path, small: bool, n: int = 1_000_000, rounds: int = 20, lines: bool = False) -> dict[str, Any]:
    """Where the time of a run goes."""
    n, rounds = (5_000, 2) if small else (n, rounds)
    times = folder / "times"
    times.mkdir(parents=True)
    os.environ["BENCH_TIMES"] = str(times)
    names = ("bank", "shop", "telco")
    files = {name: write_agent(folder, name, n, 5, 2, "bench.network_apps:timed_tree") for name in names}
    with ExitStack() as stack:
        network = LocalNetwork(folder, files)
        slow = []
        if lines:
            for name in names:
                slow.append(stack.enter_context(SlowLine(load_kit(network.kit(name)).port, DELAY, RATE)))
                lead_through(network.kit(name), slow[-1].port)
        stack.enter_context(network)
        task = write_task(folder, network, names[1:], rounds)
        before = [list(line.passed) for line in slow]
        begun = time.time()
        out = folder / "run"
        command = [sys.executable, "-m", "assistlearn", "train", str(task), "--out", str(out), "--json"]
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
        total = time.time() - begun
        passed = [
            [a - b for a, b in zip(line.passed, old, strict=True)] for line, old in zip(slow, before, strict=True)
        ]
    learners = sum(float(line) for file in times.iterdir() for line in file.read_text().split())
    found = where_time_went(out, begun, total, learners) | {"n": n, "rounds": rounds}
    found["bytes_on_lines"] = dict(zip(names, passed, strict=False))
    show_run(found)
    return found


def where_time_went(out: Path, begun: float, total: float, learners: float) -> dict[str, Any]:
    """Return the seconds of a run that began at this time and took so long, and the bytes of its messages."""
    turns = sorted((out / "turns").glob("*.msg"))
    result = json.loads((out / "result.json").read_text())
    sent = sum(sum(way.values()) for peer in result["traffic"].values() for way in (peer["sent"], peer["received"]))
    return {
        "turns": len(turns),
        "total": total,
        "first_turn": turns[0].stat().st_mtime - begun,
        "learners": learners,
        "beyond": (total - learners) / total,
        "bytes": sent,
    }


def show_run(found: dict[str, Any]) -> None:
    """Print where the time of a run went."""
    total, first, learners, turns = (found[key] for key in ("total", "first_turn", "learners", "turns"))
    print(
        f"n = {found['n']:,}, {found['rounds']} rounds, {turns} turns: {total:.1f} s in all, {first:.1f} s to the "
        f"first turn, {learners:.1f} s in the learners, {total - learners:.1f} s ({found['beyond']:.1%}) beyond; "
        f"{found['bytes'] / 1e6:.1f} MB of messages",
        flush=True,
    )
    for name, (there, back) in found["bytes_on_lines"].items():
        seconds = max(there, back) * 8 / RATE
        print(
            f"  line of {name}: {there / 1e6:.1f} MB out, {back / 1e6:.1f} MB in, {seconds:.0f} s at the least",
            flush=True,
        )
    after = total - first - (learners - learners / turns)
    print(
        f"  after the first turn: {after:.1f} s beyond the learners for {turns * 2 // 3} turns of helpers", flush=True
    )


def line(folder: Path, small: bool) -> dict[str, Any]:
    """Run the same over slow lines, with fewer rounds."""
    return run(folder, small, rounds=5, lines=True)


def soak(folder: Path, small: bool) -> dict[str, Any]:
    """Many rounds: memory of every process, open files, processes left over.

    FLARE keeps what it received for a minute, and 500 rounds take less: so there are more.
    """
    rounds = 20 if small else 2_000
    names = ("bank", "shop", "telco", "clinic", "lab")
    files = {
        name: write_agent(folder, name, 1_000, 3, 2, "sklearn.tree.DecisionTreeClassifier", "max_depth = 1")
        for name in names
    }
    with LocalNetwork(folder, files) as network:
        before = processes(network)
        task = write_task(folder, network, names[1:], rounds)
        command = [sys.executable, "-m", "assistlearn", "train", str(task), "--out", str(folder / "run"), "--json"]
        training = subprocess.Popen(command, stdout=subprocess.DEVNULL)
        seen: list[tuple[int, dict[str, tuple[float, int]]]] = []
        wanted = [rounds // 4, rounds // 2, rounds * 3 // 4, rounds - 1]
        begun = time.time()
        while training.poll() is None:
            done = len(list((folder / "run" / "turns").glob("*.msg"))) // len(names)
            if wanted and done >= wanted[0]:
                seen.append((done, use(network) | {"command": of(psutil.Process(training.pid))}))
                wanted.pop(0)
            time.sleep(0.2)
        seconds = time.time() - begun
        time.sleep(20)
        after = processes(network)
    assert training.returncode == 0
    for done, uses in seen:
        print(
            f"after round {done:4d}: " + ", ".join(f"{who} {mb:.0f} MB {n} files" for who, (mb, n) in uses.items()),
            flush=True,
        )
    left = {name: after[name] - before[name] for name in after}
    print(f"{rounds} rounds in {seconds:.0f} s; processes more than before: {left}", flush=True)
    return {"rounds": rounds, "seconds": seconds, "uses": seen, "processes_left": left}


def use(network: LocalNetwork) -> dict[str, tuple[float, int]]:
    """Memory and open files of each site's job, and of the relay's."""
    found = {}
    for name, process in network.processes.items():
        below = psutil.Process(process.pid).children(recursive=True)
        jobs = [
            p for p in below if "worker_process" in " ".join(p.cmdline()) or "runner_process" in " ".join(p.cmdline())
        ]
        if jobs:
            found[name] = of(jobs[0])
    return found


def of(process: psutil.Process) -> tuple[float, int]:
    return process.memory_info().rss / 1e6, process.num_fds()


def processes(network: LocalNetwork) -> dict[str, int]:
    return {n: len(psutil.Process(p.pid).children(recursive=True)) for n, p in network.processes.items()}


def kits(network: LocalNetwork) -> tuple[Any, Any]:
    return load_kit(network.kit(network.initiator), "site"), load_kit(network.kit("admin"), "admin")


PARTS = {"hops": hops, "run": run, "line": line, "soak": soak}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("parts", nargs="*", choices=[[], *PARTS], default=[])
    parser.add_argument("--small", action="store_true", help="small sizes, to see that it works")
    parser.add_argument("--out", type=Path, default=Path("out/network"))
    options = parser.parse_args()
    # The sites import this folder by its name, and assistlearn from where the caller has it.
    os.environ["PYTHONPATH"] = os.pathsep.join(map(str, filter(None, [ROOT, os.environ.get("PYTHONPATH")])))
    os.environ["OMP_NUM_THREADS"] = "1"
    options.out.mkdir(parents=True, exist_ok=True)
    for part in options.parts or PARTS:
        with tempfile.TemporaryDirectory() as folder:
            found = PARTS[part](Path(folder), options.small)
        (options.out / f"{part}.json").write_text(json.dumps(found, indent=2))


if __name__ == "__main__":
    main()
