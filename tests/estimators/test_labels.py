"""Class codes are numpy's, however they are found."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from assistlearn.estimators.labels import classes_and_codes

WHOLE = st.sampled_from([np.int8, np.uint8, np.int16, np.int32, np.int64, np.uint64])


@given(WHOLE.flatmap(lambda kind: hnp.arrays(kind, st.integers(1, 30))))
def test_whole_numbers_get_the_codes_that_sorting_gives(y):
    classes, codes = classes_and_codes(y)
    expected, positions = np.unique(y, return_inverse=True)
    assert classes.dtype == y.dtype
    np.testing.assert_array_equal(classes, expected)
    np.testing.assert_array_equal(codes, positions)


@pytest.mark.parametrize("y", [["b", "a", "b"], [0.5, 0.25, 0.5], [True, False, True], np.array(["x", "y"], object)])
def test_other_labels_are_sorted(y):
    classes, codes = classes_and_codes(np.asarray(y))
    np.testing.assert_array_equal(classes[codes], y)
    assert list(classes) == sorted(set(y))
