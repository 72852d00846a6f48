"""The ledger of labels: the same person is told about once, and what adds up is refused."""

from __future__ import annotations

import hashlib
import itertools
import math
import os
import sqlite3
import stat
from contextlib import closing
from pathlib import Path

import numpy as np
import pytest

from assistlearn.alignment import Ids
from assistlearn.errors import RefusedError, RunError
from assistlearn.initiator.label_ledger import LabelLedger, Witness
from assistlearn.initiator.run import KEY_FILE
from assistlearn.initiator.run import LABEL_LEDGER as NAME
from tests.forked_agents import forks

N = 400
CLASSES = ["ill", "well", "unsure"]
IDS = Ids([f"patient-{i:03d}" for i in range(N)])
LABELS = np.arange(N) % 3


def ledger(home, classes=CLASSES, label="diagnosis") -> LabelLedger:
    return LabelLedger(home, label, classes)


def test_labels_are_changed_as_often_as_epsilon_says_and_never_twice_alike_by_a_seed(tmp_path):
    np.random.seed(0)  # noqa: NPY002  a seed that must not matter
    here = ledger(tmp_path / "a").tell("run", IDS, LABELS, 1.0)
    np.random.seed(0)  # noqa: NPY002  a seed that must not matter
    there = ledger(tmp_path / "b").tell("run", IDS, LABELS, 1.0)
    assert (here.n_drawn, here.most_spent) == (N, 1.0)
    assert not np.array_equal(here.codes, there.codes)
    expected = math.e / (math.e + 2)
    kept = np.concatenate([here.codes, there.codes]) == np.tile(LABELS, 2)
    assert abs(kept.mean() - expected) < 5 * math.sqrt(expected * (1 - expected) / (2 * N))


def test_the_same_people_are_told_about_in_the_same_way_again_in_any_order_and_with_others(tmp_path):
    some = np.arange(0, N, 2)[::-1]
    first = ledger(tmp_path).tell("run", Ids(IDS.take(some)), LABELS[some], 1.0)
    again = ledger(tmp_path).tell("run", IDS, LABELS, 1.0)
    np.testing.assert_array_equal(again.codes[some], first.codes)
    assert (again.n_drawn, again.most_spent) == (N - len(some), 1.0)
    assert ledger(tmp_path).tell("run", IDS, LABELS, 1.0).n_drawn == 0


def test_another_epsilon_costs_the_larger_of_both_and_not_their_sum(tmp_path):
    one = ledger(tmp_path).tell("run", IDS, LABELS, 1.0)
    two = ledger(tmp_path).tell("run", IDS, LABELS, 2.0)
    half = ledger(tmp_path).tell("run", IDS, LABELS, 0.5)
    assert [each.most_spent for each in (one, two, half)] == [1.0, 2.0, 2.0]
    assert two.n_drawn == N
    right = [(each.codes == LABELS).mean() for each in (half, one, two)]
    assert right == sorted(right)
    # a label that was told falsely at a large epsilon is not told truly at a smaller one more often than by chance
    wrong = two.codes != LABELS
    assert (one.codes[wrong] == two.codes[wrong]).mean() > (one.codes[wrong] == LABELS[wrong]).mean()
    np.testing.assert_array_equal(ledger(tmp_path).tell("run", IDS, LABELS, 1.0).codes, one.codes)


def test_a_label_that_has_changed_is_told_as_before_at_every_epsilon(tmp_path):
    first = ledger(tmp_path).tell("run", IDS, LABELS, 1.0)
    changed = LABELS.copy()
    changed[:7] = (changed[:7] + 1) % 3
    again = ledger(tmp_path).tell("run", IDS, changed, 1.0, most=2.0)
    np.testing.assert_array_equal(again.codes, first.codes)
    assert (again.n_drawn, again.n_changed, again.most_spent) == (0, 7, 1.0)
    clear = ledger(tmp_path).tell("run", IDS, (LABELS + 1) % 3, 20.0)
    np.testing.assert_array_equal(clear.codes, LABELS)  # drawn from the label that was told about first
    assert (clear.n_drawn, clear.n_changed, clear.most_spent) == (N, N, 20.0)


