"""Shares of helpers are Shapley values with honest errors, and so are their means over runs."""

from __future__ import annotations

import time
from dataclasses import asdict
from functools import cache
from itertools import permutations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.metrics import log_loss

from assistlearn import mean_shares
from assistlearn.core.votes import probabilities, winners
from assistlearn.errors import SettingsError
from assistlearn.evaluation.calibration import UNCHANGED, ScoreCalibration
from assistlearn.evaluation.shares import Estimate, GainShare, GainShares, shares_of_decisions, shares_of_sum


def scores_of_agents(n_helpers, n_classes, seed, n=60):
    """Return the initiator's scores, the helpers', the classes and weights; in eighths, so that some sums tie."""
    rng = np.random.default_rng(seed)
    codes = rng.integers(0, n_classes, n)
    truth = np.eye(n_classes)[codes]
    own, *helpers = (
        np.round(8 * (rng.normal(size=(n, n_classes)) + truth * rng.uniform(0, 1))) / 8 for _ in range(n_helpers + 1)
    )
    scores = {f"h{j}": each for j, each in enumerate(helpers)}
    return own, scores, codes, rng.uniform(0.0, 2.0, n)


def figures(own, scores, codes, weights, names, said_of=probabilities):
    """Return log loss and accuracy with some helpers, as scikit-learn and a mean have them."""
    total = own.copy()
    for name in scores:  # in the order of the agents, as everywhere
        if name in names:
            total = total + scores[name]
    loss = log_loss(codes, said_of(total), labels=np.arange(own.shape[1]), sample_weight=weights)
    return loss, np.average(winners(total) == codes, weights=weights)


def shares_by_all_orders(own, scores, codes, weights):
    found = {name: np.zeros(2) for name in scores}
    orders = list(permutations(scores))
    known = cache(lambda names: figures(own, scores, codes, weights, names))
    for order in orders:
        for place, name in enumerate(order):
            before, after = known(frozenset(order[:place])), known(frozenset(order[: place + 1]))
            found[name] += np.array([before[0] - after[0], after[1] - before[1]]) / len(orders)
    return found


def values(found):
    return {share.helper: (share.loss.value, share.accuracy.value) for share in found.helpers}


problems = st.tuples(st.integers(1, 4), st.integers(2, 4), st.integers(0, 2**31))


@settings(max_examples=25, deadline=None)
@given(problems)
def test_shares_are_what_helpers_add_in_the_mean_of_all_orders(problem):
    agents = scores_of_agents(*problem)
    naive = shares_by_all_orders(*agents)
    for name, share in values(shares_of_sum(*agents)).items():
        assert share == pytest.approx(naive[name], abs=1e-11)


@settings(max_examples=15, deadline=None)
@given(problems)
def test_decisions_that_are_sums_have_the_shares_of_sums(problem):
    own, scores, codes, weights = scores_of_agents(*problem)

    def decide(names):
        total = own.copy()
        for name in scores:
            if name in names:
                total = total + scores[name]
        return total, probabilities(total)

    one, other = shares_of_sum(own, scores, codes, weights), shares_of_decisions(list(scores), decide, codes, weights)
    for share, same in zip(one.helpers, other.helpers, strict=True):
        for field in ("loss", "accuracy", "loss_if_dropped", "accuracy_if_dropped"):
            assert asdict(share)[field] == pytest.approx(asdict(same)[field], abs=1e-11)


def test_what_is_lost_without_a_helper_is_the_difference_of_two_decisions():
    own, scores, codes, weights = scores_of_agents(3, 3, 1)
    together = figures(own, scores, codes, weights, tuple(scores))
    for share in shares_of_sum(own, scores, codes, weights).helpers:
        without = figures(own, scores, codes, weights, [name for name in scores if name != share.helper])
        assert share.loss_if_dropped.value == pytest.approx(without[0] - together[0], abs=1e-12)
        assert share.accuracy_if_dropped.value == pytest.approx(together[1] - without[1], abs=1e-12)


def test_where_helpers_are_many_drawn_orders_come_near_the_exact_shares(monkeypatch):
    agents = scores_of_agents(8, 3, 2, n=300)
    exact = shares_of_sum(*agents)
    monkeypatch.setattr("assistlearn.evaluation.shares.MOST_EXACT", 4)
    drawn = shares_of_sum(*agents, seed=1)
    assert (exact.n_orders, drawn.n_orders) == (None, 256)
    assert drawn.loss.value == pytest.approx(exact.loss.value, abs=1e-12)
    for share, near in zip(exact.helpers, drawn.helpers, strict=True):
        assert near.loss.value == pytest.approx(share.loss.value, abs=0.1 * near.loss.error)
        assert near.loss.error >= 0.9 * share.loss.error
        assert asdict(near.loss_if_dropped) == pytest.approx(asdict(share.loss_if_dropped))


def test_the_error_of_a_share_is_its_spread_over_problems():
    """Of 200 problems; a ratio outside this range would have a chance below 1 in 1,000."""
    found = [shares_of_sum(*_same_helpers(seed)).helpers[0] for seed in range(200)]
    spread = np.std([share.loss.value for share in found], ddof=1)
    assert 0.8 < spread / np.mean([share.loss.error for share in found]) < 1.25


def _same_helpers(seed, n=100):
    rng = np.random.default_rng(seed)
    codes = rng.integers(0, 2, n)
    truth = np.eye(2)[codes]
    return rng.normal(size=(n, 2)) + truth, {name: rng.normal(size=(n, 2)) + 0.5 * truth for name in "ab"}, codes


@settings(max_examples=40, deadline=None)
@given(problems)
def test_calibrated_losses_are_shared_as_any_others(problem):
    """All numbers are wild here, so that the winner has to be held above other classes, and the truth."""
    own, scores, codes, weights = scores_of_agents(*problem)
    rng = np.random.default_rng(problem[-1])
    wild = tuple(rng.uniform(0.2, 2.0, own.shape[1])), tuple(rng.normal(0.0, 2.0, own.shape[1]))
    sureness = UNCHANGED if problem[-1] % 2 else tuple(rng.normal(0.0, [1.0, 0.3, 0.3]))
    calibration = ScoreCalibration(*wild, "", 1, sureness)
    alone, assisted = (figures(own, scores, codes, weights, names, calibration.probabilities) for names in ((), scores))
    found = shares_of_sum(own, scores, codes, weights, calibration=calibration)
    assert found.loss.value == pytest.approx(alone[0] - assisted[0], abs=1e-11)
    assert sum(share.loss.value for share in found.helpers) == pytest.approx(found.loss.value, abs=1e-12)
    without = [name for name in scores if name != "h0"]
    loss = figures(own, scores, codes, weights, without, calibration.probabilities)[0]
    assert found.helpers[0].loss_if_dropped.value == pytest.approx(loss - assisted[0], abs=1e-11)


def test_without_helpers_there_is_no_gain_and_with_one_sample_no_error():
    own, _, codes, weights = scores_of_agents(0, 2, 5)
    assert shares_of_sum(own, {}, codes, weights).loss.value == 0.0
    with pytest.raises(SettingsError, match="there is 1"):
        shares_of_sum(own[:1], {}, codes[:1])


def test_twelve_helpers_and_ten_thousand_samples_take_about_a_second():
    own, scores, codes, _ = scores_of_agents(12, 2, 6, n=10_000)
    calibration = ScoreCalibration((0.6, 0.5), (0.1, -0.1), "", 1)
    began = time.process_time()
    shares_of_sum(own, scores, codes, calibration=calibration)
    assert time.process_time() - began < 3.0  # 0.9 on a quiet machine


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
