"""Class codes are numpy's, however they are found."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from assistlearn.core.labels import classes_and_codes

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


@pytest.mark.parametrize(("n_classes", "kind"), [(2, np.int8), (128, np.int8), (129, np.int16), (40_000, np.int32)])
def test_codes_are_small_and_can_be_negative(n_classes, kind):
    for y in (np.arange(n_classes), np.arange(n_classes).astype(str)):
        assert classes_and_codes(y)[1].dtype == kind


def test_labels_that_are_codes_already_are_not_copied():
    y = np.array([1, 0, 2, 2], dtype=np.int8)
    assert classes_and_codes(y)[1] is y
