"""What an agent's file may say, and the error for each thing that it may not."""

from __future__ import annotations

import dataclasses
import datetime as dt
import tomllib
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from assistlearn.agent.file import load_description
from assistlearn.errors import DescriptionError
from assistlearn.tables.settings import PreprocessingSettings, TableFile, TableQuery
from assistlearn.toml import key_lines

FULL = """\
# the laboratory of the clinic
name = "lab"
table = "tables/lab.csv.gz"
separator = ";"
id = "patient"
label = "outcome"
models = "kept"

[features]
include = ["x*", "age"]
exclude = ["x3"]

[learner]
kind = "sklearn.tree.DecisionTreeClassifier"
[learner.parameters]
max_depth = 3

[preprocessing]
categories = "one-hot"
max_categories = 5
missing = "impute"
missing_values = ["?"]
scale = "standard"
dates = "refuse"
as_category = ["zip"]

[allow]
initiators = ["clinic", "insurer"]
purpose = "early warning"
max_runs = 3
max_samples = 100000
expires = 2030-12-31
"""


def load(tmp_path: Path, text: str):
    file = tmp_path / "lab.toml"
    file.write_text(text, encoding="utf-8")
    return load_description(file)


def refusal(tmp_path: Path, text: str) -> str:
    with pytest.raises(DescriptionError) as caught:
        load(tmp_path, text)
    return str(caught.value).removeprefix(str(tmp_path / "lab.toml"))


def test_a_full_file_says_all_of_it(tmp_path):
    agent = load(tmp_path, FULL)
    assert agent.name == "lab"
    assert agent.table == TableFile(tmp_path / "tables" / "lab.csv.gz", ";")
    assert (agent.id, agent.label, agent.is_initiator) == (("patient",), "outcome", True)
    assert agent.models == tmp_path / "kept"
    assert (agent.features.include, agent.features.exclude) == (("x*", "age"), ("x3",))
    assert [learner.kind for learner in agent.learners] == ["sklearn.tree.DecisionTreeClassifier"]
    assert agent.learners[0].parameters == {"max_depth": 3}
    assert agent.preprocessing == PreprocessingSettings(
        categories="one-hot",
        max_categories=5,
        as_category=("zip",),
        missing="impute",
        missing_values=("?",),
        scale="standard",
        dates="refuse",
    )
    assert agent.allow is not None
    assert agent.allow.initiators == ("clinic", "insurer")
    assert (agent.allow.purpose, agent.allow.max_runs, agent.allow.max_samples) == ("early warning", 3, 100_000)


def test_a_description_is_frozen(tmp_path):
    with pytest.raises(dataclasses.FrozenInstanceError):
        load(tmp_path, FULL).name = "other"


def test_a_file_from_windows_is_read_alike_and_its_lines_are_counted_alike(tmp_path):
    here = load(tmp_path, FULL)
    (tmp_path / "lab.toml").write_bytes(b"\xef\xbb\xbf" + FULL.replace("\n", "\r\n").encode())
    there = load_description(tmp_path / "lab.toml")
    assert there == here
    assert there.places.lines == here.places.lines


def test_a_query_stands_in_place_of_a_file(tmp_path):
    text = 'name = "lab"\nquery = "select * from t"\ndatabase = "lab.duckdb"\nid = "id"\nlearner = "a.B"\n'
    assert load(tmp_path, text).table == TableQuery("select * from t", tmp_path, tmp_path / "lab.duckdb")


def test_nothing_that_a_file_names_is_opened_or_imported(tmp_path):
    load(tmp_path, 'name = "lab"\ntable = "nowhere.csv"\nid = "id"\nlearner = "nowhere.Nothing"\n')


def test_a_permission_lasts_until_the_end_of_its_last_day(tmp_path):
    allow = load(tmp_path, FULL).allow
    assert not allow.expired(dt.datetime(2030, 12, 31, 23, 59, tzinfo=dt.UTC))
    assert allow.expired(dt.datetime(2031, 1, 1, tzinfo=dt.UTC))


def test_a_permission_without_an_end_does_not_expire(tmp_path):
    allow = load(tmp_path, FULL.replace("expires = 2030-12-31", "")).allow
    assert not allow.expired(dt.datetime.max.replace(tzinfo=dt.UTC))


@pytest.mark.parametrize(
    ("written", "moment"),
    [
        ("2030-12-31T10:00:00+02:00", dt.datetime(2030, 12, 31, 8, tzinfo=dt.UTC)),
        ("2030-12-31T10:00:00", dt.datetime(2030, 12, 31, 10, tzinfo=dt.UTC)),
    ],
)
def test_a_permission_may_end_at_a_moment_which_is_utc_unless_it_says_otherwise(tmp_path, written, moment):
    assert load(tmp_path, FULL.replace("2030-12-31", written)).allow.expires == moment


MINIMAL = 'name = "lab"\ntable = "lab.csv"\nid = "id"\nlearner = "a.B"\n'

