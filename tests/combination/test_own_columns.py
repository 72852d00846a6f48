"""The initiator's own columns as numbers, from every kind of table."""

from __future__ import annotations

import numpy as np
import pandas as pd
import polars as pl
import pytest
from scipy import sparse

from assistlearn.combination.combination import as_numbers, number_columns

COLUMNS = {"age": [30, None, 50], "name": ["a", "b", None], "smokes": [True, None, False], "weight": [1.5, 2.5, None]}
EXPECTED = np.array([[30, 1, 1.5], [np.nan, np.nan, 2.5], [50, 0, np.nan]])


@pytest.mark.parametrize(
    "table",
    [
        pl.DataFrame(COLUMNS),
        pd.DataFrame(COLUMNS).astype({"age": "Int64", "smokes": "boolean"}),
        pd.DataFrame(COLUMNS).astype({"age": "Int64", "smokes": "boolean", "name": "category"}),
    ],
    ids=["polars", "pandas", "pandas-category"],
)
def test_numbers_and_truth_values_are_taken_and_words_are_not(table):
    found = number_columns(table)
    assert found == (0, 2, 3)
    np.testing.assert_array_equal(as_numbers(table, found), EXPECTED)


def test_columns_that_were_whole_in_training_may_miss_values_later():
    found = number_columns(pl.DataFrame({"a": [1, 2], "b": ["x", "y"]}))
    np.testing.assert_array_equal(as_numbers(pl.DataFrame({"a": [None, 4], "b": ["x", "y"]}), found), [[np.nan], [4]])


def test_a_sparse_matrix_has_no_columns_to_look_at():
    table = sparse.csr_matrix(np.eye(3))
    assert as_numbers(table, number_columns(table)).shape == (3, 0)
