"""Every type that pandas and Polars have for a column becomes the right kind, or is refused by name."""

from __future__ import annotations

import datetime as dt
from decimal import Decimal
from uuid import UUID

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from assistlearn.errors import ColumnsError, TableError
from assistlearn.tables.columns import FrameReader
from assistlearn.tables.settings import PreprocessingSettings

SETTINGS = PreprocessingSettings()
NEW_YEAR = dt.date(2020, 1, 1)
DAY = 18262.0
"""The same, in days since 1970."""


def read(values) -> tuple[str, list]:
    """What a column is, and what it becomes."""
    if isinstance(values, pl.Series):
        frame = pl.DataFrame({"v": values})
    else:
        frame = pd.DataFrame({"v": pd.Series(values) if not isinstance(values, pd.Series) else values})
    reader = FrameReader.found_in(frame, SETTINGS, "Agent 'lab'")
    return reader.by_name["v"], reader.read(frame, "Agent 'lab'")["v"].to_list()


def arrow(values, kind) -> pd.Series:
    return pd.Series(values, dtype=pd.ArrowDtype(kind))


def objects(*values) -> pd.Series:
    return pd.Series(values, dtype=object)


NOON = dt.datetime(2020, 1, 1, 12)
BERLIN = pd.Series(pd.to_datetime(["2020-01-01T13:00+01:00", None])).dt.tz_convert("Europe/Berlin")
WORDS = ("category", ["u", None])
COLUMNS = {
    "integers": ([3, 4], ("number", [3.0, 4.0])),
    "floats with a gap": ([3.5, np.nan], ("number", [3.5, None])),
    "half floats": (pd.Series([1, 2], dtype="float16"), ("number", [1.0, 2.0])),
    "long doubles": (pd.Series([1, 2], dtype="longdouble"), ("number", [1.0, 2.0])),
    "sparse numbers": (pd.Series(pd.arrays.SparseArray([0.0, 1.0])), ("number", [0.0, 1.0])),
    "Int64": (pd.Series([3, None], dtype="Int64"), ("number", [3.0, None])),
    "Float32": (pd.Series([3, None], dtype="Float32"), ("number", [3.0, None])),
    "boolean": (pd.Series([True, None], dtype="boolean"), ("boolean", [1.0, None])),
    "string": (pd.Series(["u", None], dtype="string"), WORDS),
    "text with blanks": (["u ", " "], WORDS),
    "Arrow's integers": (arrow([3, None], pa.int32()), ("number", [3.0, None])),
    "Arrow's booleans": (arrow([False, None], pa.bool_()), ("boolean", [0.0, None])),
    "Arrow's text": (arrow(["u", None], pa.large_string()), WORDS),
    "Arrow's dates": (arrow([NEW_YEAR, None], pa.date32()), ("date", [DAY, None])),
    "Arrow's moments": (arrow([NOON, None], pa.timestamp("ns")), ("date", [DAY + 0.5, None])),
    "Arrow's decimals": (arrow([Decimal("1.50"), None], pa.decimal128(5, 2)), ("number", [1.5, None])),
    "Arrow's dictionaries": (arrow(["u", None], pa.dictionary(pa.int8(), pa.string())), WORDS),
    "categories, some of them unused": (pd.Categorical(["u", None], categories=["w", "u", "v"]), WORDS),
    "categories that are numbers": (pd.Categorical([1.0, 2.0]), ("category", ["1", "2"])),
    "categories that look like dates": (pd.Categorical(["2020-01-01", None]), ("category", ["2020-01-01", None])),
    "categories of pandas.cut": (pd.cut([1, 9], [0, 5, 10]), ("category", ["(0, 5]", "(5, 10]"])),
    "moments": (pd.to_datetime(["2020-01-01 12:00", None]), ("date", [DAY + 0.5, None])),
    "moments in seconds": (
        pd.Series(pd.to_datetime(["2020-01-01", None])).astype("datetime64[s]"),
        ("date", [DAY, None]),
    ),
    "moments with a zone": (BERLIN, ("date", [DAY + 0.5, None])),
    "durations": (pd.to_timedelta(["36h", None]), ("date", [1.5, None])),
    "months": (pd.PeriodIndex(["2020-01", None], freq="M"), ("date", [DAY, None])),
    "objects: booleans": (objects(True, None), ("boolean", [1.0, None])),
    "objects: numbers": (objects(1, Decimal("2.5"), np.float32(3), pd.NA), ("number", [1.0, 2.5, 3.0, None])),
    "objects: text": (objects("u", np.nan), WORDS),
    "objects: dates": (objects(NEW_YEAR, NOON, pd.NaT), ("date", [DAY, DAY + 0.5, None])),
    "objects: moments with zones": (
        objects(dt.datetime(2020, 1, 1, 13, tzinfo=dt.timezone(dt.timedelta(hours=1))), np.datetime64("2020-01-01")),
        ("date", [DAY + 0.5, DAY]),
    ),
    "objects: durations": (objects(dt.timedelta(days=1), np.timedelta64(12, "h"), None), ("date", [1.0, 0.5, None])),
    "objects: numbers and their words": (objects(1, "2.5", "N/A", "-"), ("number", [1.0, 2.5, None, None])),
    "objects: numbers and other words": (objects(1, "a", 2.0, "b"), ("category", ["1", "a", "2", "b"])),
    "objects: dates and their words": (objects(NOON, "2020-01-01"), ("date", [DAY + 0.5, DAY])),
    "text: numbers": (["3", "4.5", "?"], ("number", [3.0, 4.5, None])),
    "text: booleans": (["TRUE", "false", ""], ("boolean", [1.0, 0.0, None])),
    "text: dates": (["2020-01-01", "NA"], ("date", [DAY, None])),
    "Polars' integers": (pl.Series([3, None], dtype=pl.UInt8), ("number", [3.0, None])),
    "Polars' floats": (pl.Series([3.0, np.nan]), ("number", [3.0, None])),
    "Polars' booleans": (pl.Series([True, None]), ("boolean", [1.0, None])),
    "Polars' decimals": (pl.Series([Decimal("1.50"), None]), ("number", [1.5, None])),
    "Polars' categories": (pl.Series(["u", None], dtype=pl.Categorical), WORDS),
    "Polars' enumerations": (pl.Series(["1", None], dtype=pl.Enum(["2", "1"])), ("category", ["1", None])),
    "Polars' dates": (pl.Series([NEW_YEAR, None]), ("date", [DAY, None])),
    "Polars' moments with a zone": (
        pl.Series([dt.datetime(2020, 1, 1, 13)]).dt.replace_time_zone("Europe/Berlin"),
        ("date", [DAY + 0.5]),
    ),
    "Polars' durations": (pl.Series([dt.timedelta(hours=36), None]), ("date", [1.5, None])),
    "Polars' objects": (pl.Series([True, None], dtype=pl.Object), ("boolean", [1.0, None])),
}


