"""How a table is read: the columns it needs, ids and labels checked, an error for all that cannot be used."""

from __future__ import annotations

import datetime as dt
import gzip
import os
import re
from unittest.mock import patch

import duckdb
import numpy as np
import polars as pl
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

from assistlearn.agent.file import load_description
from assistlearn.errors import ColumnsError, IdsError, MissingTableError, TableError
from assistlearn.tables.settings import ReadingLimits
from assistlearn.tables.sources.csv import SAMPLED_ROWS, CsvSource
from assistlearn.tables.table import read_table

CSV = "id,age,town,y\n007,41,Ulm,sick\n008,,Bern,well\n009,37.5,Ulm,well\n"


def read(path, **how):
    return read_table(load_description(path), **how)


def test_a_table_has_ids_features_and_labels(write_agent):
    table = read(write_agent(CSV, label='"y"'))
    assert table.ids.to_list() == ["007", "008", "009"]
    assert table.features.to_dict(as_series=False) == {"age": [41.0, None, 37.5], "town": ["Ulm", "Bern", "Ulm"]}
    assert table.labels.to_list() == ["sick", "well", "well"]
    assert len(table) == 3
    assert read(write_agent(CSV)).labels is None  # of a helper


def test_a_gzip_file_in_capitals_with_empty_cells_at_the_end_is_read(write_agent, tmp_path):
    rows = "".join(f"p{i},{i * i % 977},\n" for i in range(1999)) + "z,,\n"  # with line feeds among the packed bytes
    (tmp_path / "LAB.CSV.GZ").write_bytes(gzip.compress(f"id,x,z\n{rows}q,1,3\n".encode()))
    assert read(write_agent(table='"LAB.CSV.GZ"')).features["z"].to_list() == [None] * 2000 + [3.0]


def test_a_byte_order_mark_and_another_separator_are_no_obstacle(write_agent):
    table = read(write_agent("\ufeff" + CSV.replace(",", ";"), separator='";"'))
    assert table.ids.to_list() == ["007", "008", "009"]
    assert table.features.columns == ["age", "town", "y"]


def test_whole_number_ids_of_parquet_stay_numbers(write_agent):
    table = read(write_agent(pl.DataFrame({"id": [3, 1], "x": [0.5, 1.5]})))
    assert table.ids.to_list() == [3, 1]


@pytest.mark.parametrize(("late", "kind"), [("2.5", "number"), ("unknown", "number"), ("", "number"), ("-", "number")])
def test_a_late_value_decides_the_kind_as_an_early_one_does(write_agent, late, kind):
    rows = [f"p{n},{n}\n" for n in range(SAMPLED_ROWS + 5)]
    at_the_end = read(write_agent("id,x\n" + "".join(rows) + f"q,{late}\n"))
    at_the_start = read(write_agent("id,x\n" + f"q,{late}\n" + "".join(rows)))
    assert at_the_end.schema == at_the_start.schema
    assert at_the_end.schema.columns[0].kind == kind
    assert at_the_end.features[-1].rows() == at_the_start.features[0].rows()


def test_a_late_value_that_is_no_number_is_named_as_an_early_one_is(write_agent):
    rows = [f"p{n},{n}\n" for n in range(SAMPLED_ROWS + 5)]
    for late, row in (("q,oops\n", SAMPLED_ROWS + 6), ("", 0)):
        early = "" if late else "q,oops\n"
        with pytest.raises(TableError, match=rf"1 of 10,006 values is not a number \('oops', row {row or 1}\)"):
            read(write_agent("id,x\n" + early + "".join(rows) + late))


def test_columns_without_any_value_are_left_out_and_said(write_agent):
    table = read(write_agent("id,x,empty\na,1,\nb,2,NA\n"))
    assert (table.features.columns, table.left_out) == (["x"], ("empty",))
    nan = read(write_agent(pl.DataFrame({"id": [1, 2], "x": [1, 2], "empty": [float("nan"), None]})))
    assert (nan.features.columns, nan.left_out) == (["x"], ("empty",))


def test_words_for_missing_are_the_owners_choice(write_agent):
    text = "id,x,y\na,?,1\nb,3,2\nc,NA,1\n"
    more = '[preprocessing]\nmissing_values = ["?", "NA"]\n'
    assert read(write_agent(text, more, label='"y"')).features["x"].to_list() == [None, 3.0, None]
    text = text.replace("?", "weg")
    with pytest.raises(TableError, match="1 of 3 values is not a number"):
        read(write_agent(text.replace("NA", "4"), label='"y"'))


