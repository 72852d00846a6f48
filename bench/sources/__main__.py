"""How long an agent needs to read the same table from each kind of place, beside Polars' own reading of it.

    python -m bench.sources [--quick] [--rows 1000000] [--repeats 5] [--json] [--write]

The table has an id, 16 columns of floats, 2 of integers and 2 of text. ``polars`` is what a user would write:
``read_csv``, ``read_parquet``, ``read_database_uri`` (with ADBC), each with the path or URL. The rows of the database
are in no order, and only the agent asks for one. ``agent`` is what an agent does, with the command line's setting of
Polars' memory: it reads the same, checks kinds, ids and values, and takes the fingerprint. Each reading is a process of
its own, and the repeats go round all of them in turn; times and peaks of memory beyond the imports are medians. What
the process takes that reads Parquet for an agent is counted in. The servers are real ones on loopback: PostgreSQL and
S3 (moto's). ``--write`` puts the result into bench/tables.md.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import resource
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
from rich.console import Console
from rich.progress import track
from rich.table import Table

from assistlearn.cli import BACK_SOON, MEMORY_VARIABLE
from bench.evidence_page import put
from bench.sources import servers
from bench.tables import PAGE, peak_mebibytes

IMPORTED = 48.0
"""MiB that a process has which has imported Polars."""

NAMES = {
    "csv": "CSV",
    "parquet": "Parquet",
    "folder": "folder of 4 Parquet files",
    "postgres": "PostgreSQL",
    "s3 parquet": "S3, Parquet",
    "s3 csv": "S3, CSV",
}
TABLE = "bench_visits"
QUERY = f"select * from {TABLE}"


def made(n_rows: int) -> pl.DataFrame:
    """Return the table."""
    rng = np.random.default_rng(0)
    towns = np.array(["north", "south", "east", "west", "unknown"])
    values: dict[str, Any] = {"id": [f"p-{n:08d}" for n in range(n_rows)]}
    values |= {f"x{n}": rng.normal(size=n_rows).round(6) for n in range(16)}
    values |= {f"k{n}": rng.integers(0, 100, n_rows) for n in range(2)}
    values |= {f"c{n}": towns[rng.integers(0, 5, n_rows)] for n in range(2)}
    return pl.DataFrame(values)


@contextmanager
def everywhere(n_rows: int) -> Iterator[dict[str, str]]:
    """Start the servers, put the table into every place, and hand over where it is."""
    with ExitStack() as stack:
        s3 = stack.enter_context(servers.s3())
        found = None if servers.postgres_programs() is None else stack.enter_context(servers.postgres()).url
        os.environ |= s3 | {"PGPASSWORD": servers.PASSWORD}
        yield stack.enter_context(put_everywhere(made(n_rows), s3, found))


@contextmanager
def put_everywhere(frame: pl.DataFrame, s3: dict[str, str], postgres: str | None) -> Iterator[dict[str, str]]:
    """Put a table into files and into servers that run, and hand over where it is."""
    with tempfile.TemporaryDirectory() as home:
        folder = Path(home)
        frame.write_csv(folder / "table.csv")
        frame.write_parquet(folder / "table.parquet")
        (folder / "parts").mkdir()
        for n, part in enumerate(frame.iter_slices(-(-len(frame) // 4))):
            part.write_parquet(folder / "parts" / f"{n}.parquet")
        places = {"csv": f"{folder}/table.csv", "parquet": f"{folder}/table.parquet", "folder": f"{folder}/parts/"}
        servers.put(s3, "lab", {f"table.{end}": (folder / f"table.{end}").read_bytes() for end in ("csv", "parquet")})
        places |= {f"s3 {end}": f"s3://lab/table.{end}" for end in ("parquet", "csv")}
        if postgres is not None:
            frame.sample(fraction=1.0, shuffle=True, seed=0).write_database(TABLE, postgres, engine="adbc")
            places["postgres"] = postgres
        yield {name: places[name] for name in NAMES if name in places}


def by_polars(place: str) -> pl.DataFrame:
    if place.startswith("postgresql:"):
        return pl.read_database_uri(QUERY, place, engine="adbc")
    return pl.read_csv(place) if place.endswith(".csv") else pl.read_parquet(place)


def by_agent(place: str) -> str:
    from assistlearn.agent.file import parse_description
    from assistlearn.tables.table import read_table

    where = (
        {"query": QUERY, "database": place, "local_server": True}
        if place.startswith("postgresql:")
        else {"table": place}
    )
    values = {"name": "lab", "id": "id", "learner": "a.B", **where}
    return read_table(parse_description(values, Path("lab.toml"))).fingerprint


def measure_here(who: str, place: str) -> dict[str, Any]:
    import assistlearn.tables  # noqa: F401 both have paid for the same imports
    from assistlearn.tables.sources.reader import end_readers

    together = [0.0]
    threading.Thread(target=watch, args=(together,), daemon=True).start()
    before, start, cpu = peak_mebibytes(), time.perf_counter(), time.process_time()
    found = by_polars(place) if who == "polars" else by_agent(place)
    seconds, used = time.perf_counter() - start, time.process_time() - cpu
    peak = max(peak_mebibytes() - before, together[0])
    end_readers()
    readers = resource.getrusage(resource.RUSAGE_CHILDREN)
    used += readers.ru_utime + readers.ru_stime
    size = found.estimated_size("mb") if isinstance(found, pl.DataFrame) else 0.0
    fingerprint = found if isinstance(found, str) else ""
    return {"seconds": seconds, "cpu": used, "mebibytes": peak, "size": size, "fingerprint": fingerprint}


def watch(together: list[float]) -> None:
    """Keep the most memory that this process and its readers have at one time, beyond what each has at first."""
    tasks = Path(f"/proc/{os.getpid()}/task/{os.getpid()}/children")
    first: dict[str, float] = {str(os.getpid()): resident(os.getpid())}
    while True:
        processes = [str(os.getpid()), *tasks.read_text().split()]
        now = {each: resident(each) for each in processes}
        total = sum(max(now[each] - first.get(each, IMPORTED), 0.0) for each in processes)
        together[0] = max(together[0], total)
        time.sleep(0.003)


def resident(process: int | str) -> float:
    """Return a process' memory in MiB, 0 when it has ended."""
    try:
        return int(Path(f"/proc/{process}/statm").read_text().split()[1]) * resource.getpagesize() / 2**20
    except (OSError, IndexError):
        return 0.0


