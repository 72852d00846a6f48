"""The benchmark of pilots: its rows can be measured again, and pilots with other seeds are answered as promised."""

from __future__ import annotations

import numpy as np
import pytest

from bench.worth import estimates
from bench.worth.permuted import pilot
from bench.worth.run import FIRST, measured, read, shown
from bench.worth.sequences import CASES, looked_at


def test_a_row_can_be_measured_again():
    [row] = [row for row in read() if row["what"] == "gain .05" and row["seed"] == str(FIRST)]
    assert {name: str(value) for name, value in measured(("gain .05", FIRST)).items()} == row
    assert "gain .05" in shown([row])


def test_drawn_sequences_with_seeds_of_their_own_are_answered_as_promised():
    found = [looked_at(CASES["gain .05"], seed) for seed in range(40)]
    assert np.mean([looked.answer == "yes" for looked in found]) > 0.9
    assert np.median([looked.n_opened for looked in found]) <= 400


@pytest.mark.filterwarnings("ignore")
def test_real_pilots_with_seeds_of_their_own_are_answered_as_promised():
    assert [pilot(seed, permuted=True).answer for seed in range(4)].count("yes") == 0
    assert [pilot(seed, permuted=False).answer for seed in range(4)].count("no") == 0


def test_estimates_can_be_measured_again():
    n, answered, made = estimates.estimates(estimates.CASES["25 % and 15 %"], seed=3)
    assert answered
    assert made["a pilot's"] < made["mean"] == pytest.approx(estimates.CASES["25 % and 15 %"].drawn(3)[:n].mean())
