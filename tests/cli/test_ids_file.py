"""The file with the ids to predict is read as tables are: what is wrong in it is said with its place."""

from __future__ import annotations

import gzip
from types import SimpleNamespace

import polars as pl
import pytest

from assistlearn.cli.predict import _source, ids_in
from assistlearn.errors import IdsError, TableError
from assistlearn.tables.settings import ReadingLimits
from tests.cli.small_agents import toml


@pytest.fixture
def read(tmp_path):
    """Return what reads a file for a run whose initiator has ids in the column ``patient``."""
    (tmp_path / "clinic.toml").write_text(toml("clinic", 'label = "ill"\n'))
    settings = SimpleNamespace(initiator="clinic", files={"clinic": tmp_path / "clinic.toml"})

    def read(content: bytes, name: str = "ids.csv") -> list[str]:
        (tmp_path / name).write_bytes(content)
        return ids_in(tmp_path / name, SimpleNamespace(settings=lambda: settings)).to_list()

    return read


def test_csv_gzip_and_parquet_give_the_same_ids(read, tmp_path):
    text = b"patient,why\n007,new\n08,new\n"
    pl.DataFrame({"patient": ["007", "08"]}).write_parquet(tmp_path / "made.parquet")
    forms = {
        "ids.csv": text,
        "semicolons.csv": text.replace(b",", b";"),
        "mark.csv": b"\xef\xbb\xbf" + text,
        "windows.csv": text.replace(b"\n", b"\r\n"),
        "ids.csv.gz": gzip.compress(text),
        "ids.parquet": (tmp_path / "made.parquet").read_bytes(),
    }
    assert {name: read(content, name) for name, content in forms.items()} == {name: ["007", "08"] for name in forms}


@pytest.mark.parametrize(
    ("content", "error", "words"),
    {
        "nothing": (b"", TableError, "ids.csv is empty: it has not even a header"),
        "no ids": (b"patient\n", IdsError, "ids.csv: there are no ids"),
        "Latin-1": (b"patient\np-\xe9\n", TableError, "ids.csv is not UTF-8: line 2 has the byte 0xe9"),
        "UTF-16": ("patient\np-1\n".encode("utf-16"), TableError, "ids.csv is written in UTF-16"),
        "a long row": (b"patient\np-1,2,3\n", TableError, r"row 1 \(line 2\) has 3 values"),
        "a short row": (b"patient,a,b\np-1,2\n", TableError, r"row 1 \(line 2\) has 2 values"),
        "another column": (b"id\np-1\n", TableError, "no column 'patient', which holds the ids at 'clinic'"),
        "one twice": (b"patient\n17\n17.0\n", IdsError, "1 id occurs more than once"),
        "a gap": (b"patient,x\np-1,1\n,2\n", IdsError, "1 of 2 ids are missing or blank"),
        "a page": (b"<!DOCTYPE html>\n<html></html>\n", TableError, "no column 'patient'"),
    }.values(),
)
def test_what_is_wrong_is_named(read, content, error, words):
    with pytest.raises(error, match=words):
        read(content)


def test_a_folder_holds_no_ids(tmp_path, read):
    read(b"patient\n1\n")
    (tmp_path / "folder.csv").mkdir()
    with pytest.raises(TableError, match=r"folder.csv is a folder\. Name a file with ids"):
        _source(tmp_path / "folder.csv", ["patient"], SimpleNamespace(reading=ReadingLimits()))