def test_codes_are_categories_where_the_owner_says_so(write_agent):
    path = write_agent("id,zip,x\na,01067,1\nb,80331,2\n", '[preprocessing]\nas_category = ["z*"]\n')
    table = read(path)
    assert table.features["zip"].to_list() == ["01067", "80331"]


def test_only_the_needed_columns_of_a_parquet_file_are_read(write_agent, tmp_path):
    rng = np.random.default_rng(0)
    path = write_agent(
        pl.DataFrame({"id": range(1000), "x": rng.random(1000), "secret": rng.random(1000)}),
        '[features]\nexclude = ["secret"]\n',
    )
    whole = read(path)
    file = tmp_path / "lab.parquet"
    chunk = pq.ParquetFile(file).metadata.row_group(0).column(2)
    assert chunk.path_in_schema == "secret"
    start = chunk.dictionary_page_offset or chunk.data_page_offset
    data = bytearray(file.read_bytes())
    data[start : start + chunk.total_compressed_size] = bytes(chunk.total_compressed_size)
    file.write_bytes(data)
    with pytest.raises(pl.exceptions.PolarsError):
        pl.read_parquet(file)
    assert read(path).fingerprint == whole.fingerprint


def test_features_are_included_and_excluded_by_name_and_pattern(write_agent):
    text = "id,x1,x2,x10,age,y\na,1,2,3,4,5\nb,1,2,3,4,6\n"
    assert read(write_agent(text, label='"y"')).features.columns == ["x1", "x2", "x10", "age"]
    more = '[features]\ninclude = ["age", "x*"]\nexclude = ["x?"]\n'
    assert read(write_agent(text, more, label='"y"')).features.columns == ["x10", "age"]
    every = read(write_agent(text, '[features]\ninclude = ["*"]\n', label='"y"'))
    assert every.features.columns == ["x1", "x2", "x10", "age"]


def test_to_exclude_the_id_or_the_label_is_to_say_the_obvious(write_agent):
    path = write_agent(CSV, '[features]\nexclude = ["y", "id", "town"]\n', label='"y"')
    assert read(path).features.columns == ["age"]


def test_the_fingerprint_changes_with_every_value_and_with_nothing_else(write_agent):
    table = read(write_agent(CSV, label='"y"'))
    spaced = CSV.replace("41", "41.0").replace("Bern", " Bern").replace("\n", "\r\n")
    assert read(write_agent(spaced, label='"y"')).fingerprint == table.fingerprint
    changed = [
        CSV.replace("41", "42"),
        CSV.replace("007", "07"),
        CSV.replace("sick", "ill"),
        CSV.replace("Bern", "Berne"),
        CSV.replace("008,,", "008,0,"),
        CSV.replace("age", "years"),
        "id,age,town,y\n008,,Bern,well\n007,41,Ulm,sick\n009,37.5,Ulm,well\n",
        CSV.replace("Ulm,sick", "UlmB,sick").replace("Bern", "ern"),  # as if text had moved between rows
    ]
    prints = {read(write_agent(text, label='"y"')).fingerprint for text in changed}
    assert len(prints | {table.fingerprint}) == len(changed) + 1


@pytest.mark.parametrize(
    ("written", "labels"),
    [
        ("1,0,1", [1, 0, 1]),
        ("1.0,0,1.0", [1, 0, 1]),
        ("1,b,1", ["1", "b", "1"]),
        ("9007199254740993,9007199254740992", [9007199254740993, 9007199254740992]),
        ("true,false,true", ["true", "false", "true"]),
    ],
)
def test_labels_are_whole_numbers_or_text(write_agent, written, labels):
    rows = "".join(f"p{n},1,{label}\n" for n, label in enumerate(written.split(",")))
    assert read(write_agent("id,x,y\n" + rows, label='"y"')).labels.to_list() == labels


@pytest.mark.parametrize(
    ("typed", "labels"),
    [
        (pl.Series([1, 0], dtype=pl.UInt8), [1, 0]),
        (pl.Series([1.0, 0.0], dtype=pl.Float32), [1, 0]),
        (pl.Series([True, False]), [True, False]),
        (pl.Series(["b", "a"], dtype=pl.Categorical), ["b", "a"]),
    ],
)
def test_typed_labels_keep_their_meaning(write_agent, typed, labels):
    frame = pl.DataFrame({"id": [1, 2], "x": [1, 2], "y": typed})
    path = write_agent(frame, label='"y"')
    table = read(path)
    assert table.labels.to_list() == labels
    assert read(path, schema=table.schema).labels.equals(table.labels)


