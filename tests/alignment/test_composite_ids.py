"""Ids of several columns are one text, and no two people get the same."""

from __future__ import annotations

import polars as pl
from hypothesis import given
from hypothesis import strategies as st

from assistlearn.alignment import join_ids, split_ids

PART = st.text(st.sampled_from("ab|\\/,"), min_size=1, max_size=4)
ROWS = st.lists(st.tuples(PART, PART, PART), min_size=1, max_size=20)


@given(ROWS)
def test_the_parts_come_back_as_they_were(rows):
    columns = [pl.Series(name, values) for name, values in zip("xyz", zip(*rows, strict=True), strict=True)]
    assert [part.to_list() for part in split_ids(join_ids(columns), "xyz")] == [part.to_list() for part in columns]


@given(ROWS)
def test_different_people_have_different_ids(rows):
    columns = [pl.Series(values) for values in zip(*rows, strict=True)]
    assert join_ids(columns).n_unique() == len(set(rows))


def test_parts_are_written_by_the_one_rule():
    csv = join_ids([pl.Series(["FR ", "DE"]), pl.Series(["17.0", "007"]), pl.Series(["2024-02-29", "2000-01-01"])])
    typed = pl.DataFrame({"date": ["2024-02-29", "2000-01-01"]}).select(pl.col("date").str.to_date())["date"]
    parquet = join_ids([pl.Series(["FR", "DE"]), pl.Series([17.0, 7.0]), typed])
    assert csv.to_list() == ["FR|17|2024-02-29", "DE|007|2000-01-01"]
    assert parquet.to_list() == ["FR|17|2024-02-29", "DE|7|2000-01-01"]
