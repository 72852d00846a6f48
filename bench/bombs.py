"""Forty small files that are large when they are read: what each costs, and what is said of it.

Usage::

    python -m bench.bombs                 # a table of all; each is read in a process of its own
    python -m bench.bombs --one NAME      # read one, in this process

A file of a few megabytes at most is made for each, and ``check`` (or the loading of a model) reads it with the limits
that hold where an agent's file says nothing. The table gives the file's size, seconds, and the peak of memory: without
what the empty program takes, but with all that a process takes that reads for it. And the error.
"""

from __future__ import annotations

import argparse
import contextlib
import gzip
import io
import os
import resource
import sqlite3
import struct
import subprocess
import sys
import tempfile
import threading
import time
import zipfile
from collections.abc import Callable, Iterator
from pathlib import Path

MB = 1_000_000
SECONDS, MEGABYTES = 10.0, 4_000.0
"""What reading any of them may take: the megabytes are ``max_memory`` of an agent's file that says nothing else."""


def packed(pieces: Iterator[bytes] | list[bytes]) -> bytes:
    """Return what the pieces are together, packed by gzip."""
    out = io.BytesIO()
    with gzip.open(out, "wb", 9) as file:
        for piece in pieces:
            file.write(piece)
    return out.getvalue()


def zeros(n: int, *, head: bytes = b"id,x\n", what: bytes = b"0") -> bytes:
    return packed([head, *([what * (MB // len(what))] * (n // MB)), b"\n"])


def again(text: bytes, n: int, head: bytes = b"id,x\n") -> bytes:
    """Return a line ``n`` times, packed."""
    each = 100_000
    return packed([head, *([text * each] * (n // each))])


def arrow(**columns: object) -> bytes:
    import pyarrow as pa
    import pyarrow.parquet as pq

    out = io.BytesIO()
    pq.write_table(pa.table(columns), out, compression="zstd")
    return out.getvalue()


def many_rows(n: int) -> bytes:
    """Return a Parquet file with groups of rows that are all the same."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    out, group = io.BytesIO(), 2_000_000
    one = pa.table({"id": pa.array([1] * group, pa.int64()), "x": pa.array([0.0] * group)})
    with pq.ParquetWriter(out, one.schema, compression="zstd") as writer:
        for _ in range(n // group):
            writer.write_table(one)
    return out.getvalue()


def long_texts(n_rows: int, n_bytes: int, **how: object) -> bytes:
    import pyarrow as pa
    import pyarrow.parquet as pq

    out = io.BytesIO()
    schema = pa.schema({"id": pa.int64(), "x": pa.large_string()})
    with pq.ParquetWriter(out, schema, compression="zstd", **how) as writer:
        for start in range(0, n_rows, 50):
            n = min(50, n_rows - start)
            table = pa.table({"id": range(start, start + n), "x": [f"{i}" + "x" * n_bytes for i in range(n)]}, schema)
            writer.write_table(table)
    return out.getvalue()


def nested(depth: int, kind: str) -> bytes:
    """Return a Parquet file whose schema is nested, written by hand: no library writes it."""
    element = {
        "list": lambda name, n: bytes([0x35, 2, 0x18, len(name)]) + name + bytes([0x15, 2 * n, 0]),
        "struct": lambda name, n: bytes([0x48, len(name)]) + name + bytes([0x15, 2 * n, 0]),
    }[kind]
    leaf = bytes([0x15, 2, 0x25, 2, 0x18, 1]) + b"x" + bytes([0])
    elements = [bytes([0x48, 6]) + b"schema" + bytes([0x15, 2, 0]), *(element(b"a", 1) for _ in range(depth)), leaf]
    listed = bytes([0xFC]) + varint(len(elements)) + b"".join(elements)
    footer = bytes([0x15, 2, 0x19]) + listed + bytes([0x16, 0, 0x19, 0x0C, 0])
    return b"PAR1" + footer + struct.pack("<I", len(footer)) + b"PAR1"


def varint(value: int) -> bytes:
    out = bytearray()
    while value > 127:
        out.append(value & 127 | 128)
        value >>= 7
    return bytes([*out, value])


def nested_by_arrow(depth: int) -> bytes:
    import pyarrow as pa

    kind: object = pa.int64()
    for _ in range(depth):
        kind = pa.list_(kind)
    return arrow(id=pa.array([1]), x=pa.array([None], kind))


def lying_footer() -> bytes:
    """Return a Parquet file whose footer says 3 values, and whose page says 2 million."""
    honest = many_rows(2_000_000)
    small = arrow(id=[1, 2, 3], x=[0.0, 0.0, 0.0])
    length = int.from_bytes(small[-8:-4], "little")
    return honest[: len(honest) - 8 - int.from_bytes(honest[-8:-4], "little")] + small[-8 - length :]


def huge_numbers() -> bytes:
    """Return a Parquet file whose footer says that it has 2**62 rows."""
    leaf = bytes([0x15, 2, 0x25, 0, 0x18, 2]) + b"id" + bytes([0])
    elements = [bytes([0x48, 6]) + b"schema" + bytes([0x15, 2, 0]), leaf]
    footer = bytes([0x15, 2, 0x19, 0x2C]) + b"".join(elements) + bytes([0x16]) + varint(2**63) + bytes([0x19, 0x0C, 0])
    return b"PAR1" + footer + struct.pack("<I", len(footer)) + b"PAR1"


def large_list_in_footer() -> bytes:
    footer = bytes([0x15, 2, 0x19, 0xFC]) + varint(2**31) + bytes(100)
    return b"PAR1" + footer + struct.pack("<I", len(footer)) + b"PAR1"


def same_long_text(n_rows: int, n_bytes: int) -> bytes:
    """Return a Parquet file in which one long text stands once, and every row refers to it."""
    import pyarrow as pa

    text = pa.DictionaryArray.from_arrays(pa.array([0] * n_rows, pa.int32()), ["x" * n_bytes])
    return arrow(id=pa.array(range(n_rows)), x=text)


def model(name: str, content: bytes) -> bytes:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as file, file.open(name, "w", force_zip64=True) as inner:
        for _ in range(1_500):
            inner.write(content)
    return out.getvalue()


def deep_schema() -> bytes:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as file:
        file.writestr("schema.json", b'{"content":' * 100_000 + b"1" + b"}" * 100_000)
    return out.getvalue()


def sqlite(query: str) -> Callable[[Path], str]:
    def make(folder: Path) -> str:
        sqlite3.connect(folder / "lab.sqlite").execute("create table t (id, x)").connection.commit()
        return f'query = "{query}"\ndatabase = "lab.sqlite"\n'

    return make


def duckdb(query: str) -> Callable[[Path], str]:
    return lambda folder: f'query = "{query}"\n'


def table(ending: str, content: Callable[[], bytes]) -> Callable[[Path], str]:
    def make(folder: Path) -> str:
        (folder / f"lab{ending}").write_bytes(content())
        return f'table = "lab{ending}"\n'

    return make


def toml(text: str) -> Callable[[Path], str]:
    return lambda folder: f'table = "lab.csv"\n{text}\n'


def names(n: int) -> bytes:
    return ",".join(["id", *(f"x{i}" for i in range(n))]).encode() + b"\n"


WHOLE = "with recursive c(x) as (select 1 union all select x + 1 from c) "

BOMBS: dict[str, Callable[[Path], str]] = {
    "gzip CSV, one cell of 1.5 GB": table(".csv.gz", lambda: zeros(1_500 * MB)),
    "gzip CSV, one cell of 1.5 GB in quotes": table(
        ".csv.gz", lambda: zeros(1_500 * MB, head=b'id,x\n1,"', what=b"0,")
    ),
    "gzip CSV, one cell of 1.5 GB of quotes": table(
        ".csv.gz", lambda: zeros(1_500 * MB, head=b'id,x\n1,"', what=b'""')
    ),
    "gzip CSV, a cell of line ends": table(".csv.gz", lambda: zeros(1_000 * MB, head=b'id,x\n1,"', what=b"\n")),
    "gzip CSV, 262 million rows": table(".csv.gz", lambda: again(b"1\n", 262 * MB, b"id\n")),
    "gzip CSV, 30 million rows": table(".csv.gz", lambda: again(b"1,2\n", 30 * MB)),
    "gzip CSV, 100 million empty lines": table(".csv.gz", lambda: again(b"\n", 100 * MB)),
    "gzip CSV, header of 1 GB": table(".csv.gz", lambda: zeros(1_000 * MB, head=b"id,")),
    "gzip CSV, 100 million columns": table(".csv.gz", lambda: zeros(200 * MB, head=b"id,", what=b"a,")),
    "gzip CSV, 5,000 columns, 15 million short rows": table(".csv.gz", lambda: again(b"1\n", 15 * MB, names(5_000))),
    "gzip CSV of gzip CSV": table(".csv.gz", lambda: packed([zeros(1_000 * MB)])),
    "gzip CSV of 400 members": table(".csv.gz", lambda: zeros(10 * MB) * 400),
    "gzip CSV, cut off": table(".csv.gz", lambda: zeros(1_000 * MB)[:-9]),
    "CSV, 100,000 columns": table(".csv", lambda: names(100_000) + b"1," * 100_000 + b"1\n"),
    "CSV, 9,000 columns, 2 million short rows": table(".csv", lambda: names(9_000) + b"1\n" * 2 * MB),
    "CSV, a cell of 4 MB": table(".csv", lambda: b"id,x\n1," + b"x" * 4 * MB + b"\n"),
    "Parquet, 300 million rows": table(".parquet", lambda: many_rows(300 * MB)),
    "Parquet, 30 million rows": table(".parquet", lambda: many_rows(30 * MB)),
    "Parquet, 1,500 texts of 2 MB": table(".parquet", lambda: long_texts(1_500, 2 * MB)),
    "Parquet, 3,000 texts of 900 kB": table(".parquet", lambda: long_texts(3_000, 900_000)),
    "Parquet, texts as prefixes of others": table(
        ".parquet", lambda: long_texts(1_000, 900_000, use_dictionary=False, column_encoding={"x": "DELTA_BYTE_ARRAY"})
    ),
    "Parquet, one text of 900 kB in a million rows": table(".parquet", lambda: same_long_text(MB, 900_000)),
    "Parquet, 20,000 columns": table(".parquet", lambda: arrow(id=[1], **{f"x{i}": [1] for i in range(20_000)})),
    "Parquet, lists 400 deep": table(".parquet", lambda: nested_by_arrow(400)),
    "Parquet, lists 20,000 deep": table(".parquet", lambda: nested(20_000, "list")),
    "Parquet, structs 100,000 deep": table(".parquet", lambda: nested(100_000, "struct")),
    "Parquet, pages that contradict the footer": table(".parquet", lying_footer),
    "Parquet, 2**62 rows": table(".parquet", huge_numbers),
    "Parquet, a list of 2**31 in the footer": table(".parquet", large_list_in_footer),
    "DuckDB, 10 billion rows": duckdb("select i as id, i % 2 as x from range(10000000000) t(i)"),
    "DuckDB, a value of 3 GB": duckdb("select 1 as id, repeat('x', 3000000000) as x"),
    "DuckDB, 100 values of 100 MB": duckdb("select i as id, repeat(i::text, 50000000) as x from range(10, 110) t(i)"),
    "SQLite, rows without end": sqlite(WHOLE + "select x as id, x from c"),
    "SQLite, a value of 900 MB": sqlite("select 1 as id, hex(zeroblob(450000000)) as x"),
    "TOML, tables 5,000 deep": toml("[" + ".".join("a" * 5_000) + "]"),
    "TOML, lists 5,000 deep": toml("a = " + "[" * 5_000 + "]" * 5_000),
    "TOML, a number of 5,000 digits": toml("read_seconds = " + "9" * 5_000),
    "TOML, 4 MB": toml("# " + "x" * 4 * MB),
    "model, 1.5 GB of zeros": lambda folder: str((folder / "model.skops").write_bytes(model("1.npy", bytes(MB)))),
    "model, text of 1.5 GB": lambda folder: str((folder / "model.skops").write_bytes(model("schema.json", b" " * MB))),
    "model, 100,000 deep": lambda folder: str((folder / "model.skops").write_bytes(deep_schema())),
}


def make(name: str, folder: Path) -> int:
    """Write the files of a bomb, and return how many bytes they have."""
    said = BOMBS[name](folder)
    if not name.startswith("model"):
        learner = 'learner = "sklearn.tree.DecisionTreeClassifier"\n'
        (folder / "lab.toml").write_text(f'name = "lab"\nid = "id"\n{learner}{said}')
    return sum(path.stat().st_size for path in folder.iterdir())


def read(name: str, folder: Path) -> str:
    """Read a bomb as an agent would; return the error, or nothing."""
    from assistlearn.errors import AssistLearnError

    try:
        if name.startswith("model"):
            from assistlearn.learners.model import load_model

            load_model(folder / "model.skops")
        else:
            from assistlearn.agent.loading import load_agent

            load_agent(folder / "lab.toml")
    except AssistLearnError as error:
        return " ".join(str(error).split())
    return ""


def watch_readers(peaks: dict[str, int]) -> None:
    """Keep the peak of memory, in kilobytes, of each process that this one has begun."""
    children = Path(f"/proc/{os.getpid()}/task/{os.getpid()}/children")
    while True:
        for child in children.read_text().split():
            with contextlib.suppress(OSError, IndexError):
                status = Path(f"/proc/{child}/status").read_text()
                peaks[child] = int(status.partition("VmHWM:")[2].split()[0])
        time.sleep(0.005)


def one(name: str, folder: Path) -> None:
    """Read a bomb that is there, and print seconds, megabytes and the error."""
    import sklearn.tree  # noqa: F401 paid for before the clock runs
    from skops import io as _  # noqa: F401

    from assistlearn.agent.loading import load_agent  # noqa: F401
    from assistlearn.learners import model as models_on_disk  # noqa: F401

    peaks: dict[str, int] = {}
    threading.Thread(target=watch_readers, args=(peaks,), daemon=True).start()
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    start = time.perf_counter()
    error = read(name, folder)
    seconds = time.perf_counter() - start
    grown = (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before + max(peaks.values(), default=0)) / 1024
    print(f"{seconds}\t{grown}\t{error}")


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--one")
    parser.add_argument("--folder", type=Path)
    parser.add_argument("--only", default="")
    asked = parser.parse_args()
    if asked.one:
        one(asked.one, asked.folder)
        return
    failed = []
    print("| file | kB | seconds | MB | error |\n| --- | --- | --- | --- | --- |")
    for name in (name for name in BOMBS if asked.only in name):
        with tempfile.TemporaryDirectory() as folder:
            size = make(name, Path(folder))
            command = [sys.executable, "-m", "bench.bombs", "--one", name, "--folder", folder]
            try:
                done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
                code, said = done.returncode, done.stdout
            except subprocess.TimeoutExpired:
                code, said = None, ""
            seconds, grown, error = said.rstrip("\n").split("\t") if said.count("\t") == 2 else ("60", "0", "")
            error = error.replace(folder + "/", "")
            good = code == 0 and bool(error) and float(seconds) <= SECONDS and float(grown) <= MEGABYTES
            failed += [] if good else [name]
            shown = error if len(error) < 130 else error[:127] + "..."
            print(
                f"| {name} | {size / 1e3:,.0f} | {float(seconds):.1f} | {float(grown):,.0f} | {shown or code} |",
                flush=True,
            )
    print(f"\n{len(BOMBS)} files; not as they should be: {', '.join(failed) or 'none'}")
    sys.exit(bool(failed))


if __name__ == "__main__":
    main()
