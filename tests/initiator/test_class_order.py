"""The order of class codes is the initiator's secret, and the same for the same run again."""

from __future__ import annotations

import itertools
import stat
from collections import Counter

import pytest

from assistlearn.errors import RunError
from assistlearn.initiator.run import KEY_FILE, own_key, secret_order


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
