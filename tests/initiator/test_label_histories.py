"""What all runs tell about a label says no more than the ledger has booked, whatever the label was in each of them."""

from __future__ import annotations

import itertools
import math
from pathlib import Path

import numpy as np
import pytest

from assistlearn.alignment import Ids
from assistlearn.initiator.label_ledger import LabelLedger


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