@pytest.mark.parametrize("name", COLUMNS)
def test_a_column_is_read_as_what_it_is(name):
    values, expected = COLUMNS[name]
    assert read(values) == expected


NO_FEATURES = {
    "List": pl.Series([[1], [2]]),
    "Struct": pl.Series([{"a": 1}]),
    "Time": pl.Series([dt.time(1)]),
    "Binary": pl.Series([b"a"]),
    "type list": objects([1], None),
    "type dict": objects(None, {"a": 1}),
    "type bytes": objects(b"a"),
    "type time": objects(dt.time(1)),
    "type UUID": objects(UUID(int=1)),
    "type complex": pd.Series([1j]),
    "type Interval": pd.Series(pd.IntervalIndex.from_breaks([0, 1, 2])),
    "type object": pl.Series([object()], dtype=pl.Object),
}


@pytest.mark.parametrize("name", NO_FEATURES)
def test_what_is_no_feature_is_refused_with_its_owner_and_name(name):
    with pytest.raises(ColumnsError, match=rf"Agent 'lab': column 'v' .*{name}.* cannot be a feature\. Leave"):
        read(NO_FEATURES[name])


@pytest.mark.parametrize("values", [["oops", *"1234"], objects("oops", 1, 2.0, 3, 4)], ids=["text", "objects"])
def test_a_bad_cell_is_named_in_the_words_of_the_command_line(values):
    with pytest.raises(
        TableError, match=r"Agent 'lab': column 'v': 1 of 5 values is not a number \('oops', row 1\)"
    ) as e:
        read(values)
    assert "preprocessing.missing_values" in str(e.value)
    assert "parameters of TablePreprocessor" in str(e.value)


@pytest.mark.parametrize("values", [[1.0, np.inf], objects(1, 10**400)], ids=["floats", "objects"])
def test_infinite_numbers_are_refused(values):
    with pytest.raises(TableError, match=r"Agent 'lab': column 'v' has 1 infinite values \(first: row 2\)"):
        read(values)


def test_columns_of_one_name_are_refused():
    frame = pd.DataFrame([["a", "b"]], columns=["v", "v"])
    with pytest.raises(ColumnsError, match="'v' is the name of more than one column"):
        FrameReader.found_in(frame, SETTINGS, "X")


TRAINED = pl.DataFrame(
    {"age": [41, 67], "town": ["Ulm", "Bern"], "on": [True, False], "since": [NEW_YEAR, None], "zip": [7, 8]}
)


@pytest.mark.parametrize(
    ("column", "values", "expected"),
    [
        ("age", ["41", " - "], [41.0, None]),
        ("age", [Decimal("1.5"), None], [1.5, None]),
        ("town", pd.Categorical(["Oslo", None]), ["Oslo", None]),
        ("town", [3.0, np.nan], ["3", None]),
        ("on", [1, 0], [1.0, 0.0]),
        ("on", ["True", None], [1.0, None]),
        ("since", ["2020-01-01", "2020-01-01T12:00"], [DAY, DAY + 0.5]),
        ("since", pd.to_datetime(["2020-01-01", None]), [DAY, None]),
        ("zip", [7.0, np.nan], ["7", None]),
    ],
)
def test_later_frames_of_other_types_are_read_alike(column, values, expected):
    reader = FrameReader.found_in(TRAINED, PreprocessingSettings(as_category=("z*",)), "X")
    assert reader.by_name["zip"] == "category"
    later = TRAINED.to_pandas().assign(**{column: values})
    assert reader.read(later, "X")[column].to_list() == expected


@pytest.mark.parametrize(
    ("column", "values", "held"),
    [
        ("age", ["41", "old"], "numbers when the models were trained, but 1 of 2 rows do not fit .*row 2, 'old'"),
        ("since", [1.0, 2.0], "dates when the models were trained"),
    ],
)
def test_later_frames_that_mean_something_else_are_refused(column, values, held):
    reader = FrameReader.found_in(TRAINED, SETTINGS, "Agent 'lab'")
    later = TRAINED.to_pandas().assign(**{column: values})
    with pytest.raises(TableError, match=f"Agent 'lab': column {column!r} held {held}"):
        reader.read(later, "Agent 'lab'")
