"""Which engine reads an agent's table: Polars or DuckDB, CSV and Parquet, time and peak memory.

    python -m bench.tables [--quick] [--rows 1000000] [--repeats 5] [--json] [--write]

The table has an id, 16 columns of floats, 2 of integers and 2 of text. Each engine reads all of it, or 4 of the 20
columns, in a process of its own, up to a Polars frame; ``checked`` is what an agent does: the same, then kinds, ids and
values checked, and the fingerprint. The repeats go round the engines in turn. Seconds and processor seconds (of all
threads) are the best of them, since a busy machine only ever adds; memory is the median of the peaks beyond what the
process had after its imports.

``--write`` puts the result into tables.md beside this file.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import polars as pl
from rich.console import Console
from rich.progress import track
from rich.table import Table

from assistlearn.agent.file import parse_description
from assistlearn.tables.table import read_table
from bench.evidence_page import ROOT, put

PAGE = ROOT / "bench" / "tables.md"
FEW = ["x0", "x1", "k0", "c0"]
COLUMNS = [*(f"x{n}" for n in range(16)), "k0", "k1", "c0", "c1"]


def write_tables(folder: Path, n_rows: int) -> None:
    rng = np.random.default_rng(0)
    towns = np.array(["north", "south", "east", "west", "unknown"])
    values: dict[str, Any] = {"id": [f"p-{n:08d}" for n in rng.permutation(n_rows)]}
    values |= {f"x{n}": rng.normal(size=n_rows).round(6) for n in range(16)}
    values |= {f"k{n}": rng.integers(0, 100, n_rows) for n in range(2)}
    values |= {f"c{n}": towns[rng.integers(0, 5, n_rows)] for n in range(2)}
    frame = pl.DataFrame(values)
    frame.write_csv(folder / "table.csv")
    frame.write_parquet(folder / "table.parquet")


def by_polars(file: Path, columns: list[str], streaming: bool = False, looked_at: int | None = 10_000) -> None:
    scan = pl.scan_parquet(file) if file.suffix == ".parquet" else pl.scan_csv(file, infer_schema_length=looked_at)
    scan.select(["id", *columns]).collect(engine="streaming" if streaming else "in-memory")


def by_duckdb(file: Path, columns: list[str]) -> None:
    with duckdb.connect() as connection:
        pl.DataFrame(connection.sql(f"select {', '.join(['id', *columns])} from '{file}'"))


def checked(file: Path, columns: list[str]) -> None:
    values = {"name": "lab", "table": file.name, "id": "id", "learner": "a.B", "features": {"include": columns}}
    _ = read_table(parse_description(values, file.parent / "lab.toml")).fingerprint


ENGINES: dict[str, Callable[[Path, list[str]], None]] = {
    "Polars": by_polars,
    "Polars, streaming": lambda file, columns: by_polars(file, columns, streaming=True),
    "DuckDB": by_duckdb,
    "checked": checked,
}
EVERY_ROW = "Polars, every row looked at"


def peak_mebibytes() -> float:
    """Return the most memory that this process has had; unlike getrusage's, it is not inherited from the parent."""
    status = Path("/proc/self/status").read_text()
    return int(status.partition("VmHWM:")[2].split()[0]) / 1024


def measure_here(engine: str, file: Path, columns: list[str]) -> dict[str, float]:
    before, start, cpu = peak_mebibytes(), time.perf_counter(), time.process_time()
    if engine == EVERY_ROW:
        by_polars(file, columns, looked_at=None)
    else:
        ENGINES[engine](file, columns)
    return {
        "seconds": time.perf_counter() - start,
        "cpu": time.process_time() - cpu,
        "mebibytes": peak_mebibytes() - before,
    }


def measure(engine: str, file: Path, columns: list[str]) -> dict[str, float]:
    command = [sys.executable, __file__, "--one", engine, str(file), ",".join(columns)]
    return json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)