def test_afresh_everybody_is_drawn_anew_and_everybody_pays(tmp_path):
    first = ledger(tmp_path).tell("run", IDS, LABELS, 1.0, most=3.0, afresh=True)
    changed = LABELS.copy()
    changed[:7] = (changed[:7] + 1) % 3
    second = ledger(tmp_path).tell("run", IDS, changed, 1.5, most=3.0, afresh=True)
    assert (second.n_drawn, second.n_changed, second.most_spent) == (N, 0, 2.5)
    assert not np.array_equal(first.codes, second.codes)
    assert set(ledger(tmp_path).spent()) == {2.5}
    with pytest.raises(RefusedError, match=r"400 of 400 people would add up to epsilon 3.5; at most 3 is allowed"):
        ledger(tmp_path).tell("run", IDS, changed, 1.0, most=3.0, afresh=True)
    stays = ledger(tmp_path).tell("run", IDS, LABELS, 1.5, most=3.0)  # of the last draw
    np.testing.assert_array_equal(stays.codes, second.codes)
    assert (stays.n_drawn, stays.n_changed, stays.most_spent) == (0, 7, 2.5)


def test_other_classes_of_the_same_column_are_refused_unless_everybody_is_drawn_afresh(tmp_path):
    ledger(tmp_path).tell("run", IDS, LABELS, 1.0)
    more = ledger(tmp_path, [*CLASSES, "dead"])
    with pytest.raises(RefusedError, match=r"400 of these people when the classes were others; .*, dead\. .*afresh"):
        more.tell("run", IDS, LABELS, 2.0, most=9.0)
    assert more.tell("run", IDS, LABELS, 2.0, most=3.0, afresh=True).most_spent == 3.0


def test_a_column_that_may_have_been_renamed_is_refused_until_the_owner_says_what_it_is(tmp_path):
    first = ledger(tmp_path).tell("run", IDS, LABELS, 1.0)
    renamed = LabelLedger(tmp_path, "outcome", CLASSES, named=False)
    with pytest.raises(RefusedError, match=r'400 of these 400 people before, in another column: .*label_name = "diag'):
        renamed.tell("run", IDS, LABELS, 1.0)
    np.testing.assert_array_equal(ledger(tmp_path).tell("run", IDS, LABELS, 1.0).codes, first.codes)
    assert ledger(tmp_path, label="smokes").tell("run", IDS, LABELS, 2.0).most_spent == 2.0
    ledger(tmp_path / "b").tell_truly("run", IDS)
    with pytest.raises(RefusedError, match="in another column"):
        LabelLedger(tmp_path / "b", "outcome", CLASSES, named=False).tell("run", IDS, LABELS, 1.0)


def test_true_labels_that_were_told_are_counted_and_said_for_good(tmp_path):
    some = Ids(IDS.take(np.arange(100)))
    ledger(tmp_path).tell_truly("plain", some)
    told = ledger(tmp_path).tell("private", IDS, LABELS, 1.0)
    assert (told.n_true, told.most_spent) == (100, 1.0)
    assert np.isinf(ledger(tmp_path).spent()).sum() == 100
    with pytest.raises(RefusedError, match=r"told the true labels of 100 of 400 people in earlier runs"):
        ledger(tmp_path).tell("private", IDS, LABELS, 1.0, most=5.0)
    assert ledger(tmp_path).tell("private", Ids(IDS.take(np.arange(100, N))), LABELS[100:], 1.0, most=1.0).n_true == 0


def test_an_owner_may_allow_less_than_a_run_asks_for(tmp_path):
    with pytest.raises(RefusedError, match=r"epsilon 2; at most 1.5 is allowed \(privacy.max_label_epsilon\)"):
        ledger(tmp_path).tell("run", IDS, LABELS, 2.0, most=1.5)
    assert len(ledger(tmp_path).spent()) == 0
    assert ledger(tmp_path).tell("run", IDS, LABELS, 1.5, most=1.5).n_drawn == N


