"""Shortcuts in reading change nothing but the time: the quick way and the thorough one come to the same."""

from __future__ import annotations

from unittest.mock import patch

import polars as pl
from hypothesis import given, settings
from hypothesis import strategies as st

from assistlearn.errors import TableError
from assistlearn.tables import kinds
from assistlearn.tables.sources.csv import CsvFile, CsvSource

WORDS = ["NA", "nan", "null"]
CELLS = st.sampled_from(["1", "2.5", "-3e2", "NA", "nan", "null", "", " NA", '"NA"', "x", "inf", "NaN", " 4", "007"])


@given(st.lists(st.tuples(CELLS, CELLS, CELLS), min_size=1, max_size=8), st.sampled_from([WORDS, [], ["1", "NA"]]))
def test_words_for_missing_values_may_be_looked_for_later(tmp_path_factory, rows, words):
    path = tmp_path_factory.mktemp("csv") / "t.csv"
    path.write_text("id,a,b,z\n" + "".join(f"{','.join(row)},end\n" for row in rows))

    def read():
        source = CsvSource(CsvFile(path, ",", "t.csv"), words)
        return source.names(), source.read(["id", "a", "b"], ["id"])

    names, quick = read()
    with patch.object(CsvSource, "_are_words_among_numbers", True):
        thorough_names, thorough = read()
    assert names == thorough_names
    assert quick.schema == thorough.schema
    assert quick.fill_nan(None).equals(thorough.fill_nan(None))


VALUES = st.sampled_from(
    [
        "1",
        "2.5",
        "x",
        "true",
        "False",
        "2020-02-29",
        "2020-02-29T12:00",
        "-",
        "?",
        "none",
        " ",
        " 1 ",
        "1,5",
        "3 kg",
        None,
    ]
)


@settings(deadline=None)
@given(st.lists(VALUES, min_size=1, max_size=12), st.data())
def test_a_column_of_few_values_is_judged_by_these(values, data):
    times = data.draw(st.lists(st.integers(1, 400), min_size=len(values), max_size=len(values)))
    cells = [value for value, n in zip(values, times, strict=True) for _ in range(n)]
    column = pl.Series("x", (cells * (1 + 1500 // len(cells))), dtype=pl.String)

    def judged():
        try:
            found = kinds.column_of(column, False, True, "t.csv")
            return found, kinds.convert(kinds.cleaned(column), found, "t.csv").to_list()
        except TableError as error:
            return str(error)

    quick = judged()
    with patch.object(kinds, "few_values", lambda text: None):
        assert quick == judged()
