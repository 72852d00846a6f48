"""What a killed command leaves behind is swept at the next start, and nothing that somebody still needs."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from assistlearn.errors import NetworkError
from assistlearn.reach.flare.carrying import private_folder
from assistlearn.reach.flare.carrying.command_socket import CommandSocket, JobSocket
from assistlearn.reach.flare.carrying.private_folder import LONGEST, YOUNG, PrivateFolder, sweep_folders, sweep_notes
from tests.reach.small_disk import small_disk

COMMAND = """
import sys, time
from pathlib import Path
from assistlearn.reach.flare.carrying.command_socket import CommandSocket
command = CommandSocket(Path(sys.argv[1]))
print(command.folder, flush=True)
time.sleep(600)
"""


@pytest.fixture
def tmp(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder for temporary files of this test alone; its path is short, as that of a socket must be."""
    with tempfile.TemporaryDirectory(dir="/tmp", prefix="t") as folder:
        monkeypatch.setenv("TMPDIR", folder)
        monkeypatch.delenv("XDG_RUNTIME_DIR", raising=False)
        monkeypatch.setattr(tempfile, "tempdir", None)
        yield Path(folder)
        monkeypatch.setattr(tempfile, "tempdir", None)


@pytest.fixture
def killed(tmp: Path, tmp_path: Path) -> Iterator[tuple[subprocess.Popen[bytes], Path]]:
    """A command in a process of its own, with its private folder."""
    process = subprocess.Popen([sys.executable, "-c", COMMAND, str(tmp_path / "commands")], stdout=subprocess.PIPE)
    assert process.stdout is not None
    yield process, Path(process.stdout.readline().decode().strip())
    process.kill()
    process.communicate()


def test_note_and_folder_of_a_command_that_was_killed_are_swept_by_the_next_one(killed, tmp_path):
    process, folder = killed
    notes = tmp_path / "commands"
    process.send_signal(signal.SIGKILL)
    process.wait()
    assert folder.exists()
    assert len(list(notes.iterdir())) == 1
    command = CommandSocket(notes)
    assert not folder.exists()
    assert [note.name for note in notes.iterdir()] == [command.name]
    command.close()
    assert list(notes.iterdir()) == []


def test_what_a_command_needs_that_still_waits_is_left_and_no_call_is_lost(killed, tmp_path):
    _, folder = killed
    notes = tmp_path / "commands"
    for _ in range(3):
        sweep_notes(notes)
        sweep_folders()
        CommandSocket(notes).close()
    (note,) = notes.iterdir()
    assert (folder / "socket").exists()
    with JobSocket(notes, note.name):  # it waits for one connection, and this is the first
        pass


def test_nothing_is_swept_that_is_not_a_commands_folder(tmp):
    mine = tmp / "assistlearn-abcdefgh"
    mine.mkdir()
    (mine / "lock").touch()
    (mine / "thesis.tex").touch()
    (tmp / "assistlearn-notes").mkdir()
    (tmp / "assistlearn-12345678").symlink_to(tmp / "assistlearn-notes")
    young = tmp / "assistlearn-young_00"
    young.mkdir()
    before = set(tmp.iterdir())
    sweep_folders()
    assert set(tmp.iterdir()) == before
    os.utime(young, (time.time() - YOUNG - 5,) * 2)
    sweep_folders()
    assert set(tmp.iterdir()) == before - {young}


def test_notes_are_swept_only_where_they_are_notes(tmp_path):
    notes = tmp_path / "commands"
    notes.mkdir()
    (notes / "readme").write_text("/nowhere/socket")
    (notes / ("a" * 32)).write_text("/nowhere/socket")
    sweep_notes(notes)
    assert [note.name for note in notes.iterdir()] == ["readme"]
    sweep_notes(tmp_path / "no such folder")


# -- where the socket is --


def test_where_tmpdir_is_too_long_for_a_socket_a_short_folder_is_taken(tmp, tmp_path, monkeypatch):
    long = tmp / ("x" * 90)
    long.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(long))
    with socket.socket(socket.AF_UNIX) as end, pytest.raises(OSError, match="too long"):  # what would have happened
        end.bind(str(long / "assistlearn-12345678" / "socket"))
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(tmp))
    command = CommandSocket(tmp_path / "commands")
    assert command.folder.parent == tmp
    assert command.folder.stat().st_mode & 0o777 == 0o700
    job = JobSocket(tmp_path / "commands", command.name)
    assert command.wait(10)
    with job:
        command.close()
    assert list(long.iterdir()) == []


@pytest.mark.parametrize("spare", [0, 1])
def test_a_path_of_just_the_length_that_is_possible_is_taken(tmp, monkeypatch, spare):
    root = tmp / ("x" * (LONGEST + spare - len(f"{tmp}//assistlearn-12345678/socket")))
    root.mkdir()
    monkeypatch.setattr(private_folder, "_roots", lambda: iter([root, tmp]))
    folder = PrivateFolder()
    assert folder.path.parent == (root if spare == 0 else tmp)
    with socket.socket(socket.AF_UNIX) as end:
        end.bind(str(folder.socket))
    folder.remove()


def test_where_no_folder_is_short_enough_path_length_and_remedy_are_named(tmp, monkeypatch):
    long = tmp / ("x" * 90)
    monkeypatch.setattr(private_folder, "_roots", lambda: iter([long]))
    with pytest.raises(NetworkError, match=rf"at most 107 bytes.*{long}/assistlearn-12345678/socket \(\d+ .*TMPDIR="):
        PrivateFolder()


def test_where_the_disk_of_tmpdir_is_full_another_is_taken(tmp, monkeypatch):
    with small_disk(tmp / "disk", "16k,nr_inodes=1") as disk:
        monkeypatch.setattr(private_folder, "_roots", lambda: iter([disk.path, tmp]))
        folder = PrivateFolder()
        assert folder.path.parent == tmp
        folder.remove()
        monkeypatch.setattr(private_folder, "_roots", lambda: iter([disk.path]))
        with pytest.raises(OSError, match=f"{disk.path}/assistlearn-.* cannot be written: No space left on device"):
            PrivateFolder()


def test_where_the_kits_disk_is_full_the_error_names_the_note_and_nothing_is_left(tmp):
    with small_disk(tmp / "disk", "16k") as disk:
        (disk.path / "commands").mkdir()
        disk.fill()
        with pytest.raises(
            OSError, match=f"{disk.path}/commands/[0-9a-f]{{32}} cannot be written: No space left on device"
        ):
            CommandSocket(disk.path / "commands")
        assert list((disk.path / "commands").iterdir()) == []
        assert [path.name for path in tmp.iterdir()] == ["disk"]
