"""A folder of Parquet files is one table: which files count, in which order, and that they must be alike."""

from __future__ import annotations

import polars as pl
import pytest

from assistlearn.agent.file import load_description
from assistlearn.errors import MissingTableError, TableError
from assistlearn.tables.table import read_table


def read(path):
    return read_table(load_description(path))


@pytest.fixture
def visits(tmp_path):
    """Write Parquet files below the folder ``visits``."""

    def write(**files):
        for name, values in files.items():
            path = tmp_path / "visits" / f"{name.replace('__', '/').replace('_is_', '=')}.parquet"
            path.parent.mkdir(parents=True, exist_ok=True)
            pl.DataFrame(values).write_parquet(path)
        return tmp_path / "visits"

    return write


def test_files_follow_one_another_by_their_paths(write_agent, visits):
    visits(b={"id": ["3"], "x": [3.0]}, a={"id": ["9"], "x": [9.0]}, a2__c={"id": ["5"], "x": [5.0]})
    table = read(write_agent(table='"visits/"'))
    assert table.ids.to_list() == ["9", "5", "3"]
    assert table.features["x"].to_list() == [9.0, 5.0, 3.0]


def test_what_a_writer_leaves_for_itself_does_not_count(write_agent, visits):
    folder = visits(a={"id": ["1"], "x": [1.0]}, _old__b={"id": ["2"], "x": [1.0]})
    (folder / "_SUCCESS").write_text("")
    (folder / ".a.parquet.crc").write_bytes(b"crc")
    (folder / "notes.txt").write_text("no table")
    assert read(write_agent(table='"visits/"')).ids.to_list() == ["1"]


def test_names_of_folders_are_columns_with_the_types_that_all_of_them_have(write_agent, visits):
    folder = visits(
        year_is_2020__town_is_Ulm__a={"id": ["1"], "x": [1.0]}, year_is_2021__town_is_7__a={"id": ["2"], "x": [2.0]}
    )
    (folder / "year=2021" / "town=7").rename(folder / "year=2021" / "town=__HIVE_DEFAULT_PARTITION__")
    table = read(write_agent(table='"visits/"'))
    assert table.features.to_dict(as_series=False) == {"x": [1.0, 2.0], "year": [2020.0, 2021.0], "town": ["Ulm", None]}
    chosen = read(write_agent(None, '[features]\ninclude = ["year"]\n', table='"visits/"'))
    assert chosen.features.columns == ["year"]


def test_a_folder_that_spark_calls_as_a_file_is_a_folder(write_agent, visits):
    visits(a={"id": ["1"], "x": [1.0]}).rename(write_agent().parent / "lab.parquet")
    assert read(write_agent(table='"lab.parquet"')).ids.to_list() == ["1"]


@pytest.mark.parametrize(
    ("second", "said"),
    [
        ({"id": ["2"]}, r"b\.parquet has no column 'x', which .*a\.parquet has"),
        ({"id": ["2"], "x": [2.0], "z": [1]}, r"b\.parquet has a column 'z', which .*a\.parquet has not"),
        ({"id": ["2"], "x": ["two"]}, r"b\.parquet: column 'x' is of type String, and of type Float64 in .*a\.parquet"),
    ],
)
def test_files_that_differ_are_refused_by_file_and_column(write_agent, visits, second, said):
    visits(a={"id": ["1"], "x": [1.0]}, b=second)
    with pytest.raises(TableError, match=said):
        read(write_agent(table='"visits/"'))


def test_folders_that_say_different_things_are_refused(write_agent, visits):
    visits(a={"id": ["1"], "x": [1.0]}, year_is_2020__b={"id": ["2"], "x": [1.0]})
    with pytest.raises(TableError, match=r"b\.parquet: the names of its folders say year=, and those of .* nothing"):
        read(write_agent(table='"visits/"'))


def test_a_damaged_file_of_a_folder_is_named(write_agent, visits):
    folder = visits(a={"id": ["1"], "x": [1.0]}, b={"id": ["2"], "x": [1.0]})
    (folder / "b.parquet").write_bytes((folder / "b.parquet").read_bytes()[:-9])
    with pytest.raises(TableError, match=r"b\.parquet cannot be read: .* whole Parquet file"):
        read(write_agent(table='"visits/"'))


def test_a_folder_that_is_missing_or_empty_is_named_with_the_line(write_agent, tmp_path):
    with pytest.raises(MissingTableError, match=r"lab\.toml, line 2: there is no folder .*visits"):
        read(write_agent(table='"visits/"'))
    (tmp_path / "visits").mkdir()
    with pytest.raises(MissingTableError, match=r"line 2: the folder .*visits \(table\) has no Parquet file"):
        read(write_agent(table='"visits/"'))