def test_dates_are_no_labels(write_agent):
    frame = pl.DataFrame({"id": [1], "x": [1], "y": [dt.date(2020, 1, 1)]})
    with pytest.raises(TableError, match="the labels in column 'y' are of type Date"):
        read(write_agent(frame, label='"y"'))


def bad(text, error, said, more="", **lines):
    return text, lines, more, error, said


BAD_CSV = {
    "a missing id column": bad("ID,x\na,1\n", ColumnsError, r"line 3: .*no column 'id' \(id\). Did you mean 'ID'\?"),
    "a missing label column": bad(CSV, ColumnsError, r"line 5: .*no column 'Y'.* Did you mean 'y'\?", label='"Y"'),
    "a missing feature": bad(CSV, ColumnsError, r"line 6: .*'agee' .* mean 'age'\?", '[features]\ninclude = ["agee"]'),
    "a pattern for nothing": bad(CSV, ColumnsError, r"no column matches 'q\*'", '[features]\ninclude = ["q*"]'),
    "an exclusion of nothing": bad(CSV, ColumnsError, "there is no column 'agee'", '[features]\nexclude = ["agee"]'),
    "a code column of nothing": bad(
        CSV, ColumnsError, "there is no column 'zip'", '[preprocessing]\nas_category = ["zip"]'
    ),
    "the label as a feature": bad(
        CSV,
        ColumnsError,
        "line 7: 'y' is the label column and cannot be a feature",
        '[features]\ninclude = ["age", "y"]',
        label='"y"',
    ),
    "the id as a feature": bad(
        CSV, ColumnsError, "'id' is the id column and cannot be", '[features]\ninclude = ["id"]'
    ),
    "no feature left": bad(CSV, ColumnsError, "no feature is left", '[features]\nexclude = ["*"]'),
    "no value anywhere": bad("id,x\na,\n", TableError, "the features 'x' have no value in any row"),
    "only ids": bad("id\na\n", ColumnsError, "no feature is left"),
    "an id twice": bad(
        CSV + "008,1,Ulm,well\n", IdsError, r"1 of the ids .* more than once \(first: '008', in rows 2, 4\)"
    ),
    "no id": bad(CSV + ",1,Ulm,well\n", IdsError, r"1 of 4 rows have no id in column 'id' \(first: row 4\)"),
    "a blank id": bad(CSV + "  ,1,Ulm,well\n", IdsError, r"1 of 4 rows have no id"),
    "no label": bad("id,x,y\na,1,\nb,2,\n", TableError, r"none of the 2 rows has a label in .*'y'", label='"y"'),
    "decimal labels": bad("id,x,y\na,1,0.5\nb,1,1\n", TableError, "not classes but measurements", label='"y"'),
    "an infinite value": bad("id,x\na,1\nb,inf\n", TableError, r"column 'x' has 1 infinite values \(first: row 2\)"),
    "a header alone": bad("id,x\n", TableError, "has columns but not a single row"),
    "an empty file": bad("", TableError, "is empty: it has not even a header"),
    "a column twice": bad("id,x,x\na,1,2\n", TableError, "more than one column 'x'"),
    "too many values": bad("id,x\na,1\nb,1,2\n", TableError, r"row 2 \(line 3\) has 3 values, and the header has 2"),
    "too few values": bad("id,x,z\na,1,1\nb,1\n", TableError, r"row 2 \(line 3\) has 2 values, and the header has 3"),
    "too few, beside a quote": bad('id,x,z\na,1,"u\nv"\nb,1\n', TableError, r"row 2 \(line 4\) has 2 values"),
    "a column without a name": bad(",id,x\n0,a,1\n", TableError, "column 1 has no name in the header"),
    "another separator": bad("id;x\na;1\n", TableError, 'add to the agent\'s file: separator = ";"'),
    "dates, where they are refused": bad(
        "id,d\na,2020-01-01\n", ColumnsError, "column 'd' holds dates", '[preprocessing]\ndates = "refuse"'
    ),
}


