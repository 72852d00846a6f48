"""The written rule by which values become numbers, booleans, days or categories."""

from __future__ import annotations

import datetime as dt
from unittest.mock import patch

import numpy as np
import polars as pl
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from assistlearn.agent.file import parse_description
from assistlearn.errors import ColumnsError, TableError
from assistlearn.tables import kinds
from assistlearn.tables.kinds import cleaned, column_of, convert
from assistlearn.tables.schema import Column, Kind
from assistlearn.tables.table import read_table


def read(values: list[str | None], **how: bool) -> tuple[Kind, list[object]]:
    series = pl.Series("x", values, dtype=pl.String)
    column = column_of(series, how.get("as_category", False), from_text=True, source="lab.csv")
    return column.kind, convert(cleaned(series), column, "lab.csv").to_list()


@pytest.mark.parametrize(
    ("values", "kind", "becomes"),
    [
        (["1", " 2.5", "-3e2 ", None, ""], Kind.NUMBER, [1.0, 2.5, -300.0, None, None]),
        (["true", "False", None], Kind.BOOLEAN, [1.0, 0.0, None]),
        (["1970-01-02", "1970-01-03T12:00:00", "1970-01-03 12:00"], Kind.DATE, [1.0, 2.5, 2.5]),
        (["1970-01-02T14:00:00+02:00", "1970-01-02T12:00:00Z"], Kind.DATE, [1.5, 1.5]),
        (["red", " green ", "  "], Kind.CATEGORY, ["red", "green", None]),
        (["1", "two", "three"], Kind.CATEGORY, ["1", "two", "three"]),
        (["1", "-", "?", "None", "2"], Kind.NUMBER, [1.0, None, None, None, 2.0]),
        (["true", "n.a.", "false"], Kind.BOOLEAN, [1.0, None, 0.0]),
        (["+", "-", "-"], Kind.CATEGORY, ["+", "-", "-"]),
        (["-", "?"], Kind.CATEGORY, ["-", "?"]),
        (["2d", "3d"] * 20, Kind.CATEGORY, ["2d", "3d"] * 20),
        (["01/02/2020", "02/01/2020"], Kind.CATEGORY, ["01/02/2020", "02/01/2020"]),
        (["2020-02-30"], Kind.CATEGORY, ["2020-02-30"]),
        ([None, "", " "], Kind.NUMBER, [None, None, None]),
    ],
)
def test_a_csv_column_is_of_a_kind_if_every_value_is(values, kind, becomes):
    assert read(values) == (kind, becomes)


@pytest.mark.parametrize(
    ("values", "words"),
    [
        (["1", "2", "three"], r"1 of 3 values is not a number \('three', row 3\)\. Correct it, .*as_category"),
        (["1", "2", "2", "1,5", "x", None], r"2 of 5 values are not numbers \(first: '1,5', row 4\)\. Correct them"),
        (["1", "2", "1\x002"], r"is not a number \('1\\x002', row 3\)"),
        (["2020-01-01", "2020-02-30", "2020-01-02"], r"1 of 3 values is not a date \('2020-02-30', row 2\)"),
        (["true", "false", "ja"], r"1 of 3 values is not a truth value \('ja', row 3\)"),
        (["1,5", "2,0", None], r"numbers with commas \('1,5', row 1\)\. .*Else write plain numbers"),
        (["1,234", "1,234,567.5"], "numbers with commas"),
        ([f"1.234.{n:03d}" for n in range(30)], "numbers with thousands set apart"),
        ([f"1'{n:03d}" for n in range(30)], "numbers with thousands set apart"),
        ([f"{n}.5 kg" for n in range(30)], r"numbers with a unit \('0.5 kg', row 1\)"),
        ([f"{n}%" for n in range(30)], "numbers with a unit"),
        ([f"€ {n},00" for n in range(30)], "numbers with a unit"),
    ],
)
def test_a_column_that_is_nearly_of_a_kind_is_refused_with_the_first_row(values, words):
    with pytest.raises(TableError, match=r"lab\.csv: column 'x'.*" + words):
        read(values)
    assert read(values, as_category=True)[0] is Kind.CATEGORY


def test_codes_stay_text_with_their_leading_zeros():
    assert read(["007", "7"], as_category=True) == (Kind.CATEGORY, ["007", "7"])


