"""Organisations fail in every way that can be made to happen here, and the run ends with the same model.

Real processes on loopback, killed, stopped and started again. ``make failures`` runs all of them; CI those that are not
slow.
"""

import os
import signal
import subprocess
import time

import psutil
import pytest

from assistlearn.reach.flare.provisioning.kit import load_kit
from bench.network_files import lead_through
from bench.slow_line import SlowLine

pytestmark = [pytest.mark.network, pytest.mark.xdist_group("failures")]
slow = pytest.mark.slow
PATIENCE = 20


@slow
def test_an_undisturbed_run_is_the_simulated_one(world):
    world.train().check_same()


@pytest.mark.parametrize("turns", [2, pytest.param(5, marks=slow), pytest.param(10, marks=slow)])
def test_a_killed_job_of_a_helper_is_started_again(world, turns):
    training = world.train()
    training.wait_for_turns(turns)
    world.kill_jobs("lab")
    training.check_same()


@slow
@pytest.mark.parametrize("message", ["open", "align", "begin", "end"])
def test_a_helper_killed_at_any_message_ends_with_the_same_model(world, message):
    training = world.train()
    training.wait_for_message("lab", message)
    world.kill_jobs("lab")
    training.check_same()


@slow
@pytest.mark.parametrize("name", ["scans", "relay", "clinic"])
def test_a_power_cut_of_a_site_is_survived(world, name):
    training = world.train(give_up_after=120)
    training.wait_for_turns(4)
    world.kill_site(name)
    world.network.start(name)
    training.check_same()


@slow
def test_nothing_is_left_of_a_site_whose_command_is_killed(world):
    command = world.network.processes.pop("scans")
    below = psutil.Process(command.pid).children(recursive=True)
    assert below
    command.kill()
    command.wait()
    _, alive = psutil.wait_procs(below, timeout=20)
    assert alive == []


@slow
def test_a_helper_that_comes_back_after_half_a_minute_goes_on(world):
    training = world.train(give_up_after=180)
    training.wait_for_turns(3)
    world.kill_site("lab")
    time.sleep(30)
    world.network.start("lab")
    training.check_same()


@slow
@pytest.mark.parametrize("turns", [0, 3, 7])
def test_a_killed_command_is_gone_on_with(world, turns):
    training = world.train()
    if turns:
        training.wait_for_turns(turns)
    else:
        training.wait_for_message("lab", "align")
    training.process.send_signal(signal.SIGKILL)
    assert training.end()[0] == -signal.SIGKILL
    world.resume(training).check_same()


@slow
def test_ctrl_c_leaves_a_run_that_can_be_gone_on_with(world):
    training = world.train()
    training.wait_for_turns(3)
    training.process.send_signal(signal.SIGINT)
    code, said = training.end()
    assert code == 130
    assert f"train --resume {training.run}" in said
    world.resume(training).check_same()


@slow
def test_a_helper_that_hangs_is_named_in_time_and_the_run_kept(world):
    training = world.train(give_up_after=PATIENCE)
    training.wait_for_turns(4)
    for process in world.jobs("lab"):
        process.suspend()
    stopped = time.monotonic()
    code, said = training.end()
    assert code == 3
    assert time.monotonic() - stopped < PATIENCE + 90  # a job that is being started may take a minute
    assert "'lab'" in said
    assert f"train --resume {training.run}" in said
    world.repair()
    world.resume(training).check_same()


@slow
def test_where_the_task_allows_a_helper_that_never_comes_back_is_left_out(world):
    training = world.train(give_up_after=PATIENCE, absent="go on")
    training.wait_for_turns(4)
    world.kill_site("lab")
    code, said = training.end()
    assert code == 0, said
    assert "goes on without lab from turn" in said
    result = training.result()
    assert result["left"]["lab"]["turn"] == 5
    later = [c["agent"] for c in result["contributions"] if c["turn"] >= 5]
    assert len(later) > 1
    assert later == ["scans", "clinic", "scans", "clinic", "scans"][: len(later)]  # as far as the hold-out keeps them
    predictions = world.predict(training.run)  # without lab
    assert b"clinic scans" in predictions
    assert b"lab" not in predictions
    world.repair()
    assert b"clinic lab scans" in world.predict(training.run)  # it is back, and votes with the models it has


@slow
@pytest.mark.parametrize("who", ["job", "site"])
def test_a_helper_killed_while_it_predicts_votes_when_it_is_back(world, who):
    training = world.train()
    training.check_same()
    asking = world.predicting(training)
    asking.wait_for_message("lab", "align")
    if who == "job":
        world.kill_jobs("lab")
    else:
        world.kill_site("lab")
        world.network.start("lab")
    code, said = asking.end()
    assert code == 0, said
    assert asking.predictions() == (world.folder / "reference.csv").read_bytes()


@slow
@pytest.mark.parametrize("misdeed", ["garbage", "wrong size", "nan", "another run", "twice", "version"])
def test_a_helper_that_answers_wrongly_is_named_and_the_run_kept(world, misdeed):
    training = world.train()
    training.wait_for_turns(3)
    (world.misbehave / "lab").write_text(misdeed)
    code, said = training.end()
    assert code == 2, said
    assert "lab" in said
    assert f"train --resume {training.run}" in said
    (world.misbehave / "lab").unlink()
    world.resume(training).check_same()


@slow
@pytest.mark.skipif(os.geteuid() != 0, reason="only root can mount a small disk")
def test_a_full_disk_at_a_helper_stops_the_run_and_loses_nothing(world, tmp_path):
    home = world.folder / "data" / "lab-models"
    kept = world.folder / "data" / "kept"
    home.rename(kept)
    home.mkdir()
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=2m", "tmpfs", str(home)], check=True)
    try:
        training = world.train()
        training.wait_for_turns(3)
        with (home / "filler").open("wb", buffering=0) as filler:
            try:
                while True:
                    filler.write(b"\0" * 4096)
            except OSError:
                pass
        code, said = training.end()
        assert code == 3, said
        assert "'lab'" in said
        (home / "filler").unlink()
        world.resume(training).check_same()
    finally:
        world.repair()
        subprocess.run(["umount", "-l", str(home)], check=True)
        home.rmdir()
        kept.rename(home)


@slow
@pytest.mark.parametrize("cut", [0, 20], ids=["slow", "slow and cut for 20 s"])
def test_a_slow_line_that_is_cut_for_a_while_changes_nothing(world, cut):
    kit = load_kit(world.network.kit("lab"))
    with SlowLine(kit.port, delay=0.05, bits_per_second=10e6) as line:
        world.network.stop("lab")
        lead_through(kit.folder, line.port)
        try:
            world.network.start("lab")
            world.network.wait()
            training = world.train(give_up_after=120)
            training.wait_for_turns(3)
            line.cut(cut)
            training.check_same()
            assert sum(line.passed) > 0
        finally:
            world.network.stop("lab")
            lead_through(kit.folder, kit.port)
