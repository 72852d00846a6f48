"""Whether a folder is in use is seen from outside, without taking it."""

from __future__ import annotations

import multiprocessing
import os
import signal

from assistlearn.initiator.folder import locked, somebody_works

START = multiprocessing.get_context("fork")


def _have(folder, alone, ready, done):
    with locked(folder, alone=alone):
        ready.set()
        done.wait(30)


def _holder(folder, *, alone):
    ready, done = START.Event(), START.Event()
    process = START.Process(target=_have, args=(folder, alone, ready, done))
    process.start()
    assert ready.wait(30)
    return process, done


def test_who_trains_is_seen_until_it_ends_or_is_killed(tmp_path):
    assert not somebody_works(tmp_path)
    process, done = _holder(tmp_path, alone=True)
    assert somebody_works(tmp_path)
    done.set()
    process.join(30)
    assert not somebody_works(tmp_path)
    process, _ = _holder(tmp_path, alone=True)
    assert somebody_works(tmp_path)
    os.kill(process.pid, signal.SIGKILL)
    process.join(30)
    assert not somebody_works(tmp_path)


def test_who_predicts_has_it_not_alone(tmp_path):
    process, done = _holder(tmp_path, alone=False)
    assert not somebody_works(tmp_path)
    done.set()
    process.join(30)


def test_the_question_leaves_the_lock_as_it_was(tmp_path):
    with locked(tmp_path, alone=True):
        before = (tmp_path / "lock").read_bytes()
    for _ in range(3):
        somebody_works(tmp_path)
    assert (tmp_path / "lock").read_bytes() == before