BAD = {
    "an unknown key": ("nmae = 1\n" + MINIMAL, ", line 1: there is no key 'nmae'. Did you mean 'name'?"),
    "an unknown key in a table": (
        FULL.replace("exclude", "exlude"),
        ", line 11: there is no key 'exlude' in [features]. Did you mean 'exclude'?",
    ),
    "an unknown table": (MINIMAL + "[permit]\n", ", line 5: there is no key 'permit'."),
    "no name": (MINIMAL.replace('name = "lab"\n', ""), "the key 'name' is missing. Add a line such as: name = \"lab\""),
    "no table": (MINIMAL.replace('table = "lab.csv"\n', ""), "the key 'table' is missing"),
    "no learner": (MINIMAL.replace('learner = "a.B"\n', ""), "the key 'learner' is missing"),
    "no kind of learner": (
        MINIMAL.replace('learner = "a.B"', "[learner.parameters]\nmax_depth = 3"),
        ", line 4: the key 'learner.kind' is missing",
    ),
    "a number for a name": (MINIMAL.replace('"lab"', "3"), ", line 1: name = 3 must be an agent's name in quotes"),
    "an empty id": (MINIMAL.replace('"id"', '" "'), ", line 3: id = ' ' must be a text"),
    "a text for a list": (
        FULL.replace('["x*", "age"]', '"x*"'),
        ", line 10: features.include = 'x*' must be a list of texts",
    ),
    "a learner of no type": (MINIMAL.replace('"a.B"', "3"), ", line 4: learner = 3 must be a table"),
    "a text for a flag": (
        MINIMAL + '[preprocessing]\nenabled = "no"',
        ", line 6: preprocessing.enabled = 'no' must be",
    ),
    "an unknown choice": (
        FULL.replace("one-hot", "onehot"),
        ", line 19: preprocessing.categories = 'onehot' is not known. Did you mean 'one-hot'?",
    ),
    "nobody allowed": (FULL.replace('["clinic", "insurer"]', "[]"), "allow.initiators names nobody"),
    "initiators not said": (MINIMAL + "[allow]\nmax_runs = 1", "the key 'allow.initiators' is missing"),
    "a date in quotes": (FULL.replace("2030-12-31", '"2030-12-31"'), "must be a date or a moment without quotes"),
    "a name with a slash": (MINIMAL.replace('"lab"', '"../lab"'), "name = '../lab' must be an agent's name"),
    "label and id the same": (MINIMAL + 'label = "id"', ", line 5: label and id both name the column 'id'"),
    "an unknown ending": (
        MINIMAL.replace("lab.csv", "lab.xlsx"),
        ", line 2: the format of the table 'lab.xlsx' is not known",
    ),
    "table and query": (MINIMAL + 'query = "select 1"', ", line 5: the file has both 'table' and 'query'"),
    "a database without query": (
        MINIMAL.replace("table", "database"),
        ", line 2: 'database' goes with 'query'",
    ),
    "a long separator": (MINIMAL + 'separator = "::"', ", line 5: separator = '::' must be one character"),
    "a separator in Parquet": (
        MINIMAL.replace("csv", "parquet") + 'separator = ";"',
        ", line 5: 'separator' goes with a CSV file",
    ),
    "a separator with a query": (
        MINIMAL.replace("table = ", "query = ") + 'separator = ";"',
        ", line 5: 'separator' goes with a CSV file",
    ),
    "a number for a table": (
        MINIMAL.replace('"lab.csv"', "3"),
        ", line 2: table = 3 must be a path or a URL in quotes",
    ),
    "an empty folder": (MINIMAL + 'models = ""', ", line 5: models: '' is not a path"),
    "a list for a table": (MINIMAL + "features = []", ", line 5: features = [] must be a table, [features]"),
    "a number for parameters": (
        MINIMAL.replace('"a.B"', '{ kind = "a.B", parameters = 3 }'),
        ", line 4: learner.parameters = 3 must be a table, [learner.parameters]",
    ),
    "no TOML": ("name = lab\n", "is not valid TOML: Invalid value (at line 1"),
    "a key twice": (MINIMAL + 'name = "x"\n', "is not valid TOML: Cannot overwrite a value (at line 5"),
}


@pytest.mark.parametrize(("text", "said"), BAD.values(), ids=BAD.keys())
def test_a_bad_file_is_refused_with_its_place_and_the_remedy(tmp_path, text, said):
    assert said in refusal(tmp_path, text)


def test_a_missing_file_is_named(tmp_path):
    with pytest.raises(DescriptionError, match=r"There is no agent's file .*nobody\.toml"):
        load_description(tmp_path / "nobody.toml")


def test_a_file_that_is_not_text_is_refused(tmp_path):
    (tmp_path / "lab.toml").write_bytes(b"name = \xff")
    with pytest.raises(DescriptionError, match="cannot be read"):
        load_description(tmp_path / "lab.toml")


def test_lines_are_found_behind_texts_and_lists_over_several_lines():
    text = 'a = """\nb = 1\n"""\nc = [\n  "b = 2",\n]\n\n[d]\n"e f" = 1  # b = 3\ng.h = { i = 1 }\n'
    assert key_lines(text) == {
        ("a",): 1,
        ("c",): 4,
        ("d",): 8,
        ("d", "e f"): 9,
        ("d", "g"): 10,
        ("d", "g", "h"): 10,
        ("d", "g", "h", "i"): 10,
    }


KEYS = st.text("abc", min_size=1, max_size=3)


@given(st.dictionaries(KEYS, st.dictionaries(KEYS, st.integers(0, 9), min_size=1), max_size=4), st.integers(0, 3))
def test_every_key_has_the_line_on_which_it_stands(tables, blank):
    lines: list[str] = []
    for table, values in tables.items():
        lines += ["# a = 1"] * blank + [f"[{table}]"] + [f"{key} = {value}" for key, value in values.items()]
    text = "\n".join(lines)
    found = key_lines(text)
    assert tomllib.loads(text) == tables
    assert set(found) == {(table,) for table in tables} | {(t, key) for t, values in tables.items() for key in values}
    for path, line in found.items():
        assert lines[line - 1].strip("[]").split(" ")[0] == path[-1]
