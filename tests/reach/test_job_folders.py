"""What FLARE leaves of a job is removed when the job is over; nothing else is, and no job that runs."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
import uuid
from pathlib import Path

import pytest

from assistlearn.reach.flare.site.job_folders import GRACE, UNKNOWN, jobs_below, sweep, sweep_all


def job(kit: Path, place: str = ".", idle: float = 0.0, status: str | None = None) -> str:
    """Make what a job leaves in a kit, last written to so many seconds ago."""
    name = str(uuid.uuid4())
    folder = kit / place / name
    (folder / "app" / "config").mkdir(parents=True)
    (folder / "app" / "config" / "config_fed_client.json").write_text("{}")
    if status is not None:
        (folder / "meta").write_text(json.dumps({"status": status}))
    for path in (*folder.rglob("*"), folder):
        os.utime(path, (time.time() - idle,) * 2)
    return name


def left(kit: Path, place: str = ".") -> set[str]:
    return {path.name for path in (kit / place).iterdir()} - {"jobs", "snapshots"}


def test_folders_of_jobs_go_when_they_have_ended_and_nothing_happens_in_them_any_more(tmp_path):
    ended, just_ended, running = job(tmp_path, idle=GRACE + 5), job(tmp_path), job(tmp_path, idle=GRACE + 5)
    about_to_start, never_started = job(tmp_path, idle=GRACE + 5), job(tmp_path, idle=UNKNOWN + 5)
    removed = sweep(tmp_path, {running}, {ended, just_ended})
    assert set(removed) == {ended, never_started}
    assert left(tmp_path) == {just_ended, running, about_to_start}


def test_the_relays_record_of_a_job_goes_when_it_says_that_the_job_has_ended(tmp_path):
    ended = "FINISHED:COMPLETED", "FINISHED:ABORTED", "FAILED_TO_RUN", "ABANDONED"
    states = (*ended, "RUNNING", "SUBMITTED", "DISPATCHED")
    names = {state: job(tmp_path, "jobs", GRACE + 5, state) for state in states}
    unreadable = job(tmp_path, "jobs", GRACE + 5)
    (tmp_path / "jobs" / unreadable / "meta").write_text('{"sta')
    os.utime(tmp_path / "jobs" / unreadable / "meta", (time.time() - GRACE - 5,) * 2)
    fresh = job(tmp_path, "jobs", 0, "FINISHED:COMPLETED")
    sweep(tmp_path, set(), set())
    assert left(tmp_path, "jobs") == {names["RUNNING"], names["SUBMITTED"], names["DISPATCHED"], unreadable, fresh}


def test_the_relays_record_stays_until_flare_is_done_with_the_job_however_long_ago_its_process_has_ended(tmp_path):
    """FLARE notes the end in the record, and moves the job's other folder into it; without it, it tries for ever."""
    name = job(tmp_path, "jobs", UNKNOWN + 5, "RUNNING")
    (tmp_path / name).mkdir()
    sweep(tmp_path, set(), {name})
    assert left(tmp_path, "jobs") == left(tmp_path) == {name}
    (tmp_path / "jobs" / name / "meta").write_text(json.dumps({"status": "FINISHED:COMPLETED"}))
    os.utime(tmp_path / "jobs" / name / "meta", (time.time() - GRACE - 5,) * 2)
    sweep(tmp_path, set(), {name})
    assert left(tmp_path, "jobs") == left(tmp_path) == {name}
    (tmp_path / name).rmdir()
    sweep(tmp_path, set(), {name})
    assert left(tmp_path, "jobs") == set()


def test_a_record_in_a_jobs_own_folder_does_not_shorten_its_time(tmp_path):
    """Only the relay's record counts: a folder at a site may hold what the job brought along."""
    name = job(tmp_path, idle=GRACE + 5, status="FINISHED:COMPLETED")
    sweep(tmp_path, set(), set())
    assert left(tmp_path) == {name}


@pytest.mark.parametrize("clear", [sweep_all, lambda kit: sweep(kit, set(), set())])
def test_nothing_goes_but_folders_that_are_called_as_flare_calls_jobs(tmp_path, clear):
    stays = ["models", "startup", "local", "commands", "transfer", str(uuid.uuid4())[:-1], f"{uuid.uuid4()}.bak"]
    for name in stays:
        (tmp_path / name).mkdir()
    (tmp_path / str(uuid.uuid4())).write_text("a file that is called so")
    elsewhere = tmp_path.parent / f"{tmp_path.name}-elsewhere"
    elsewhere.mkdir()
    (elsewhere / "precious").touch()
    (tmp_path / str(uuid.uuid4())).symlink_to(elsewhere)
    before = left(tmp_path)
    for path in tmp_path.iterdir():
        os.utime(path, (time.time() - UNKNOWN - 5,) * 2, follow_symlinks=False)
    clear(tmp_path)
    assert left(tmp_path) == before
    assert (elsewhere / "precious").exists()


def test_a_link_inside_a_jobs_folder_leads_to_no_loss_elsewhere(tmp_path):
    (tmp_path / "models").mkdir()
    (tmp_path / "models" / "ledger.jsonl").write_text("{}")
    name = job(tmp_path)
    (tmp_path / name / "link").symlink_to(tmp_path / "models")
    sweep_all(tmp_path)
    assert left(tmp_path) == {"models"}
    assert (tmp_path / "models" / "ledger.jsonl").exists()


def test_at_a_start_all_of_them_go_and_those_whose_removal_was_cut_short(tmp_path):
    for place in (".", "jobs", "snapshots"):
        job(tmp_path, place, status="RUNNING")
    (tmp_path / f".removed-jobs-{uuid.uuid4()}" / "half").mkdir(parents=True)
    sweep_all(tmp_path)
    assert left(tmp_path) | left(tmp_path, "jobs") | left(tmp_path, "snapshots") == set()


def test_jobs_that_run_are_known_by_their_processes_at_any_remove():
    name = str(uuid.uuid4())
    grandchild = "import sys, time; print('up', flush=True); time.sleep(600)"
    child = f"import subprocess, sys; subprocess.run([sys.executable, '-c', {grandchild!r}, '-n', {name!r}])"
    process = subprocess.Popen([sys.executable, "-c", child], stdout=subprocess.PIPE, process_group=0)
    try:
        assert process.stdout is not None
        process.stdout.readline()
        assert jobs_below(process.pid) == {name}
        assert name in jobs_below(os.getpid())
    finally:
        os.killpg(process.pid, 9)
        process.communicate()
    assert jobs_below(process.pid) == set()
