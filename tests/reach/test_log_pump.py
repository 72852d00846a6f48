"""The log's pipe is read whatever happens to the disk and the screen; what they did not take is counted and told."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from assistlearn.reach.flare.site.log_pump import LogPump, Screen
from assistlearn.reach.flare.site.rotating_log import RotatingLog, cut_back
from assistlearn.reach.flare.site.signs import Signs, sign
from tests.reach.small_disk import small_disk

MUCH = 4_000
"""Lines that are more than a pipe holds, many times over."""


def speaker(script: str, stdin: int = subprocess.DEVNULL) -> subprocess.Popen[bytes]:
    """Start a process that says something."""
    return subprocess.Popen([sys.executable, "-u", "-c", script], stdout=subprocess.PIPE, stdin=stdin)


def counting(n: int) -> str:
    return f"import sys\nfor i in range({n}): print(f'line {{i:06d}} ' + 'x' * 100)"


def pumped(
    process: subprocess.Popen[bytes],
    write: Callable[[bytes], None],
    show: Callable[[str], None] | None = None,
    take: Callable[[bytes], bytes] = lambda line: line,
) -> LogPump:
    assert process.stdout is not None
    pump = LogPump(process.stdout, write, show, take)
    pump.start()
    return pump


def test_a_process_that_says_much_ends_although_the_disk_is_full_and_the_log_then_says_what_is_missing(tmp_path):
    with small_disk(tmp_path / "disk", "64k") as disk:
        log = RotatingLog(disk.path / "site.log")
        script = counting(MUCH) + "\nprint('half')\nsys.stdin.read()\n" + counting(3).replace("line", "late")
        process = speaker(script, subprocess.PIPE)
        assert process.stdin is not None
        disk.fill()
        pump = pumped(process, log.write)
        until = time.monotonic() + 30
        while "half" not in pump.last:
            assert time.monotonic() < until, "the process hangs on its full pipe"
            time.sleep(0.05)
        while pump.file.lost <= MUCH:
            time.sleep(0.05)
        lost = pump.file.lost
        disk.make_room()
        process.stdin.close()
        assert process.wait(30) == 0
        pump.join(10)
        written = (disk.path / "site.log").read_text().splitlines()
        log.close()
    assert lost == MUCH + 1
    assert written[0] == f"assistlearn: {lost} lines of this log are missing here: [Errno 28] No space left on device"
    assert [line[:11] for line in written[1:]] == ["late 000000", "late 000001", "late 000002"]


def test_a_line_that_the_disk_takes_half_of_is_not_left_there(tmp_path):
    with small_disk(tmp_path / "disk", "16k") as disk:
        log = RotatingLog(disk.path / "site.log")
        log.write(b"first\n")
        with pytest.raises(OSError, match="No space left"):
            log.write(b"x" * 2**20 + b"\n")
        assert (disk.path / "site.log").read_bytes() == b"first\n"
        log.write(b"last\n")
        assert (disk.path / "site.log").read_bytes() == b"first\nlast\n"
        log.close()


def test_a_file_that_refuses_everything_leaves_the_screen_as_it_is(tmp_path):
    log = RotatingLog(Path("/dev/full"))
    shown: list[str] = []
    process = speaker(counting(MUCH))
    pump = pumped(process, log.write, shown.append)
    pump.join(30)
    assert process.wait(10) == 0
    assert (len(shown), pump.file.lost) == (MUCH, MUCH)
    log.close()


def test_a_closed_screen_leaves_the_file_as_it_is(tmp_path):
    ours, theirs = os.pipe()
    os.close(ours)  # as after: assistlearn site start KIT | head
    screen = Screen(theirs)
    log = RotatingLog(tmp_path / "site.log")
    process = speaker(counting(MUCH))
    pump = pumped(process, log.write, screen.show)
    pump.join(30)
    screen.close(10)
    assert process.wait(10) == 0
    assert len((tmp_path / "site.log").read_text().splitlines()) == MUCH
    os.close(theirs)
    log.close()


def test_a_screen_that_stands_still_holds_nobody_up_and_says_later_how_much_it_missed(tmp_path):
    ours, theirs = os.pipe()  # as after Ctrl-S
    screen = Screen(theirs)
    log = RotatingLog(tmp_path / "site.log")
    process = speaker(counting(MUCH))
    pump = pumped(process, log.write, screen.show)
    pump.join(30)
    assert process.wait(10) == 0
    assert len((tmp_path / "site.log").read_text().splitlines()) == MUCH
    begun = time.monotonic()
    screen.close(0.2)
    assert time.monotonic() - begun < 5
    os.set_blocking(ours, False)
    seen = b""
    while b"are missing here" not in seen:
        try:
            seen += os.read(ours, 2**16)
        except BlockingIOError:
            screen.show("one more")
            time.sleep(0.01)
    assert b"lines of this log are missing here: the screen was too slow" in seen
    log.close()


def test_a_screen_that_takes_a_few_lines_while_it_is_closed_is_not_waited_for_twice():
    ours, theirs = os.pipe()
    screen = Screen(theirs)
    until = time.monotonic() + 5
    while not screen._waiting.full() or screen._outlet.lost < 500:  # the pipe is full, and so is the queue
        assert time.monotonic() < until
        screen.show("x" * 1_000)
        time.sleep(0.0001)
    late = threading.Timer(0.8, lambda: os.read(ours, 2**16))
    late.start()
    begun = time.monotonic()
    screen.close(1.0)
    assert 0.9 < time.monotonic() - begun < 1.5
    late.join()
    os.close(ours)  # so that what still waits is refused at once
    screen._thread.join(5)
    os.close(theirs)


def test_a_line_without_an_end_is_cut_before_it_fills_the_memory(tmp_path):
    log = RotatingLog(tmp_path / "site.log")
    process = speaker("import sys\nsys.stdout.write('x' * 1_000_000)")
    pump = pumped(process, log.write)
    pump.join(30)
    process.wait(10)
    lines = (tmp_path / "site.log").read_bytes().splitlines()
    assert max(map(len, lines)) <= 2**16
    assert sum(map(len, lines)) == 1_000_000
    log.close()


def test_what_stood_unfinished_before_a_sign_of_life_is_passed_on_without_the_sign(tmp_path):
    log, signs = RotatingLog(tmp_path / "site.log"), Signs()
    given = sign(signs.word, connected=True).decode()
    process = speaker(f"print({'first' + chr(10) + given + '  an error that ' + given + 'goes on' + chr(10) * 2!r})")
    pump = pumped(process, log.write, None, signs.take)
    pump.join(30)
    process.wait(10)
    log.close()
    assert signs.connected
    assert (tmp_path / "site.log").read_text().splitlines() == ["first", "  an error that", "goes on", "", ""]


def test_nothing_that_a_terminal_would_obey_gets_into_the_log_or_onto_the_screen(tmp_path):
    log, shown = RotatingLog(tmp_path / "site.log"), []
    process = speaker(r"print('job of \x1b]0;owned\x07 \x9b2J \r caf\u00e9')")
    pump = pumped(process, log.write, shown.append)
    pump.join(30)
    process.wait(10)
    log.close()
    assert shown == ["job of ?]0;owned? ?2J ? café"]
    assert (tmp_path / "site.log").read_text() == shown[0] + "\n"


@settings(max_examples=30, deadline=None)
@given(
    lengths=st.lists(st.integers(0, 300), min_size=1, max_size=200),
    limit=st.integers(50, 1000),
    kept=st.integers(0, 3),
)
def test_a_log_never_has_more_than_its_limit_and_what_is_there_is_the_end_in_order(
    tmp_path_factory, lengths, limit, kept
):
    folder = tmp_path_factory.mktemp("logs")
    log = RotatingLog(folder / "site.log", limit, kept)
    lines = [f"{i}:".encode() + b"x" * length + b"\n" for i, length in enumerate(lengths)]
    for line in lines:
        log.write(line)
    log.close()
    parts = [folder / f"site.log.{i}" for i in range(kept, 0, -1)] + [folder / "site.log"]
    assert set(folder.iterdir()) <= set(parts)
    assert all(part.stat().st_size <= max(limit, max(map(len, lines))) for part in parts if part.exists())
    there = b"".join(part.read_bytes() for part in parts if part.exists())
    assert b"".join(lines).endswith(there)
    assert there.endswith(lines[-1])


def test_a_log_that_another_process_appends_to_is_cut_back_under_its_hands(tmp_path):
    path = tmp_path / "audit.log"
    script = f"import sys\nlog = open({str(path)!r}, 'a')\nfor line in sys.stdin: log.write(line); log.flush(); print()"
    process = speaker(script, subprocess.PIPE)
    assert process.stdin is not None
    assert process.stdout is not None
    for i in range(100):
        process.stdin.write(f"event {i} {'x' * 100}\n".encode())
        process.stdin.flush()
        process.stdout.readline()
        cut_back(path, limit=2_000)
        assert sum(part.stat().st_size for part in tmp_path.iterdir()) < 5_000
    process.communicate(timeout=10)
    assert path.read_text().endswith(f"event 99 {'x' * 100}\n")
    assert b"\0" not in path.read_bytes()


def test_a_disk_without_room_for_the_older_part_does_not_stop_anybody(tmp_path, monkeypatch):
    path = tmp_path / "audit.log"
    path.write_bytes(b"x" * 3_000)

    def full(source, target):
        Path(target).write_bytes(b"half")
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("shutil.copyfile", full)
    cut_back(path, limit=2_000)
    assert path.read_bytes() == b""
    assert not (tmp_path / "audit.log.1").exists()


def test_a_log_is_its_owners_alone_and_no_planted_link_is_followed(tmp_path):
    log = RotatingLog(tmp_path / "site.log")
    log.write(b"a line\n")
    log.close()
    assert (tmp_path / "site.log").stat().st_mode & 0o077 == 0
    (tmp_path / "other.log").symlink_to(tmp_path / "elsewhere")
    with pytest.raises(OSError, match="symbolic links"):
        RotatingLog(tmp_path / "other.log").write(b"a line\n")
    assert not (tmp_path / "elsewhere").exists()
