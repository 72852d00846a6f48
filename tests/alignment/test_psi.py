"""Private set intersection against openmined.psi's own protocol, and the processes that do its work."""

import importlib
import os
import signal
import subprocess
import sys
import textwrap
import threading
import time

import numpy as np
import pytest
from hypothesis import given, settings

from assistlearn.alignment import Ids, PsiHelper, PsiInitiator, curve, roles
from assistlearn.alignment import psi as cipher
from assistlearn.alignment.psi import Cipher
from assistlearn.errors import AlignmentError, MissingExtraError, SettingsError
from tests.alignment.agents import ANY_OVERLAP, by_psi, two_tables

OURS = list(range(40))
THEIRS = list(range(20, 70))[::-1]


@given(two_tables())
@settings(max_examples=25)
def test_the_intersection_is_the_one_that_openmined_finds(tables):
    psi = importlib.import_module("private_set_intersection.python")
    ours, theirs = (Ids(table) for table in tables)
    client, server = psi.client.CreateWithNewKey(True), psi.server.CreateWithNewKey(True)
    setup = server.CreateSetupMessage(1e-9, len(ours), theirs.texts.to_list(), psi.DataStructure.RAW)
    response = server.ProcessRequest(client.CreateRequest(ours.texts.to_list()))
    initiator, helper = by_psi(*tables)
    held = initiator.finish(helper.answer(initiator.start()))
    assert np.flatnonzero(held).tolist() == sorted(client.GetIntersection(setup, response))


@pytest.fixture
def small_pieces(monkeypatch):
    monkeypatch.setattr(cipher, "PIECE", 16)


@pytest.mark.usefixtures("small_pieces")
def test_many_processes_give_the_points_of_one_in_the_same_order():
    ids = Ids(list(range(75)))
    cipher_ = Cipher(n_jobs=3)
    side_by_side = cipher_.points(ids)
    again = cipher_.again(side_by_side)
    cipher_._n_jobs = 1
    np.testing.assert_array_equal(side_by_side, cipher_.points(ids))
    np.testing.assert_array_equal(again, cipher_.again(side_by_side))


@pytest.mark.usefixtures("small_pieces")
@pytest.mark.parametrize("n_jobs", [1, 2])
def test_progress_grows_to_the_number_of_elements_of_each_step(n_jobs):
    seen = []
    initiator = PsiInitiator(Ids(OURS), "lab", ANY_OVERLAP, n_jobs=n_jobs, progress=lambda *now: seen.append(now))
    helper = PsiHelper(Ids(THEIRS), ANY_OVERLAP, n_jobs=n_jobs)
    initiator.finish(helper.answer(initiator.start()))
    assert seen == [(16, 40), (32, 40), (40, 40), (16, 50), (32, 50), (48, 50), (50, 50)]


def test_keys_are_fresh_for_every_alignment():
    initiator, helper = by_psi(OURS, THEIRS)
    first, second = initiator.start(), initiator.start()
    requests = [roles.decode(data, roles.PsiRequest, 10_000) for data in (first, second)]
    answers = [roles.decode(helper.answer(data), roles.PsiAnswer, 10_000) for data in (first, second)]
    assert not points_of(requests[0].points) & points_of(requests[1].points)
    assert not points_of(answers[0].own) & points_of(answers[1].own)


def points_of(data):
    return {data[at : at + curve.POINT_BYTES] for at in range(0, len(data), curve.POINT_BYTES)}


@pytest.mark.usefixtures("small_pieces")
@pytest.mark.parametrize("n_jobs", [1, 2])
def test_a_point_beside_the_curve_is_refused_and_the_alignment_can_go_on(n_jobs):
    initiator, _ = by_psi(OURS, THEIRS)
    helper = PsiHelper(Ids(THEIRS), ANY_OVERLAP, n_jobs=n_jobs)
    request = initiator.start()
    message = roles.decode(request, roles.PsiRequest, 10_000)
    broken = roles.PsiRequest(message.token, message.points[:-33] + b"\x03" + b"\xff" * 32)
    with pytest.raises(AlignmentError, match=r"A point between positions 32 and 39 is not on the curve"):
        helper.answer(roles.encode(broken))
    assert initiator.finish(helper.answer(request)).sum() == 20


@pytest.mark.parametrize("spoil", [lambda p: p[33:] + p[:33], lambda p: p[:33] + p[:33] + p[66:]])
def test_unsorted_or_repeated_points_are_refused(spoil):
    initiator, helper = by_psi(OURS, THEIRS)
    message = roles.decode(initiator.start(), roles.PsiRequest, 10_000)
    with pytest.raises(AlignmentError, match="initiator's points are not sorted, or one is repeated"):
        helper.answer(roles.encode(roles.PsiRequest(message.token, spoil(message.points))))


