import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from assistlearn.alignment import Ids, Minimum, samples_of_run
from assistlearn.alignment.roles import confirmation, order_digest
from assistlearn.errors import OverlapError, SettingsError
from tests.alignment.agents import rows_in_clear, two_tables

KEY = bytes(range(32))


@given(two_tables())
def test_two_agents_that_mean_the_same_samples_have_the_same_digest(tables):
    ours, theirs = tables
    rows = rows_in_clear(ours, theirs)
    own_rows = np.where(rows >= 0, np.arange(len(ours)), -1)
    assert order_digest(Ids(ours), own_rows, KEY) == order_digest(Ids(theirs), rows, KEY)


def test_the_digest_sees_every_difference():
    ids = Ids(["a", "b", "ab", "c", "bc"])
    choices = [list(rows) for n in range(4) for rows in itertools.product([-1, 0, 1, 2, 3, 4], repeat=n)]
    seen = {order_digest(ids, np.array(rows, dtype=np.int64), KEY) for rows in choices}
    assert len(seen) == len(choices)


def test_the_digest_and_its_confirmation_depend_on_the_key():
    ids, rows = Ids(["a", "b"]), np.array([0, 1])
    ours, other = order_digest(ids, rows, KEY), order_digest(ids, rows, bytes(32))
    assert ours != other
    assert confirmation(ours, KEY) not in {ours, confirmation(ours, bytes(32)), confirmation(other, KEY)}


@given(st.integers(0, 1000), st.integers(1, 10**6), st.floats(0, 1))
def test_the_minimum_can_always_be_met(samples, n_samples, share):
    assert 0 <= Minimum(samples, share).of(n_samples) <= n_samples


def test_the_minimum_is_the_larger_of_number_and_share():
    minimum = Minimum(samples=20, share=0.1)
    minimum.check(20, 100, "Agent 'lab' holds")
    minimum.check(30, 300, "Agent 'lab' holds")
    with pytest.raises(
        OverlapError, match=r"Agent 'lab' holds 19 of the initiator's 100 samples \(19\.00%\); at least 20"
    ):
        minimum.check(19, 100, "Agent 'lab' holds")
    with pytest.raises(OverlapError, match=r"at least 30 are needed.*leading zeros"):
        minimum.check(29, 300, "Agent 'lab' holds")


@pytest.mark.parametrize(("samples", "share"), [(-1, 0.5), (1, -0.1), (1, 1.1), (1, float("nan"))])
def test_an_impossible_minimum_is_refused(samples, share):
    with pytest.raises(SettingsError, match="minimum overlap"):
        Minimum(samples, share)


def test_an_empty_intersection_is_an_error_before_any_training():
    held = {"lab": np.arange(100) < 50, "shop": np.arange(100) >= 50}
    assert samples_of_run(held, "abstain").all()
    with pytest.raises(OverlapError, match=r"All agents together hold 0 of the initiator's 100 samples"):
        samples_of_run(held, "intersection")


def test_impossible_settings_of_the_overlap_are_refused():
    held = {"lab": np.ones(3, dtype=bool), "shop": np.ones(4, dtype=bool)}
    with pytest.raises(SettingsError, match="same samples"):
        samples_of_run(held, "abstain")
    with pytest.raises(SettingsError, match="no helper"):
        samples_of_run({}, "abstain")
    with pytest.raises(SettingsError, match="'abstain' or 'intersection', not 'union'"):
        samples_of_run({"lab": held["lab"]}, "union")