def test_neither_ids_nor_labels_stand_in_the_file_and_nobody_else_may_read_it(tmp_path):
    ledger(tmp_path).tell("run", IDS, LABELS, 1.0)
    content = (tmp_path / NAME).read_bytes()
    assert b"patient-001" not in content
    assert b"unsure" not in content
    assert stat.S_IMODE((tmp_path / NAME).stat().st_mode) == 0o600


def test_a_damaged_ledger_is_named_and_nothing_is_told(tmp_path):
    ledger(tmp_path).tell("run", IDS, LABELS, 1.0)
    (tmp_path / NAME).write_bytes(os.urandom(5_000))
    with pytest.raises(RunError, match=rf"{NAME}, the ledger of what helpers were told .* Restore it"):
        ledger(tmp_path).tell("run", IDS, LABELS, 1.0)


def test_a_planted_link_is_not_followed(tmp_path):
    home, elsewhere = tmp_path / "models", tmp_path / "elsewhere.sqlite"
    home.mkdir()
    (home / NAME).symlink_to(elsewhere)
    with pytest.raises(RunError, match=r"is a link.*Remove the link"):
        ledger(home).tell("run", IDS, LABELS, 1.0)
    assert not elsewhere.exists()


@pytest.mark.parametrize(
    "change",
    [
        "UPDATE told SET code = (code + 1) % 3 WHERE id = (SELECT min(id) FROM told)",
        "UPDATE told SET epsilon = 0.1",
        "DELETE FROM told WHERE entry = 1",
        "DELETE FROM entries WHERE number = 1",
        "DELETE FROM entries",
        "DELETE FROM known",
    ],
)
def test_a_ledger_whose_rows_were_changed_tells_nothing(tmp_path, change):
    ledger(tmp_path).tell("one", IDS, LABELS, 1.0)
    ledger(tmp_path).tell("two", IDS, LABELS, 2.0)
    ledger(tmp_path).tell_truly("three", IDS)
    with closing(sqlite3.connect(tmp_path / NAME)) as connection, connection:
        connection.execute(change)
    with pytest.raises(RunError, match=r"told-labels\.sqlite.*(were changed|were removed).* Restore it"):
        ledger(tmp_path).tell("four", IDS, LABELS, 1.0)


def test_a_key_that_is_lost_or_replaced_is_asked_for_and_no_other_is_drawn(tmp_path):
    ledger(tmp_path).tell("run", IDS, LABELS, 1.0)
    (tmp_path / KEY_FILE).unlink()
    with pytest.raises(RunError, match=r"class-order\.key is missing.* Restore the key from a backup"):
        ledger(tmp_path).tell("run", IDS, LABELS, 1.0)
    assert not (tmp_path / KEY_FILE).exists()
    (tmp_path / KEY_FILE).write_text("ab" * 32)
    with pytest.raises(RunError, match=r"another key than .*class-order\.key.* Restore both"):
        ledger(tmp_path).tell("run", IDS, LABELS, 1.0)


def test_what_else_knows_of_an_entry_must_be_found_in_the_ledger(tmp_path):
    booked = ledger(tmp_path).tell("first", IDS, LABELS, 1.0).booked
    digest = hashlib.sha256(booked[1].encode()).hexdigest()
    known = [Witness("a folder", "first", booked), Witness("a line", "first", digest=digest), Witness("it", "first")]
    ledger(tmp_path).check(known)
    unknown = [Witness("a folder", "x", (1, "ab")), Witness("a line", "x", digest="ab"), Witness("a run", "x")]
    for each in unknown:
        with pytest.raises(RunError, match=f"has 1 entries, and not that of this run: {each.where} shows that run 'x'"):
            ledger(tmp_path).check([each])
        with pytest.raises(RunError, match=rf"is missing: {each.where} shows that run 'x' told labels.* Restore"):
            ledger(tmp_path / "other").check([each])


def _tell(home) -> list[int]:
    return ledger(home).tell("run", IDS, LABELS, 1.0).codes.tolist()


