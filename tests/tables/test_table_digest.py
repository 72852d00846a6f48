"""The fingerprint of a table: that of earlier versions, and of the values alone."""

from __future__ import annotations

import polars as pl
from hypothesis import given
from hypothesis import strategies as st

from assistlearn.tables.table import fingerprint

COLUMNS = [
    pl.Series("id", ["a", "b", "ü"]),
    pl.Series("x", [1.5, None, -2.0]),
    pl.Series("t", [None, "u", "vw"]),
    pl.Series("y", [True, None, False]),
    pl.Series("n", [1, 2, 3]),
]


def test_runs_of_earlier_versions_still_know_their_tables():
    assert fingerprint(COLUMNS) == "7289f1ddc3d3672a783100d00339edcb5eb1631c5a0cf9ab8487b66205a95af7"


@given(
    st.one_of(
        *(
            st.lists(st.none() | kind, max_size=20)
            for kind in (st.floats(allow_nan=False), st.text("aü", max_size=3), st.booleans())
        )
    ),
    st.integers(0, 20),
)
def test_it_does_not_matter_in_how_many_pieces_a_column_is_kept(values, cut):
    whole = pl.Series("x", values)
    pieces = pl.concat([whole[:cut], whole[cut:]], rechunk=False) if values else whole
    assert fingerprint([pieces]) == fingerprint([whole])
