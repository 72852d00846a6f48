"""The socket between a command and its site's job: errands one way, outcomes the other, an end that both notice."""

from __future__ import annotations

import os
import stat
import threading
from pathlib import Path

import pytest

from assistlearn.errors import NetworkError
from assistlearn.reach.flare.carrying.command_socket import (
    CommandSocket,
    Errand,
    JobGoneError,
    JobSocket,
    Outcome,
    notes_folder,
)


class Job(threading.Thread):
    """A site's job that answers every errand with what it was asked, in capitals, until the command hangs up."""

    def __init__(self, notes: Path, name: str, errands: int | None = None) -> None:
        super().__init__(daemon=True)
        self._end = JobSocket(notes, name)
        self._most = errands
        self.carried: list[Errand] = []

    def run(self) -> None:
        with self._end:
            for errand in self._end.errands():
                self.carried.append(errand)
                if len(self.carried) == self._most:
                    return
                if errand.agent != "shop":
                    self._end.report(Outcome("failed", failure="nobody there"))
                    continue
                for _ in range(int(errand.number) % 3):
                    self._end.report(Outcome("working"))
                self._end.report(Outcome("done", errand.request.upper()))


@pytest.fixture
def command(tmp_path):
    end = CommandSocket(tmp_path / "commands")
    yield end
    end.close()


def connected(command: CommandSocket, notes: Path, **options: int) -> Job:
    job = Job(notes, command.name, **options)
    assert command.wait(10)
    job.start()
    return job


def test_errands_arrive_as_they_were_given_and_signs_of_life_come_before_the_answers(command, tmp_path):
    job = connected(command, tmp_path / "commands")
    large = os.urandom(3_000_000).lower()
    errands = [Errand("shop", f"{i}", 1.5 * i, request) for i, request in enumerate([b"hello", b"", large])]
    for n_signs, errand in enumerate(errands):
        assert list(command.ask(errand)) == [Outcome("working")] * n_signs + [Outcome("done", errand.request.upper())]
    assert list(command.ask(Errand("baker", "9", 1.0, b"x"))) == [Outcome("failed", failure="nobody there")]
    assert job.carried[:3] == errands


def test_when_the_command_hangs_up_the_errands_end_and_nothing_is_left(command, tmp_path):
    job = connected(command, tmp_path / "commands")
    list(command.ask(Errand("shop", "1", 1.0, b"x")))
    socket_folder = Path((tmp_path / "commands" / command.name).read_text()).parent
    command.close()
    job.join(10)
    assert not job.is_alive()
    assert list((tmp_path / "commands").iterdir()) == []
    assert not socket_folder.exists()


def test_a_job_that_is_gone_is_noticed_before_and_while_it_works(command, tmp_path):
    job = connected(command, tmp_path / "commands", errands=2)
    list(command.ask(Errand("shop", "1", 1.0, b"x")))
    for _ in range(2):  # the second errand is taken and never answered; for the third, nobody is there
        with pytest.raises(JobGoneError, match="The job that carries the messages has ended"):
            list(command.ask(Errand("shop", "2", 1.0, b"y")))
    job.join(10)


def test_a_job_that_never_comes_is_waited_for_no_longer_than_asked(command):
    assert command.wait(0.05) is False


@pytest.mark.parametrize("name", ["0" * 32, "../commands"])
def test_a_job_whose_command_no_longer_waits_says_so(tmp_path, name):
    with pytest.raises(NetworkError, match="no longer waits for it"):
        JobSocket(tmp_path / "commands", name)


def test_a_command_that_died_leaves_a_note_that_leads_nowhere(command, tmp_path):
    note = (tmp_path / "commands" / command.name).read_text()
    command.close()
    (tmp_path / "commands" / command.name).write_text(note)
    with pytest.raises(NetworkError, match="no longer waits for it"):
        JobSocket(tmp_path / "commands", command.name)


def test_no_other_user_can_reach_the_socket_or_read_where_it_is(command, tmp_path):
    note = tmp_path / "commands" / command.name
    for folder in (note.parent, Path(note.read_text()).parent):
        assert stat.S_IMODE(folder.stat().st_mode) == 0o700


def test_two_commands_have_two_sockets(tmp_path):
    ends = [CommandSocket(tmp_path / "commands") for _ in range(2)]
    jobs = [connected(end, tmp_path / "commands") for end in reversed(ends)]
    for number, end in enumerate(ends):
        list(end.ask(Errand("shop", str(number), 1.0, b"")))
        end.close()
    for job in jobs:
        job.join(10)
    assert [[errand.number for errand in job.carried] for job in jobs] == [["1"], ["0"]]


def test_the_notes_of_a_kit_lie_in_its_folder_wherever_it_is_named_from(tmp_path, monkeypatch):
    (tmp_path / "kit").mkdir()
    monkeypatch.chdir(tmp_path)
    assert notes_folder(Path("kit")) == notes_folder(tmp_path / "kit") == tmp_path / "kit" / "commands"
