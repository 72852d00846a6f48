"""The mean of several runs' shares: its errors know of the runs as well as of the samples."""

from __future__ import annotations

import numpy as np
import pytest

from assistlearn import mean_shares
from assistlearn.errors import SettingsError
from assistlearn.evaluation.shares import Estimate, GainShare, GainShares


def of_run(values, error=0.0, n_samples=100):
    estimates = [Estimate(float(value), error) for value in values]
    helpers = tuple(GainShare(f"h{j}", each, each, each, each) for j, each in enumerate(estimates))
    whole = Estimate(float(sum(values)), error)
    return GainShares(whole, whole, helpers, n_samples, None)


def test_the_shares_still_sum_to_the_gain():
    found = mean_shares([of_run(values) for values in np.random.default_rng(0).normal(size=(7, 3))])
    assert sum(share.loss.value for share in found.helpers) == pytest.approx(found.loss.value, abs=1e-12)


def test_runs_that_agree_leave_the_error_of_the_samples_as_it_is():
    assert mean_shares([of_run([0.1], 0.02)] * 5).helpers[0].loss == Estimate(pytest.approx(0.1), pytest.approx(0.02))


@pytest.mark.parametrize("n_runs", [2, 3, 5, 20])
def test_the_interval_holds_the_mean_of_all_runs_that_there_might_be_in_95_of_100(n_runs):
    rng = np.random.default_rng(n_runs)
    held = 0
    for _ in range(1_000):
        share = mean_shares([of_run(values) for values in rng.normal(0.3, 0.1, (n_runs, 1))]).helpers[0].loss
        held += abs(share.value - 0.3) <= 1.96 * share.error
    assert 930 < held < 970


def test_other_helpers_or_other_samples_or_a_single_run_make_no_mean():
    with pytest.raises(SettingsError, match="here are 1 with"):
        mean_shares([of_run([0.1])])
    with pytest.raises(SettingsError, match=r"\('h0',\), \('h0', 'h1'\)"):
        mean_shares([of_run([0.1]), of_run([0.1, 0.2])])
    with pytest.raises(SettingsError, match=r"\[50, 100\] samples"):
        mean_shares([of_run([0.1]), of_run([0.1], n_samples=50)])
