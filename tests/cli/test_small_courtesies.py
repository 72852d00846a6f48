"""What one expects of any command: names that do not collide, and quiet when the reader has gone."""

from __future__ import annotations

import os
import subprocess
import sys

from assistlearn.cli.run_name import new_name


def test_runs_that_begin_within_a_second_have_different_names():
    assert len({new_name("run") for _ in range(20)}) == 20


def test_a_reader_who_has_seen_enough_is_no_error():
    reader, writer = os.pipe()
    os.close(reader)  # as of `| head`, once it has its lines
    with os.fdopen(writer, "wb") as pipe:
        ended = subprocess.run(
            [sys.executable, "-m", "assistlearn", "--help"],
            stdout=pipe,
            stderr=subprocess.PIPE,
            check=False,
            timeout=60,
        )
    assert ended.returncode == 0
    assert ended.stderr == b""
