"""Settings of a run are read whole, and checked, or refused by name."""

from __future__ import annotations

import itertools
import json
import multiprocessing
import os
import signal
import stat
from collections import Counter

import pytest

from assistlearn.errors import RunError, SettingsError
from assistlearn.initiator.folder import RunFolder, locked, somebody_works
from assistlearn.initiator.run import KEY_FILE, own_key, secret_order
from tests.agent.recording import three_agents
from tests.initiator.digests import rewrite_settings


def settings_of(folder: RunFolder) -> dict:
    return json.loads((folder.path / "settings.json").read_text())


def write(folder: RunFolder, settings: object) -> None:
    rewrite_settings(folder.path, settings)


def test_what_is_no_setting_says_where_the_agents_are(tmp_path):
    folder = three_agents(tmp_path, n_rounds=1).leader().folder
    places = {"kits": {"site": "a", "admin": "b"}, "patience_seconds": 60.0}
    write(folder, settings_of(folder) | places)
    assert folder.settings().places == places


@pytest.mark.parametrize("name", ["method", "seed", "n_rounds", "classes", "agents", "reach", "combine", "label_only"])
def test_settings_that_are_not_whole_are_refused_by_name(tmp_path, name):
    folder = three_agents(tmp_path, n_rounds=1).leader().folder
    facts = settings_of(folder)
    del facts[name]
    write(folder, facts)
    with pytest.raises(RunError, match=rf"settings.json is not complete: {name} missing"):
        folder.settings()


@pytest.mark.parametrize(
    ("wrong", "words"),
    [
        ({"n_rounds": 0}, "n_rounds=0 must be"),
        ({"method": "magic"}, "method='magic' is not known"),
        ({"format": 9}, "has format 9"),
        ([1], "holds no JSON object, but list"),
    ],
)
def test_settings_that_were_spoiled_are_refused(tmp_path, wrong, words):
    folder = three_agents(tmp_path, n_rounds=1).leader().folder
    write(folder, settings_of(folder) | wrong if isinstance(wrong, dict) else wrong)
    with pytest.raises(RunError, match=words):
        folder.settings()


def test_a_share_that_holds_out_nothing_is_refused_before_the_samples_are_settled(tmp_path):
    leader = three_agents(tmp_path, n_rounds=1, holdout=0.001).leader()
    with pytest.raises(SettingsError, match=r"holdout=0\.001 of 178 samples leaves nothing to hold out"):
        list(leader.train())
    assert leader.folder.samples() is None


def test_a_run_that_was_begun_with_such_a_share_goes_on_without_hold_out_samples(tmp_path):
    leader = three_agents(tmp_path, n_rounds=1).leader()
    list(leader.train())
    expected = leader.folder.result()
    write(leader.folder, settings_of(leader.folder) | {"holdout": 0.001})
    (leader.folder.path / "result.json").unlink()
    again = three_agents(tmp_path, n_rounds=1).leader()
    list(again.train())
    assert again.folder.result()["contributions"] == expected["contributions"]


# -- whether a folder is in use is seen from outside, without taking it


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


# -- the order of class codes is the initiator's secret, and the same for the same run again


def test_every_order_is_as_likely_as_any_other():
    orders = Counter(tuple(secret_order(b"key %d" % i, "table", 0, 3)) for i in range(6000))
    assert set(orders) == set(itertools.permutations(range(3)))
    assert all(850 < count < 1150 for count in orders.values())  # five standard deviations around 1000


def test_key_table_and_seed_decide_on_the_order():
    def order(key: bytes = b"key", table: str = "table", seed: int = 0) -> list[int]:
        return secret_order(key, table, seed, 50)

    assert order() == order()
    assert len({tuple(o) for o in (order(), order(key=b"other"), order(table="other"), order(seed=1))}) == 4


def test_a_key_is_drawn_once_and_only_its_owner_may_read_it(tmp_path):
    home = tmp_path / "clinic-models"
    key = own_key(home)
    assert own_key(home) == key
    assert own_key(tmp_path / "other") != key
    assert [path.name for path in home.iterdir()] == [KEY_FILE]
    assert stat.S_IMODE((home / KEY_FILE).stat().st_mode) == 0o600


def test_of_two_runs_that_draw_at_once_both_use_the_key_of_the_first(tmp_path, monkeypatch):
    first = own_key(tmp_path)
    late = iter([False])  # the second run has looked before the first one's key was there
    monkeypatch.setattr("pathlib.Path.exists", lambda path: next(late))
    assert own_key(tmp_path) == first


def test_without_hard_links_a_key_is_drawn_all_the_same(tmp_path, monkeypatch):
    def refuse(*_: object) -> None:
        raise PermissionError("no hard links here")

    monkeypatch.setattr("pathlib.Path.hardlink_to", refuse)
    assert own_key(tmp_path) == own_key(tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == [KEY_FILE]


@pytest.mark.parametrize("content", ["", "abc", "ab" * 31, "not hexadecimal " * 4])
def test_a_damaged_key_is_refused_by_name(tmp_path, content):
    (tmp_path / KEY_FILE).write_text(content)
    with pytest.raises(
        RunError, match=r"class-order\.key.*changed or damaged.*64 hexadecimal digits.*Restore"
    ) as raised:
        own_key(tmp_path)
    assert "remove" not in str(raised.value)  # without the old key people are not recognised, and labels told anew


def test_a_key_that_cannot_be_kept_is_refused_by_name(tmp_path):
    (tmp_path / "models").write_text("a file where the folder should be")
    with pytest.raises(RunError, match=r"class-order\.key.*cannot be read or written"):
        own_key(tmp_path / "models")
