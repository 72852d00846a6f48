"""The line between a command and its site's job: orders one way, replies the other, and an end that both notice."""

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
    lines_folder,
)


class Job(threading.Thread):
    """A site's job that answers every order with what it was asked, in capitals, until the command hangs up."""

    def __init__(self, notes: Path, name: str, orders: int | None = None) -> None:
        super().__init__(daemon=True)
        self._end = JobSocket(notes, name)
        self._most = orders
        self.carried: list[Errand] = []

    def run(self) -> None:
        with self._end:
            for order in self._end.orders():
                self.carried.append(order)
                if len(self.carried) == self._most:
                    return
                if order.agent != "shop":
                    self._end.reply(Outcome("failed", failure="nobody there"))
                    continue
                for _ in range(int(order.number) % 3):
                    self._end.reply(Outcome("working"))
                self._end.reply(Outcome("done", order.request.upper()))


@pytest.fixture
def command(tmp_path):
    end = CommandSocket(tmp_path / "lines")
    yield end
    end.close()


def connected(command: CommandSocket, notes: Path, **options: int) -> Job:
    job = Job(notes, command.name, **options)
    assert command.wait(10)
    job.start()
    return job


def test_orders_arrive_as_they_were_given_and_signs_of_life_come_before_the_replies(command, tmp_path):
    job = connected(command, tmp_path / "lines")
    large = os.urandom(3_000_000).lower()
    orders = [Errand("shop", f"{i}", 1.5 * i, request) for i, request in enumerate([b"hello", b"", large])]
    for n_signs, order in enumerate(orders):
        assert list(command.ask(order)) == [Outcome("working")] * n_signs + [Outcome("done", order.request.upper())]
    assert list(command.ask(Errand("baker", "9", 1.0, b"x"))) == [Outcome("failed", failure="nobody there")]
    assert job.carried[:3] == orders


def test_when_the_command_hangs_up_the_orders_end_and_nothing_is_left(command, tmp_path):
    job = connected(command, tmp_path / "lines")
    list(command.ask(Errand("shop", "1", 1.0, b"x")))
    socket_folder = Path((tmp_path / "lines" / command.name).read_text()).parent
    command.close()
    job.join(10)
    assert not job.is_alive()
    assert list((tmp_path / "lines").iterdir()) == []
    assert not socket_folder.exists()


def test_a_job_that_is_gone_is_noticed_before_and_while_it_works(command, tmp_path):
    job = connected(command, tmp_path / "lines", orders=2)
    list(command.ask(Errand("shop", "1", 1.0, b"x")))
    for _ in range(2):  # the second order is taken and never answered; for the third, nobody is there
        with pytest.raises(JobGoneError, match="The job that carries the messages has ended"):
            list(command.ask(Errand("shop", "2", 1.0, b"y")))
    job.join(10)


def test_a_job_that_never_comes_is_waited_for_no_longer_than_asked(command):
    assert command.wait(0.05) is False


@pytest.mark.parametrize("name", ["0" * 32, "../lines"])
def test_a_job_whose_command_no_longer_waits_says_so(tmp_path, name):
    with pytest.raises(NetworkError, match="no longer waits for it"):
        JobSocket(tmp_path / "lines", name)


def test_a_command_that_died_leaves_a_note_that_leads_nowhere(command, tmp_path):
    note = (tmp_path / "lines" / command.name).read_text()
    command.close()
    (tmp_path / "lines" / command.name).write_text(note)
    with pytest.raises(NetworkError, match="no longer waits for it"):
        JobSocket(tmp_path / "lines", command.name)


def test_no_other_user_can_enter_the_line_or_read_where_it_is(command, tmp_path):
    note = tmp_path / "lines" / command.name
    for folder in (note.parent, Path(note.read_text()).parent):
        assert stat.S_IMODE(folder.stat().st_mode) == 0o700


def test_two_commands_have_two_lines(tmp_path):
    ends = [CommandSocket(tmp_path / "lines") for _ in range(2)]
    jobs = [connected(end, tmp_path / "lines") for end in reversed(ends)]
    for number, end in enumerate(ends):
        list(end.ask(Errand("shop", str(number), 1.0, b"")))
        end.close()
    for job in jobs:
        job.join(10)
    assert [[order.number for order in job.carried] for job in jobs] == [["1"], ["0"]]


def test_the_notes_of_a_kit_lie_in_its_folder_wherever_it_is_named_from(tmp_path, monkeypatch):
    (tmp_path / "kit").mkdir()
    monkeypatch.chdir(tmp_path)
    assert lines_folder(Path("kit")) == lines_folder(tmp_path / "kit") == tmp_path / "kit" / "lines"