@pytest.mark.parametrize(("text", "lines", "more", "error", "said"), BAD_CSV.values(), ids=BAD_CSV.keys())
def test_a_bad_table_is_refused_with_its_place_and_the_remedy(write_agent, text, lines, more, error, said):
    with pytest.raises(error, match=said) as caught:
        read(write_agent(text, more, **lines))
    assert "lab.csv" in str(caught.value) or "lab.toml" in str(caught.value)


def test_a_missing_table_is_an_error_that_names_the_line(write_agent):
    with pytest.raises(MissingTableError, match=r"lab\.toml, line 2: there is no file .*lab\.csv") as caught:
        read(write_agent())
    assert isinstance(caught.value, FileNotFoundError)


def test_a_folder_is_no_table(write_agent, tmp_path):
    (tmp_path / "lab.csv").mkdir()
    with pytest.raises(TableError, match="is a folder"):
        read(write_agent())


def test_a_damaged_parquet_file_is_refused(write_agent, tmp_path):
    (tmp_path / "lab.parquet").write_text("hello")
    with pytest.raises(TableError, match=r"lab\.parquet cannot be read: .* whole Parquet file"):
        read(write_agent(table='"lab.parquet"'))


@pytest.mark.parametrize("packed", [False, True])
def test_latin_text_is_refused_with_the_remedy(write_agent, tmp_path, packed):
    name, pack = ("lab.csv.gz", gzip.compress) if packed else ("lab.csv", bytes)
    (tmp_path / name).write_bytes(pack("id,town\na,Zürich\n".encode("latin-1")))
    with pytest.raises(TableError, match=r"line 2 has the byte 0xfc \('a,Zürich'\)\. It is probably Latin-1"):
        read(write_agent(table=f'"{name}"'))


@pytest.mark.parametrize("encoding", ["utf-16", "utf-16-le", "utf-16-be", "utf-32"])
def test_text_of_wide_letters_is_refused_with_the_remedy(write_agent, tmp_path, encoding):
    path = write_agent(CSV)
    (tmp_path / "lab.csv").write_bytes(CSV.encode(encoding))
    with pytest.raises(TableError, match="UTF-8"):
        read(path)


def test_the_index_of_a_data_frame_is_no_feature(write_agent):
    text = "Unnamed: 0,id,__index_level_0__,x\n0,a,0,1\n1,b,1,2\n"
    assert read(write_agent(text)).features.columns == ["x"]
    named = '[features]\ninclude = ["Unnamed: 0", "x"]\n'
    assert read(write_agent(text, named)).features.columns == ["Unnamed: 0", "x"]
    assert read(write_agent(text, '[features]\ninclude = ["*"]\n')).features.columns == ["x"]


@pytest.mark.parametrize(
    ("ids", "words"),
    [([0.5, 1.5], "row 1 has id 0.5, which is not a whole number"), ([True, False], "are of type .* whole numbers")],
)
def test_ids_that_two_parties_may_write_differently_are_refused(write_agent, ids, words):
    with pytest.raises(IdsError, match=words):
        read(write_agent(pl.DataFrame({"id": ids, "x": [1, 2]})))


@pytest.fixture
def database(tmp_path):
    """A DuckDB file with one table, shuffled."""
    path = tmp_path / "lab.duckdb"
    with duckdb.connect(path) as connection:
        connection.execute("create table visits as select 'p' || i as id, i % 7 as x, i as secret from range(100) t(i)")
    return path


def test_a_query_reads_a_database_without_writing_to_it(write_agent, database):
    before = database.read_bytes()
    query = '"select id, x, sum(secret) as total from visits group by all -- by sample"'
    table = read(write_agent(query=query, database='"lab.duckdb"', table=None))
    assert len(table) == 100
    assert table.ids.is_sorted()
    assert table.features.columns == ["x", "total"]
    assert table.features.filter(table.ids == "p33").row(0) == (5.0, 33.0)
    assert database.read_bytes() == before


def test_a_query_finds_files_beside_the_agents_file(write_agent, tmp_path, monkeypatch):
    monkeypatch.chdir(os.sep)
    pl.DataFrame({"id": ["b", "a"], "x": [1, 2]}).write_csv(tmp_path / "visits.csv")
    table = read(write_agent(query="\"from 'visits.csv'\"", table=None))
    assert table.ids.to_list() == ["a", "b"]
    assert table.features["x"].to_list() == [2.0, 1.0]