def test_two_runs_at_the_same_time_tell_the_same(tmp_path):
    with forks().Pool(2) as pool:
        one, other = pool.map(_tell, [tmp_path, tmp_path])
    assert one == other


# -- what all runs tell about a label says no more than the ledger has booked, whatever the label was in each of them


def laws(home: Path, n_classes: int, runs: list[tuple[float, bool]]) -> tuple[np.ndarray, np.ndarray]:
    """Return how likely each history of labels makes each sequence of told labels, exactly, and what was booked.

    There is a person for each pair of a history and a sequence. In place of chance, the label that the sequence wants
    is drawn, and its probability noted: the ledger itself runs, with all that it keeps between the runs.

    Parameters
    ----------
    home : path
        Where the ledger is kept.
    n_classes : int
        The number of classes.
    runs : list of (float, bool)
        The epsilon of each run, and whether everybody is drawn afresh.
    """
    histories = np.array(list(itertools.product(range(n_classes), repeat=len(runs))))
    n = len(histories)
    history, wanted = np.repeat(histories, n, axis=0), np.tile(histories, (n, 1))
    people = Ids([f"p-{i:06d}" for i in range(n * n)])
    likely, spent = np.ones(n * n), np.zeros(n * n)
    for place, (epsilon, afresh) in enumerate(runs):
        drawn: list[np.ndarray] = []

        def draw(
            chances: np.ndarray, want: np.ndarray = wanted[:, place], drawn: list[np.ndarray] = drawn
        ) -> np.ndarray:
            drawn.append(chances)
            return want if len(chances) == len(want) else np.zeros(len(chances), dtype=np.int64)

        ledger = LabelLedger(home, "ill", list(range(n_classes)), draw=draw)
        told = ledger.tell(f"run {place}", people, history[:, place], epsilon, math.inf, afresh)
        [chances] = drawn
        assert len(chances) in (0, n * n)  # who is drawn anew does not depend on anybody's label
        if len(chances):
            likely *= chances[np.arange(n * n), wanted[:, place]]
        likely[told.codes != wanted[:, place]] = 0.0
        spent[:] = told.most_spent
    assert set(ledger.spent()) == {spent[0]}
    return likely.reshape(n, n), spent


STAY, AFRESH = False, True


@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize(
    ("runs", "booked"),
    [
        ([(1.0, STAY), (1.0, STAY)], 1.0),
        ([(0.1, STAY), (2.0, STAY)], 2.0),
        ([(2.0, STAY), (0.5, STAY)], 2.0),
        ([(1.0, AFRESH), (1.0, AFRESH)], 2.0),
        ([(1.0, STAY), (1.0, STAY), (1.0, STAY)], 1.0),
        ([(0.5, STAY), (2.0, STAY), (1.0, STAY)], 2.0),
        ([(1.0, AFRESH), (1.0, AFRESH), (0.5, AFRESH)], 2.5),
        ([(1.0, STAY), (0.5, AFRESH), (1.5, STAY)], 2.5),
        ([(0.5, AFRESH), (1.0, STAY), (2.0, AFRESH)], 3.0),
        ([(20.0, STAY), (0.1, STAY), (20.0, STAY)], 20.0),
    ],
)
def test_no_two_histories_of_labels_differ_by_more_than_was_booked_in_how_likely_they_make_what_was_told(
    tmp_path, n_classes, runs, booked
):
    likely, spent = laws(tmp_path, n_classes, runs)
    np.testing.assert_allclose(likely.sum(axis=1), 1.0)
    np.testing.assert_allclose(spent, booked)
    for told in likely.T:  # of one sequence of told labels: its probability under each history
        assert (told > 0.0).all() or not told.any()
        if told.any():
            assert math.log(told.max() / told.min()) <= booked + 1e-6
    ratios = [math.log(told.max() / told.min()) for told in likely.T if told.any()]
    assert max(ratios) == pytest.approx(booked, abs=1e-6)  # and the bound is met: nothing is booked that was not told
