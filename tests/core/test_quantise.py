"""Scores in a few bits of which none is silent."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays

from assistlearn.core.quantise import largest_level, quantise_all_spoken

SCORES = arrays.arrays(np.float64, st.integers(1, 40), elements=st.floats(-5.0, 5.0, allow_subnormal=False))


@given(values=SCORES, bits=st.sampled_from((2, 3, 4, 8)))
def test_every_spoken_score_has_a_level_of_its_own_sign_within_one_of_it(values, bits):
    said = quantise_all_spoken(values, bits)
    assert (said.levels != 0).all()
    assert np.abs(said.levels).max() <= largest_level(bits)
    assert ((said.levels > 0) == (values >= 0.0)).all()
    told = np.abs(values) <= said.scale * largest_level(bits) * (
        1 + 1e-9
    )  # the others are told as loud as the loudest level
    assert (np.abs(said.values() - values)[told] <= said.scale * (1 + 1e-6)).all()
    assert np.count_nonzero(~told) <= max(1, 0.01 * len(values))


@given(values=SCORES, bits=st.sampled_from((2, 4)))
def test_levels_keep_the_order_of_scores(values, bits):
    order = np.argsort(values)
    assert (np.diff(quantise_all_spoken(values, bits).levels[order]) >= 0).all()


def test_only_samples_that_an_agent_does_not_hold_have_the_level_zero():
    held = np.array([True, False, True, True])
    said = quantise_all_spoken(np.array([0.0, 3.0, -3.0]), 4, held)
    assert (said.levels == 0).tolist() == [False, True, False, False]