def measure(who: str, place: str) -> dict[str, Any]:
    command = [sys.executable, "-m", "bench.sources", "--one", who, place]
    variables = {name: value for name, value in os.environ.items() if name != MEMORY_VARIABLE}
    if who == "agent":
        variables[MEMORY_VARIABLE] = BACK_SOON
    done = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True, env=variables)
    found: dict[str, Any] = json.loads(done.stdout)
    return found


def compare(n_rows: int, repeats: int) -> list[dict[str, Any]]:
    runs: dict[tuple[str, str], list[dict[str, Any]]] = {}
    with everywhere(n_rows) as places:
        plan = [(name, who) for _ in range(repeats) for name in places for who in ("polars", "agent")]
        for name, who in track(plan, console=Console(stderr=True), description="reading"):
            runs.setdefault((name, who), []).append(measure(who, places[name]))
    size = runs["parquet", "polars"][0]["size"]
    return [_row(name, runs[name, "polars"], runs[name, "agent"], size) for name in places]


def _row(name: str, polars: list[dict[str, Any]], agent: list[dict[str, Any]], size: float) -> dict[str, Any]:
    def middle(runs: list[dict[str, Any]], key: str) -> float:
        return statistics.median(run[key] for run in runs)

    (fingerprint,) = {run["fingerprint"] for run in agent}
    found: dict[str, Any] = {"place": name, "fingerprint": fingerprint, "table_mebibytes": round(size, 1)}
    for who, runs in (("polars", polars), ("agent", agent)):
        found |= {f"{who}_{key}": round(middle(runs, key), 3) for key in ("seconds", "cpu", "mebibytes")}
    found["times"] = round(found["agent_seconds"] / found["polars_seconds"], 2)
    found["memory"] = round(found["agent_mebibytes"] / size, 2)
    return found


def as_markdown(rows: list[dict[str, Any]], n_rows: int, repeats: int) -> str:
    lines = [
        f"{n_rows:,} rows, an id and 20 columns, {rows[0]['table_mebibytes']:.0f} MiB in memory. Seconds, in brackets "
        f"processor seconds, and peak memory beyond the imports: medians of {repeats}. Polars {pl.__version__}, Python "
        f"{platform.python_version()}, {os.cpu_count()} cores, which the servers use, too.",
        "",
        "| from | Polars alone | an agent | times | memory, in tables |",
        "| --- | --- | --- | --- | --- |",
    ]
    for row in rows:
        cells = [
            f"{row[f'{who}_seconds']:.2f} s ({row[f'{who}_cpu']:.2f}), {row[f'{who}_mebibytes']:.0f} MiB"
            for who in ("polars", "agent")
        ]
        lines.append(f"| {NAMES[row['place']]} | {' | '.join(cells)} | {row['times']:.2f} | {row['memory']:.2f} |")
    return "\n".join(lines)


def show(rows: list[dict[str, Any]]) -> None:
    table = Table("from", "Polars s", "agent s", "times", "Polars MiB", "agent MiB", "in tables", "fingerprint")
    for row in rows:
        numbers = [f"{row[key]:.2f}" for key in ("polars_seconds", "agent_seconds", "times")]
        memory = [f"{row['polars_mebibytes']:.0f}", f"{row['agent_mebibytes']:.0f}", f"{row['memory']:.2f}"]
        table.add_row(NAMES[row["place"]], *numbers, *memory, row["fingerprint"][:8])
    Console().print(table)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--quick", action="store_true", help="2,000 rows, once")
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--write", action="store_true", help="put the result into bench/tables.md")
    parser.add_argument("--one", nargs=2, metavar=("WHO", "PLACE"), help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.one:
        print(json.dumps(measure_here(*options.one)))
        return
    n_rows, repeats = (2_000, 1) if options.quick else (options.rows, options.repeats)
    rows = compare(n_rows, repeats)
    if options.json:
        print(json.dumps(rows, indent=2))
    else:
        show(rows)
    if options.write:
        put(PAGE, "bench/sources", as_markdown(rows, n_rows, repeats), "python -m bench.sources")


if __name__ == "__main__":
    main()
