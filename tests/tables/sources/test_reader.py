"""The process that reads for another: what happens to it is one error there, and it is gone when it should be."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time

import polars as pl
import pytest

from assistlearn.errors import TableError
from assistlearn.tables.settings import ReadingLimits
from assistlearn.tables.sources.reader import apart

LIMITS = ReadingLimits(max_memory=100)


def frame(n):
    return pl.DataFrame({f"x{i}": range(n) for i in range(100)})


def variable(name):
    return [os.getpid(), os.getcwd(), os.environ.get(name)]


@pytest.mark.parametrize(
    ("work", "argument", "said"),
    [
        (os.kill, [0, signal.SIGSEGV], r"ended by SIGSEGV.* max_memory allows, 100 megabytes.* raise max_memory"),
        (os._exit, [3], "failed with exit code 3"),
        (bytearray, [2_000_000_000], r"more than max_memory allows, 100 megabytes"),
        (time.sleep, [30], r"longer than read_seconds allows, 0\.5 s"),
    ],
)
def test_what_ends_the_reader_is_one_error_and_the_next_one_reads(work, argument, said):
    began = time.monotonic()
    with pytest.raises(TableError, match=f"lab.parquet is not read: .*{said}"):
        apart(work, argument, "lab.parquet", LIMITS, 0.5 if work is time.sleep else 60.0)
    assert time.monotonic() - began < 10
    assert apart(frame, [3], "lab.parquet", LIMITS, 60.0).equals(frame(3))


def test_an_error_of_the_work_is_raised_here():
    with pytest.raises(FileNotFoundError, match="nothing"):
        apart(os.listdir, ["/nothing"], "lab.parquet", LIMITS, 60.0)
    with pytest.raises(pl.exceptions.DuplicateError):
        apart(twice, [], "lab.parquet", LIMITS, 60.0)


def twice():
    return pl.DataFrame([pl.Series("a", [1]), pl.Series("a", [1])])


def test_a_reader_is_used_again_and_sees_the_folder_and_the_variables_of_now(monkeypatch, tmp_path):
    first = apart(variable, ["LAB"], "lab.parquet", LIMITS, 60.0)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("LAB", "here")
    assert apart(variable, ["LAB"], "lab.parquet", LIMITS, 60.0) == [first[0], os.getcwd(), "here"]
    assert first[0] != os.getpid()


def test_a_reader_ends_with_the_process_that_began_it():
    program = (
        "from assistlearn.tables.sources.reader import apart\nfrom assistlearn.tables.settings import ReadingLimits\n"
        "import os, time\nprint(apart(os.getpid, [], 'x', ReadingLimits(), 60.0), flush=True)\ntime.sleep(60)"
    )
    with subprocess.Popen([sys.executable, "-c", program], stdout=subprocess.PIPE, text=True) as process:
        reader = int(process.stdout.readline())
        os.kill(reader, 0)
        process.kill()
    for _ in range(100):
        try:
            os.kill(reader, 0)
        except ProcessLookupError:
            return
        time.sleep(0.1)
    pytest.fail("the reader is still there")
