"""The ledger of labels: the same person is told about once, and what adds up is refused."""

from __future__ import annotations

import math
import os
import stat

import numpy as np
import pytest

from assistlearn.alignment import Ids
from assistlearn.errors import RefusedError, RunError
from assistlearn.runs.label_ledger import NAME, LabelLedger
from tests.forked_agents import forks

N = 400
CLASSES = ["ill", "well", "unsure"]
IDS = Ids([f"patient-{i:03d}" for i in range(N)])
LABELS = np.arange(N) % 3


def ledger(home, classes=CLASSES, label="diagnosis") -> LabelLedger:
    return LabelLedger(home, label, classes)


def test_labels_are_changed_as_often_as_epsilon_says_and_never_twice_alike_by_a_seed(tmp_path):
    np.random.seed(0)  # noqa: NPY002  a seed that must not matter
    here = ledger(tmp_path / "a").tell(IDS, LABELS, 1.0)
    np.random.seed(0)  # noqa: NPY002  a seed that must not matter
    there = ledger(tmp_path / "b").tell(IDS, LABELS, 1.0)
    assert (here.n_drawn, here.most_spent) == (N, 1.0)
    assert not np.array_equal(here.codes, there.codes)
    expected = math.e / (math.e + 2)
    kept = np.concatenate([here.codes, there.codes]) == np.tile(LABELS, 2)
    assert abs(kept.mean() - expected) < 5 * math.sqrt(expected * (1 - expected) / (2 * N))


def test_the_same_people_are_told_about_in_the_same_way_again_in_any_order_and_with_others(tmp_path):
    some = np.arange(0, N, 2)[::-1]
    first = ledger(tmp_path).tell(Ids(IDS.take(some)), LABELS[some], 1.0)
    again = ledger(tmp_path).tell(IDS, LABELS, 1.0)
    np.testing.assert_array_equal(again.codes[some], first.codes)
    assert (again.n_drawn, again.most_spent) == (N - len(some), 1.0)
    assert ledger(tmp_path).tell(IDS, LABELS, 1.0).n_drawn == 0


def test_another_epsilon_costs_the_larger_of_both_and_not_their_sum(tmp_path):
    one = ledger(tmp_path).tell(IDS, LABELS, 1.0)
    two = ledger(tmp_path).tell(IDS, LABELS, 2.0)
    half = ledger(tmp_path).tell(IDS, LABELS, 0.5)
    assert [each.most_spent for each in (one, two, half)] == [1.0, 2.0, 2.0]
    assert two.n_drawn == N
    right = [(each.codes == LABELS).mean() for each in (half, one, two)]
    assert right == sorted(right)
    # a label that was told falsely at a large epsilon is not told truly at a smaller one more often than by chance
    wrong = two.codes != LABELS
    assert (one.codes[wrong] == two.codes[wrong]).mean() > (one.codes[wrong] == LABELS[wrong]).mean()
    np.testing.assert_array_equal(ledger(tmp_path).tell(IDS, LABELS, 1.0).codes, one.codes)


def test_what_was_told_about_a_label_that_has_changed_adds_up_and_is_refused(tmp_path):
    ledger(tmp_path).tell(IDS, LABELS, 1.0)
    changed = LABELS.copy()
    changed[:7] = (changed[:7] + 1) % 3
    with pytest.raises(RefusedError, match=r"labels of 7 of 400 people would add up to epsilon 2; the run asks for 1"):
        ledger(tmp_path).tell(IDS, changed, 1.0)
    assert ledger(tmp_path).spent().max() == 1.0
    release = ledger(tmp_path).tell(IDS, changed, 1.0, most=2.0)
    assert (release.n_drawn, release.most_spent) == (7, 2.0)
    assert np.bincount(ledger(tmp_path).spent().astype(int)).tolist() == [0, N - 7, 7]


def test_other_classes_of_the_same_column_add_up_and_another_column_does_not(tmp_path):
    ledger(tmp_path).tell(IDS, LABELS, 1.0)
    with pytest.raises(RefusedError, match="400 of 400 people would add up to epsilon 3"):
        ledger(tmp_path, [*CLASSES, "dead"]).tell(IDS, LABELS, 2.0)
    assert ledger(tmp_path, label="smokes").tell(IDS, LABELS, 2.0).most_spent == 2.0


def test_an_owner_may_allow_less_than_a_run_asks_for(tmp_path):
    with pytest.raises(RefusedError, match=r"epsilon 2; at most 1.5 is allowed \(privacy.max_label_epsilon\)"):
        ledger(tmp_path).tell(IDS, LABELS, 2.0, most=1.5)
    assert len(ledger(tmp_path).spent()) == 0
    assert ledger(tmp_path).tell(IDS, LABELS, 1.5, most=1.5).n_drawn == N


def test_neither_ids_nor_labels_stand_in_the_file_and_nobody_else_may_read_it(tmp_path):
    ledger(tmp_path).tell(IDS, LABELS, 1.0)
    content = (tmp_path / NAME).read_bytes()
    assert b"patient-001" not in content
    assert b"unsure" not in content
    assert stat.S_IMODE((tmp_path / NAME).stat().st_mode) == 0o600


def test_a_damaged_ledger_is_named_and_nothing_is_told(tmp_path):
    ledger(tmp_path).tell(IDS, LABELS, 1.0)
    (tmp_path / NAME).write_bytes(os.urandom(5_000))
    with pytest.raises(RunError, match=rf"{NAME}, the ledger of what helpers were told .* Restore it"):
        ledger(tmp_path).tell(IDS, LABELS, 1.0)


def _tell(home) -> list[int]:
    return ledger(home).tell(IDS, LABELS, 1.0).codes.tolist()


def test_two_runs_at_the_same_time_tell_the_same(tmp_path):
    with forks().Pool(2) as pool:
        one, other = pool.map(_tell, [tmp_path, tmp_path])
    assert one == other