@pytest.mark.parametrize(
    ("query", "said"),
    [
        ("drop table visits", "must be one SELECT"),
        ("select 1; select 2", "must be one SELECT"),
        ("copy visits to 'stolen.csv'", "must be one SELECT"),
        ("select * from nowhere", "line 4: the query failed: Catalog Error"),
        ("selec", "the query failed"),
        ("select * from visits where false", "not a single row"),
    ],
)
def test_a_query_that_is_not_one_select_is_refused(write_agent, database, query, said):
    with pytest.raises(TableError, match=said):
        read(write_agent(table=None, query=f'"{query}"', database='"lab.duckdb"'))
    assert not (database.parent / "stolen.csv").exists()
    with duckdb.connect(database, read_only=True) as connection:
        assert connection.sql("select count(*) from visits").fetchall() == [(100,)]


def test_a_query_may_name_a_column_as_it_likes(write_agent, database):
    table = read(write_agent(table=None, query="""'select id, x as "{a} ""b" from visits'""", database='"lab.duckdb"'))
    assert table.features.columns == ['{a} "b']


def test_a_missing_database_is_named(write_agent):
    with pytest.raises(MissingTableError, match=r"there is no file .*nowhere\.duckdb \(database\)"):
        read(write_agent(table=None, query='"select 1"', database='"nowhere.duckdb"'))


COMPOSITE = {"id": '["country", "number"]', "label": '"y"'}


def test_an_id_may_have_several_columns(write_agent):
    table = read(write_agent("country,number,x,y\nFR,17.0,1,a\nFR,18,2,b\nDE,17,3,b\n", **COMPOSITE))
    assert table.ids.to_list() == ["FR|17", "FR|18", "DE|17"]
    assert table.features.columns == ["x"]


@pytest.mark.parametrize(
    ("text", "error", "said"),
    [
        (
            "country,number,x,y\nFR,1,1,a\nFR,,2,b\n",
            IdsError,
            "1 of 2 rows have no id in column 'number' (first: row 2)",
        ),
        ("country,number,x,y\nFR,1,1,a\nFR,1,2,b\n", IdsError, r"'country|number' occur more than once (first: 'FR|1'"),
        ("country,nr,x,y\nFR,1,1,a\n", ColumnsError, "has no column 'number' (id)"),
    ],
)
def test_a_part_of_an_id_that_is_missing_or_repeated_is_named(write_agent, text, error, said):
    with pytest.raises(error, match=re.escape(said)):
        read(write_agent(text, **COMPOSITE))


def test_lines_that_end_as_on_old_macintoshes_are_named(write_agent, tmp_path):
    agent = write_agent(CSV)
    (tmp_path / "lab.csv").write_bytes(CSV.replace("\n", "\r").encode())
    with pytest.raises(TableError, match=r"lab.csv ends its lines as old Macintoshes did \(CR\)"):
        read(agent)


@pytest.mark.parametrize("first", ["a", "Ä", "~1"])
@pytest.mark.parametrize("blank", [None, "", " ", "\t", "\u00a0", "\u2003 "])
def test_a_missing_or_blank_id_is_named_whatever_the_others_begin_with(write_agent, first, blank):
    with pytest.raises(IdsError, match=r"1 of 2 rows have no id in column 'id' \(first: row 2\)"):
        read(write_agent(pl.DataFrame({"id": [first, blank], "x": [1, 2]})))


WORDS = ["NA", "nan", "null"]
CELLS = st.sampled_from(["1", "2.5", "-3e2", "NA", "nan", "null", "", " NA", '"NA"', "x", "inf", "NaN", " 4", "007"])


@given(st.lists(st.tuples(CELLS, CELLS, CELLS), min_size=1, max_size=8), st.sampled_from([WORDS, [], ["1", "NA"]]))
def test_words_for_missing_values_may_be_looked_for_later(tmp_path_factory, rows, words):
    path = tmp_path_factory.mktemp("csv") / "t.csv"
    path.write_text("id,a,b,z\n" + "".join(f"{','.join(row)},end\n" for row in rows))

    def read_file():
        source = CsvSource(path, ",", "t.csv", ReadingLimits(), words)
        return source.names(), source.read(["id", "a", "b"], ["id"])

    names, quick = read_file()
    with patch.object(CsvSource, "_are_words_among_numbers", True):
        thorough_names, thorough = read_file()
    assert names == thorough_names
    assert quick.schema == thorough.schema
    assert quick.fill_nan(None).equals(thorough.fill_nan(None))
