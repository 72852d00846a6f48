"""The line that cuts a picture in two."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from paper.datasets.tables import left_of_cut

seeds = st.integers(0, 2**31)


@given(seeds)
def test_each_side_has_half_of_the_pixels(seed):
    left = left_of_cut(seed)
    assert left.shape == (28, 28)
    assert left.sum() == 392


@given(seeds)
def test_the_line_runs_from_top_to_bottom_once(seed):
    left = left_of_cut(seed)
    assert not (left[:, 1:] & ~left[:, :-1]).any()  # in no row is a left pixel right of a right one
    assert (left.any(axis=1) & ~left.all(axis=1)).all()  # both sides have a part of every row


@given(seeds)
def test_the_line_is_irregular_but_does_not_jump(seed):
    widths = left_of_cut(seed).sum(axis=1)
    assert len(set(widths.tolist())) > 1
    assert np.abs(np.diff(widths)).max() <= 3


@given(seeds)
def test_the_same_seed_gives_the_same_line(seed):
    np.testing.assert_array_equal(left_of_cut(seed), left_of_cut(seed))


def test_other_seeds_give_other_lines():
    assert len({left_of_cut(seed).tobytes() for seed in range(50)}) == 50