@pytest.mark.parametrize(
    ("spoil", "message"),
    [
        (lambda own, both: (own, both[33:]), r"39 points came back for 40"),
        (lambda own, both: (own, both[:33] + both[:-33]), r"1 of 40 points under both keys are repeated"),
        (lambda own, both: (own[33:] + own[:33], both), r"helper's points are not sorted"),
        (lambda own, both: (b"", both), r"There are 0 helper's points"),
        (lambda own, both: (own[:-1], both), r"not a multiple of 33"),
        (lambda own, both: (own[:-33] + b"\x03" + b"\xff" * 32, both), r"is not on the curve"),
    ],
)
def test_a_helper_that_answers_nonsense_is_refused(spoil, message):
    initiator, helper = by_psi(OURS, THEIRS)
    answer = helper.answer(initiator.start())
    good = roles.decode(answer, roles.PsiAnswer, 10_000)
    own, both = spoil(good.own, good.both)
    with pytest.raises(AlignmentError, match=message):
        initiator.finish(roles.encode(roles.PsiAnswer(good.token, own, both)))
    assert initiator.finish(answer).sum() == 20


@pytest.mark.parametrize(
    ("places", "message"),
    [
        (np.array([50]), "not one of this agent's 50 samples"),
        (np.array([-2]), "not one of this agent's 50 samples"),
        (np.array([7, -1, 7]), "the same place"),
        (np.arange(41), "at most 40 samples"),
    ],
)
def test_an_order_with_impossible_places_is_refused(places, message):
    initiator, helper = by_psi(OURS, THEIRS)
    initiator.finish(helper.answer(initiator.start()))
    good = roles.decode(initiator.settle(), roles.SampleOrder, 10_000)
    bad = roles.SampleOrder(good.token, good.key, good.digest, places.astype("<i4").tobytes())
    with pytest.raises(AlignmentError, match=message):
        helper.agree(roles.encode(bad))


@pytest.fixture
def started(monkeypatch):
    """Return the list of processes that are started."""
    processes, popen = [], subprocess.Popen

    def remember(*args, **kwargs):
        processes.append(popen(*args, **kwargs))
        return processes[-1]

    monkeypatch.setattr(cipher.subprocess, "Popen", remember)
    return processes


@pytest.mark.usefixtures("small_pieces")
def test_a_worker_that_is_killed_gives_an_error_not_a_hang(started):
    def kill_one(done, total):
        if done == 16:
            os.kill(started[0].pid, signal.SIGKILL)

    with pytest.raises(AlignmentError, match=r"ended early \(exit code -9\)"):
        Cipher(n_jobs=2).points(Ids(list(range(2_000))), kill_one)
    assert len(started) == 2
    assert all(process.poll() is not None for process in started)


@pytest.mark.usefixtures("small_pieces")
def test_an_interrupted_step_leaves_no_process(started):
    def interrupt(done, total):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        Cipher(n_jobs=2).points(Ids(list(range(2_000))), interrupt)
    assert len(started) == 2
    assert all(process.poll() is not None for process in started)
    assert not [thread for thread in threading.enumerate() if thread.name.startswith("alignment")]


def test_workers_end_with_a_parent_that_is_killed():
    script = textwrap.dedent(
        """
        import subprocess, sys, time
        from assistlearn.alignment import psi as cipher, Ids
        cipher.PIECE = 16
        def show(done, total):
            if done == 16:
                print("\\n".join(str(pid) for pid in pids), flush=True)
        pids, popen = [], subprocess.Popen
        class Remembered(popen):
            def __init__(self, *args, **kwargs):
                super().__init__(*args, **kwargs)
                pids.append(self.pid)
        subprocess.Popen = Remembered
        cipher.Cipher(n_jobs=2).points(Ids(list(range(50_000))), show)
        """
    )
    parent = subprocess.Popen([sys.executable, "-c", script], stdout=subprocess.PIPE, text=True)
    pids = [int(parent.stdout.readline()) for _ in range(2)]
    parent.kill()
    parent.wait()
    parent.stdout.close()
    give_up = time.monotonic() + 20
    while any(is_alive(pid) for pid in pids) and time.monotonic() < give_up:
        time.sleep(0.05)
    assert not [pid for pid in pids if is_alive(pid)]


def is_alive(pid):
    try:
        with open(f"/proc/{pid}/stat") as stat:
            return stat.read().rsplit(")", 1)[1].split()[0] != "Z"
    except FileNotFoundError:
        return False


def test_a_missing_library_gives_its_install_line(monkeypatch):
    monkeypatch.setitem(sys.modules, "private_set_intersection.python", None)
    for agent in (PsiInitiator, PsiHelper):
        with pytest.raises(MissingExtraError) as caught:
            agent(Ids(OURS))
        assert str(caught.value).startswith(
            "Private set intersection needs openmined.psi: pip install 'openmined-psi>="
        )


def test_keyed_hashes_do_not_need_the_library():
    script = (
        "import sys; sys.modules['private_set_intersection'] = None\n"
        "from assistlearn.alignment import HashHelper, HashInitiator, Ids\n"
        "a, b = HashInitiator(Ids([1, 2]), b'0123456789abcdef'), HashHelper(Ids([2, 1]), b'0123456789abcdef')\n"
        "a.finish(b.answer(a.start())); a.confirm(b.agree(a.settle())); print(b.rows.tolist())"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert done.stdout == "[1, 0]\n"


@pytest.mark.parametrize("n_jobs", [0, -1])
def test_at_least_one_process_is_needed(n_jobs):
    with pytest.raises(SettingsError, match="n_jobs must be at least 1"):
        PsiHelper(Ids(OURS), n_jobs=n_jobs)
