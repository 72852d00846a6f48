"""A table in memory: its digest, another unit that is noticed, and work on its columns by threads."""

from __future__ import annotations

import json
import threading

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from assistlearn.tables import table as module
from assistlearn.tables.table import MOST_ROWS, distributions, fingerprint, in_threads, moved

COLUMNS = [
    pl.Series("id", ["a", "b", "ü"]),
    pl.Series("x", [1.5, None, -2.0]),
    pl.Series("t", [None, "u", "vw"]),
    pl.Series("y", [True, None, False]),
    pl.Series("n", [1, 2, 3]),
]


def test_a_digest_stays_what_it_is_so_that_runs_know_their_tables():
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
def test_for_a_digest_it_does_not_matter_in_how_many_pieces_a_column_is_kept(values, cut):
    whole = pl.Series("x", values)
    pieces = pl.concat([whole[:cut], whole[cut:]], rechunk=False) if values else whole
    assert fingerprint([pieces]) == fingerprint([whole])


LUCK = np.random.default_rng(5)
TABLE = pl.DataFrame(
    {
        "minutes": LUCK.gamma(2.0, 20.0, 3000),
        "celsius": LUCK.normal(37.0, 0.6, 3000),
        "centimetres": LUCK.normal(170.0, 10.0, 3000),
        "glucose": LUCK.lognormal(4.6, 0.3, 3000),
        "smoker": (LUCK.random(3000) < 0.3).astype(float),
        "rare": (LUCK.random(3000) < 0.01).astype(float),
        "always": np.ones(3000),
        "town": LUCK.choice(["Aachen", "Bonn", "Celle", "Düren"], 3000),
    }
)
THEN = json.loads(json.dumps(distributions(TABLE)))  # as it is kept


@pytest.mark.parametrize(
    ("column", "changed"),
    [
        ("minutes", pl.col("minutes") * 60),
        ("minutes", pl.col("minutes") / 60),
        ("celsius", pl.col("celsius") * 1.8 + 32),
        ("centimetres", pl.col("centimetres") / 2.54),
        ("centimetres", pl.col("centimetres") / 100),
        ("glucose", pl.col("glucose") / 18),
        ("glucose", pl.lit(None, pl.Float64)),
        ("always", pl.lit(100.0)),
        ("town", pl.col("town").str.to_uppercase()),
    ],
)
def test_another_unit_is_noticed_and_the_column_named(column, changed):
    (words,) = moved(THEN, distributions(TABLE.with_columns(changed.alias(column))))
    assert words.startswith(f"column {column!r}: ")
    assert "Aachen" not in json.dumps(THEN)


@given(seed=st.integers(0, 2**32 - 1), rows=st.integers(100, 3000))
def test_some_of_the_rows_in_another_order_have_not_moved(seed, rows):
    assert moved(THEN, distributions(TABLE.sample(rows, shuffle=True, seed=seed))) == []


def test_a_table_that_has_grown_or_lost_a_column_has_not_moved():
    assert moved(THEN, distributions(pl.concat([TABLE, TABLE.head(500)]).drop("celsius"))) == []
    assert moved(THEN, distributions(TABLE.head(0))) == []
    assert moved(THEN, distributions((TABLE.select("minutes") * 60).head(5))) == []  # five rows say nothing


def test_of_a_large_table_some_rows_are_looked_at():
    large = pl.DataFrame({"x": np.arange(25 * MOST_ROWS + 3, dtype=float)})
    facts = distributions(large)["x"]
    assert MOST_ROWS / 2 < facts["rows"] <= MOST_ROWS
    np.testing.assert_allclose(facts["quantiles"], large["x"].quantile(0.5) * np.array([0.1, 0.5, 1, 1.5, 1.9]), 1e-3)


@given(st.lists(st.integers(), max_size=30))
def test_work_by_threads_is_a_map(numbers):
    assert list(in_threads(lambda n: n * n, numbers)) == [n * n for n in numbers]


def test_the_error_is_that_of_the_first_column_whichever_thread_is_quicker():
    late = threading.Event()

    def work(n):
        if n == 0:
            late.wait(5)  # the second has failed by then
            raise ValueError("first")
        late.set()
        raise ValueError("other")

    with pytest.raises(ValueError, match="first"):
        list(in_threads(work, range(8)))


def test_no_more_columns_are_taken_than_threads_can_work_on(monkeypatch):
    monkeypatch.setattr(module.os, "cpu_count", lambda: 2)
    taken = []

    def columns():
        for n in range(50):
            taken.append(n)
            yield n

    ahead = [len(taken) - done - 1 for done, _ in enumerate(in_threads(abs, columns()))]
    assert max(ahead) == 2
