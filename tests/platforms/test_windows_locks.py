"""The locks of Windows do what those of Unix do; its module ``msvcrt`` is played by locks of Unix on the same byte."""

from __future__ import annotations

import errno
import fcntl
import os
import subprocess
import sys
from types import ModuleType

import pytest

from assistlearn import storage as locks

HOLD = """
import sys
from assistlearn import storage as locks
if sys.argv[2] == "windows":
    from tests.platforms.test_windows_locks import played
    locks.fcntl, sys.modules["msvcrt"] = None, played()
file = open(sys.argv[1], "a+b")
assert locks.take(file, alone=True)
print(flush=True)
input()
"""


def played() -> ModuleType:
    """Return ``msvcrt`` as far as it is needed: one byte at the file's present place, or PermissionError."""
    module = ModuleType("msvcrt")
    module.LK_NBLCK, module.LK_UNLCK = 2, 0

    def locking(number: int, how: int, length: int) -> None:
        place = os.lseek(number, 0, os.SEEK_CUR)
        try:
            fcntl.lockf(number, fcntl.LOCK_UN if how == 0 else fcntl.LOCK_EX | fcntl.LOCK_NB, length, place)
        except BlockingIOError:
            raise PermissionError(errno.EACCES, "Permission denied") from None

    module.locking = locking
    return module


def as_on(system, monkeypatch):
    if system == "windows":
        monkeypatch.setitem(sys.modules, "msvcrt", played())
        monkeypatch.setattr(locks, "fcntl", None)


def held(path, system):
    process = subprocess.Popen(
        [sys.executable, "-c", HOLD, str(path), system], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    assert process.stdout.readline() == "\n"
    return process


@pytest.mark.parametrize("system", ["unix", "windows"])
def test_a_file_that_another_process_has_alone_cannot_be_taken_until_that_ends(tmp_path, monkeypatch, system):
    as_on(system, monkeypatch)
    path = tmp_path / "lock"
    with held(path, system) as process, path.open("a+b") as file:
        assert locks.taken_alone(file)
        assert not locks.take(file, alone=True)
        process.communicate("\n")
        assert not locks.taken_alone(file)
        locks.wait_for(file)
        assert locks.take(file, alone=True)


def test_a_lock_leaves_content_and_place_of_a_file_as_they_are(tmp_path, monkeypatch):
    as_on("windows", monkeypatch)
    path = tmp_path / "ledger"
    path.write_bytes(b"one\n")
    with path.open("a+b") as file:
        file.seek(2)
        locks.wait_for(file)
        assert file.tell() == 2
        file.write(b"two\n")
    assert path.read_bytes() == b"one\ntwo\n"