def compare(folder: Path, repeats: int) -> list[dict[str, Any]]:
    cases = [(ending, columns) for ending in ("csv", "parquet") for columns in (COLUMNS, FEW)]
    runs: dict[Any, list[dict[str, float]]] = {}
    plan = [(e, ending, len(columns)) for _ in range(repeats) for ending, columns in cases for e in ENGINES]
    for engine, ending, width in track(plan, console=Console(stderr=True), description="reading"):
        columns = COLUMNS if width == len(COLUMNS) else FEW
        runs.setdefault((ending, width, engine), []).append(measure(engine, folder / f"table.{ending}", columns))
    runs["csv", len(COLUMNS), EVERY_ROW] = [measure(EVERY_ROW, folder / "table.csv", COLUMNS)]
    return [
        {
            "format": ending,
            "columns": width,
            "engine": engine,
            "seconds": round(min(run["seconds"] for run in times), 3),
            "cpu": round(min(run["cpu"] for run in times), 3),
            "mebibytes": round(statistics.median(run["mebibytes"] for run in times)),
        }
        for (ending, width, engine), times in runs.items()
    ]


def as_markdown(results: list[dict[str, Any]], n_rows: int, repeats: int) -> str:
    lines = [
        f"{n_rows:,} rows, an id and 20 columns. Seconds and, in brackets, processor seconds: best of {repeats}; peak "
        "memory beyond the imports: median. "
        f"Polars {pl.__version__}, DuckDB {duckdb.__version__}, Python {platform.python_version()}, "
        f"{os.cpu_count()} cores, load average {os.getloadavg()[2]:.1f}: where that exceeds the cores, the processor "
        "seconds are the fairer ones.",
        "",
        "| read | " + " | ".join(ENGINES) + " |",
        "| --- |" + " --- |" * len(ENGINES),
    ]
    for ending in ("csv", "parquet"):
        for width in (len(COLUMNS), len(FEW)):
            found = {r["engine"]: r for r in results if (r["format"], r["columns"]) == (ending, width)}
            cells = [
                f"{found[e]['seconds']:.2f} s ({found[e]['cpu']:.2f}), {found[e]['mebibytes']} MiB" for e in ENGINES
            ]
            name = {"csv": "CSV", "parquet": "Parquet"}[ending]
            lines.append(f"| {name}, {width} columns | " + " | ".join(cells) + " |")
    slow = next(r for r in results if r["engine"] == EVERY_ROW)
    lines += [
        "",
        "With Polars' own look at every row of the CSV file before reading (`infer_schema_length=None`), once: "
        f"{slow['seconds']:.0f} s ({slow['cpu']:.0f}), {slow['mebibytes']} MiB.",
    ]
    return "\n".join(lines)


def show(results: list[dict[str, Any]]) -> None:
    table = Table("format", "columns", "engine", "seconds", "cpu", "peak MiB", title="Reading a table")
    for row in results:
        numbers = [f"{row['seconds']:.2f}", f"{row['cpu']:.2f}", str(row["mebibytes"])]
        table.add_row(row["format"], str(row["columns"]), row["engine"], *numbers)
    Console().print(table)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--quick", action="store_true", help="20,000 rows, once")
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--write", action="store_true", help="put the result into bench/tables.md")
    parser.add_argument("--one", nargs=3, metavar=("ENGINE", "FILE", "COLUMNS"), help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.one:
        engine, file, columns = options.one
        print(json.dumps(measure_here(engine, Path(file), columns.split(","))))
        return
    n_rows, repeats = (20_000, 1) if options.quick else (options.rows, options.repeats)
    with tempfile.TemporaryDirectory() as folder:
        write_tables(Path(folder), n_rows)
        results = compare(Path(folder), repeats)
    if options.json:
        print(json.dumps(results, indent=2))
    else:
        show(results)
    if options.write:
        put(PAGE, "bench/tables.py", as_markdown(results, n_rows, repeats), "python -m bench.tables")


if __name__ == "__main__":
    main()