@pytest.mark.parametrize(
    ("values", "kind", "becomes"),
    [
        (pl.Series([1, None], dtype=pl.Int32), Kind.NUMBER, [1.0, None]),
        (pl.Series([0.5, float("nan"), None]), Kind.NUMBER, [0.5, None, None]),
        (pl.Series([None, None], dtype=pl.Null), Kind.NUMBER, [None, None]),
        (pl.Series([True, None]), Kind.BOOLEAN, [1.0, None]),
        (pl.Series([dt.date(1970, 1, 11)]), Kind.DATE, [10.0]),
        (pl.Series([dt.datetime(1970, 1, 1, 6)]), Kind.DATE, [0.25]),
        (pl.Series([dt.datetime(1970, 1, 1, 6)]).dt.replace_time_zone("Asia/Tokyo"), Kind.DATE, [-0.125]),
        (pl.Series([dt.timedelta(hours=36)]), Kind.DATE, [1.5]),
        (pl.Series(["1", "2"]), Kind.CATEGORY, ["1", "2"]),
        (pl.Series(["a", "b"], dtype=pl.Categorical), Kind.CATEGORY, ["a", "b"]),
    ],
)
def test_a_typed_column_keeps_its_meaning(values, kind, becomes):
    column = column_of(values.alias("x"), False, from_text=False, source="lab.parquet")
    assert column.kind == kind
    assert convert(cleaned(values.alias("x")), column, "lab.parquet").to_list() == becomes


@pytest.mark.parametrize("values", [[[1, 2]], [{"a": 1}], [b"a"], [dt.time(1)]])
def test_a_column_of_no_use_is_refused_by_name(values):
    with pytest.raises(ColumnsError, match=r"column 'x' is of type .* Exclude it"):
        column_of(pl.Series("x", values), False, False, "lab.parquet")


def test_thirty_two_bits_are_used_only_where_they_are_exact():
    integers = [pl.Int8, pl.Int16, pl.Int32, pl.Int64, pl.UInt8, pl.UInt16, pl.UInt32, pl.UInt64]
    for dtype in [*integers, pl.Float32, pl.Float64]:
        exact = dtype == pl.Float32
        if dtype.is_integer():
            largest = pl.select(dtype.max()).item()
            exact = int(np.float32(largest)) == largest
        assert column_of(pl.Series("x", [1], dtype=dtype), False, False, "").narrow == exact, dtype


CELLS = st.sampled_from(["1", "2.5", "", "true", "x", "2020-01-01", " 3"])


@given(st.lists(CELLS, min_size=1, max_size=6).filter(any), st.data())
def test_a_few_rows_become_what_they_are_in_the_whole_table(tmp_path_factory, cells, data):
    folder = tmp_path_factory.mktemp("few", numbered=True)
    (folder / "lab.csv").write_text("id,x\n" + "".join(f'p{n},"{cell}"\n' for n, cell in enumerate(cells)))
    agent = parse_description({"name": "lab", "table": "lab.csv", "id": "id", "learner": "a.B"}, folder / "lab.toml")
    try:
        whole = read_table(agent)
    except TableError:  # most cells are of a kind, and some are not
        assume(False)
    rows = data.draw(st.lists(st.sampled_from(range(len(cells))), min_size=1, unique=True))
    (folder / "lab.csv").write_text("id,x\n" + "".join(f'p{row},"{cells[row]}"\n' for row in rows))
    few = read_table(agent, schema=whole.schema)
    assert few.features.schema == whole.features.schema
    assert few.features.equals(whole.features[rows])


def test_codes_are_the_same_whether_stored_as_text_integers_or_floats():
    column = Column("zip", Kind.CATEGORY)
    stored = [["80331", "1067"], [80331, 1067], [80331.0, 1067.0]]
    assert len({tuple(convert(cleaned(pl.Series(codes)), column, "").to_list()) for codes in stored}) == 1


VALUES = st.sampled_from(
    [
        *("1", "2.5", "x", "true", "False", "2020-02-29", "2020-02-29T12:00", "-", "?", "none", " ", " 1 ", "1,5"),
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
            found = column_of(column, False, True, "t.csv")
            return found, convert(cleaned(column), found, "t.csv").to_list()
        except TableError as error:
            return str(error)

    quick = judged()
    with patch.object(kinds, "few_values", lambda text: None):
        assert quick == judged()
