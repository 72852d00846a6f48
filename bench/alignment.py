"""How long two agents take to find their shared samples: by keyed hash and by private set intersection.

    python -m bench.alignment [--quick] [--sizes 10000 100000 1000000] [--n-jobs 2] [--json]

Each side has as many ids as said, half of them shared, one side whole numbers and the other text, both shuffled. Both
agents run on this machine, one after the other, from the raw ids to the confirmed order. ``cpu`` adds up the processor
seconds of all processes: on a loaded machine, ``cpu / cores`` says what the seconds would have been. ``openmined`` is
openmined.psi's own protocol in one thread, for sizes up to ``--reference``.
"""

from __future__ import annotations

import argparse
import importlib
import json
import os
import resource
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
import polars as pl
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn
from rich.table import Table

from assistlearn.alignment import HashHelper, HashInitiator, Ids, PsiHelper, PsiInitiator
from assistlearn.alignment.psi import usable_cores

SECRET = b"a secret that both agents know"
COLUMNS = ("n", "way", "seconds", "cpu", "megabytes", "shared", "load")


def make_ids(n: int) -> tuple[np.ndarray[Any, Any], pl.Series]:
    rng = np.random.default_rng(0)
    ours = rng.permutation(n)
    theirs = pl.Series(rng.permutation(n) + n // 2).cast(pl.String) + " "
    return ours, theirs


def align(initiator: Any, helper: Any) -> tuple[int, int]:
    """Return the bytes exchanged and the number of shared samples."""
    request = initiator.start()
    answer = helper.answer(request)
    held = initiator.finish(answer)
    order = initiator.settle()
    reply = helper.agree(order)
    initiator.confirm(reply)
    assert np.array_equal(helper.rows >= 0, held)
    return len(request) + len(answer) + len(order) + len(reply), int(held.sum())


def by_hash(n: int, _: int, __: Callable[[str], Any]) -> tuple[int, int]:
    ours, theirs = make_ids(n)
    return align(HashInitiator(Ids(ours), SECRET), HashHelper(Ids(theirs), SECRET))


def by_psi(n: int, n_jobs: int, bar: Callable[[str], Any]) -> tuple[int, int]:
    ours, theirs = make_ids(n)
    initiator = PsiInitiator(Ids(ours), n_jobs=n_jobs, progress=bar("initiator"))
    return align(initiator, PsiHelper(Ids(theirs), n_jobs=n_jobs))


def by_openmined(n: int, _: int, __: Callable[[str], Any]) -> tuple[int, int]:
    psi = importlib.import_module("private_set_intersection.python")
    ours, theirs = (Ids(values).texts.to_list() for values in make_ids(n))
    client, server = psi.client.CreateWithNewKey(True), psi.server.CreateWithNewKey(True)
    setup = server.CreateSetupMessage(1e-9, n, theirs, psi.DataStructure.RAW)
    request = client.CreateRequest(ours)
    response = server.ProcessRequest(request)
    shared = client.GetIntersection(setup, response)
    return sum(len(message.SerializeToString()) for message in (setup, request, response)), len(shared)


def measure(way: Callable[..., tuple[int, int]], n: int, n_jobs: int, bar: Callable[[str], Any]) -> dict[str, Any]:
    cpu, start = cpu_seconds(), time.perf_counter()
    n_bytes, shared = way(n, n_jobs, bar)
    seconds = time.perf_counter() - start
    return {
        "n": n,
        "way": way.__name__.removeprefix("by_"),
        "seconds": round(seconds, 2),
        "cpu": round(cpu_seconds() - cpu, 2),
        "megabytes": round(n_bytes / 1e6, 2),
        "shared": shared,
        "load": round(os.getloadavg()[0], 1),
    }


def cpu_seconds() -> float:
    used = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(usage.ru_utime + usage.ru_stime for usage in used)


@contextmanager
def bars(console: Console) -> Iterator[Callable[[str], Any]]:
    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
        TimeRemainingColumn(),
    )
    with Progress(*columns, console=console, transient=True) as progress:

        def bar(who: str) -> Callable[[int, int], None]:
            task = progress.add_task(who, total=None)
            return lambda done, total: progress.update(task, completed=done, total=total)

        yield bar


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sizes", type=int, nargs="+", default=[10_000, 100_000, 1_000_000])
    parser.add_argument("--n-jobs", type=int, default=usable_cores())
    parser.add_argument("--reference", type=int, default=10_000, help="largest size for openmined.psi alone")
    parser.add_argument("--quick", action="store_true", help="1,000 and 10,000 ids")
    parser.add_argument("--json", action="store_true", help="one JSON object per line")
    arguments = parser.parse_args()
    sizes = [1_000, 10_000] if arguments.quick else arguments.sizes
    console = Console(stderr=arguments.json)
    results = []
    for n in sizes:
        for way in (by_hash, by_psi, by_openmined):
            if way is by_openmined and n > arguments.reference:
                continue
            with bars(console) as bar:
                results.append(measure(way, n, arguments.n_jobs, bar))
            if arguments.json:
                print(json.dumps(results[-1]), flush=True)
    if not arguments.json:
        show(results, arguments.n_jobs, console)


def show(results: list[dict[str, Any]], n_jobs: int, console: Console) -> None:
    table = Table(title=f"Alignment, both agents on this machine, {n_jobs} processes")
    for column in COLUMNS:
        table.add_column(column, justify="left" if column == "way" else "right")
    for result in results:
        table.add_row(*(f"{value:,}" if isinstance(value, int | float) else value for value in result.values()))
    console.print(table)


if __name__ == "__main__":
    main()
