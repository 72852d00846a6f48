"""Small files that are large when they are read: refused before that, with one error."""

from __future__ import annotations

import io
import zipfile

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from skops.io import dumps

from assistlearn.agent.file import load_description, make_learner
from assistlearn.errors import DescriptionError, IdsError, LearnerError, TableError, UntrustedFileError
from assistlearn.learners.model import loads_trusted
from assistlearn.tables.table import read_table
from bench import bombs
from tests.agent.conftest import write_agent
from tests.attacks.attack import attack

__all__ = ["write_agent"]

TOML = {
    "deep table": "[" + ".".join("a" * 5_000) + "]",
    "deep dotted key": ".".join("a" * 5_000) + " = 1",
    "deep list": "a = " + "[" * 5_000 + "]" * 5_000,
    "deep inline table": "a = " + "{a = " * 5_000 + "1" + "}" * 5_000,
    "long number": "a = " + "9" * 5_000,
    "large file": "# " + "x" * 1_100_000,
    "list over many lines": "a = [\n" + "[1],\n" * 60_000 + "]",
}


@attack(
    "local process",
    "writes a TOML file with 5,000 tables in each other, a number of 5,000 digits, or a megabyte of anything",
    "refused in one line: the size, the depth and the digits are limited",
)
@pytest.mark.parametrize("kind", TOML)
def test_a_toml_file_is_bounded(write_agent, kind):
    with pytest.raises(DescriptionError, match=r"lab\.toml"):
        load_description(write_agent("id,x\n", TOML[kind] + "\n"))


@attack(
    "local process",
    "puts a model of a megabyte in place of another that unpacks to gigabytes",
    "refused: what a ZIP file unpacks to is looked at before it is read",
)
@pytest.mark.parametrize("name", ["schema.json", "1.npy"])
def test_a_packed_model_is_not_unpacked(name):
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as file, file.open(name, "w") as large:
        for _ in range(120):
            large.write(bytes(1_000_000))
    with pytest.raises(UntrustedFileError, match=r"model has .* bytes and unpacks to 120,000,000"):
        loads_trusted(packed.getvalue(), "model")


@attack(
    "local process",
    "gives a learner a folder as its memory, in an agent's file or in a stored model, and puts a pickle there",
    "refused in both: such a folder is never read",
)
def test_no_learner_has_a_memory(write_agent, tmp_path):
    (tmp_path / "own_memory.py").write_text(
        "from sklearn.pipeline import make_pipeline\nfrom sklearn.linear_model import LogisticRegression\n"
        "def made():\n    return make_pipeline(LogisticRegression(), memory='cache')\n"
    )
    with pytest.raises(LearnerError, match="memory = 'cache': it would keep"):
        make_learner(load_description(write_agent("id,x\n", learner='"own_memory:made"')))
    model = make_pipeline(StandardScaler(), LogisticRegression(), memory=str(tmp_path))
    with pytest.raises(UntrustedFileError, match="Pipeline has a memory"):
        loads_trusted(dumps(model.set_params(memory=str(tmp_path))), "model")
    assert loads_trusted(dumps(model.set_params(memory=None)), "model").memory is None


def test_an_array_that_claims_to_be_huge_is_refused_without_its_memory():
    packed = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(dumps(np.zeros(10)))) as old, zipfile.ZipFile(packed, "w") as new:
        for name in old.namelist():
            new.writestr(name, old.read(name).replace(b"(10,), }" + b" " * 13, b"(10000000000000,), }" + b" "))
    with pytest.raises(UntrustedFileError, match="cannot be read as a model"):
        loads_trusted(packed.getvalue(), "model")


LIMITS = "[reading]\nmax_rows = 10_000\nmax_columns = 100\nmax_cell = 1_000\nmax_memory = 10\n"
"""A two-thousandth of what holds where a file says nothing."""

SMALL = {
    "one cell": (".csv.gz", lambda: bombs.zeros(5 * bombs.MB), "max_cell allows 1,000"),
    "one cell in quotes": (".csv.gz", lambda: bombs.zeros(3 * bombs.MB, head=b'id,x\n1,"', what=b"0,"), "max_cell"),
    "rows": (".csv.gz", lambda: bombs.again(b"1,2\n", 100_000), "max_rows allows 10,000"),
    "short rows": (".csv", lambda: bombs.names(90) + b"1\n" * 9_000, "max_memory allows 10"),
    "columns": (".csv", lambda: bombs.names(200) + b"1\n", "201 columns, and max_columns allows 100"),
    "a long value": (".csv", lambda: b"id,x\n1," + b"x" * 1_500 + b"\n", "a value of 1,500 bytes in column 'x'"),
    "cut off": (".csv.gz", lambda: bombs.zeros(bombs.MB, what=b"1,1\n")[:-9], "cannot be read"),
    "Parquet rows": (".parquet", lambda: bombs.many_rows(2 * bombs.MB), "2,000,000 rows, and max_rows"),
    "Parquet columns": (".parquet", lambda: bombs.arrow(id=[1], **{f"x{i}": [1] for i in range(200)}), "max_columns"),
    "Parquet texts": (".parquet", lambda: bombs.long_texts(20, 300_000), "max_memory"),
    "Parquet dictionary": (".parquet", lambda: bombs.same_long_text(5_000, 900), "max_memory"),
    "Parquet prefixes": (
        ".parquet",
        lambda: bombs.long_texts(9, 900, use_dictionary=False, column_encoding={"x": "DELTA_BYTE_ARRAY"}),
        "DELTA_BYTE_ARRAY",
    ),
    "nested lists": (".parquet", lambda: bombs.nested_by_arrow(40), "nested more than 32 deep"),
    "deep lists": (".parquet", lambda: bombs.nested(20_000, "list"), "nested more than 32 deep"),
    "deep structs": (".parquet", lambda: bombs.nested(20_000, "struct"), "nested more than 32 deep"),
    "huge numbers": (".parquet", bombs.huge_numbers, "max_rows"),
    "a list without end": (".parquet", bombs.large_list_in_footer, "its footer is damaged"),
}


@attack(
    "local process",
    "puts a table of a megabyte in place of another that is gigabytes when it is read, or that is nested without end",
    "refused before it is read, with the key of `[reading]` that allows more (`python -m bench.bombs`: 41 files)",
)
@pytest.mark.parametrize("kind", SMALL)
def test_a_table_is_looked_at_before_it_is_read(write_agent, tmp_path, kind):
    ending, content, said = SMALL[kind]
    (tmp_path / f"lab{ending}").write_bytes(content())
    with pytest.raises(TableError, match=said):
        read_table(load_description(write_agent(None, LIMITS, table=f'"lab{ending}"')))


@pytest.mark.parametrize(
    ("query", "database", "said"),
    [
        (bombs.WHOLE + "select x as id, x from c", '"lab.sqlite"', "10,001 rows, and max_rows"),
        ("select 1 as id, hex(zeroblob(5000000)) as x", '"lab.sqlite"', "too big"),
        ("select i as id, i as x from range(10000000000) t(i)", None, "10,001 rows, and max_rows"),
        ("select i as id, repeat('x', 2000) as x from range(9) t(i)", None, "max_cell allows 1,000"),
        ("select i as id, repeat(i::text, 50000000) as x from range(9) t(i)", None, "Out of Memory"),
        ("select 1 as id, repeat('x', 3000000000) as x", None, "Out of Memory"),  # computed before anything is read
    ],
)
def test_the_answer_of_a_query_is_bounded(write_agent, tmp_path, query, database, said):
    pytest.importorskip("duckdb", reason="needs the extra [duckdb]")
    bombs.sqlite("")(tmp_path)
    with pytest.raises(TableError, match=said):
        read_table(load_description(write_agent(None, LIMITS, table=None, query=f'"{query}"', database=database)))


@attack(
    "local process",
    "changes bytes in the pages of a Parquet file, where no check of heads finds them",
    "what the library makes of it happens in a process of its own; a crash, a lack of memory or no end is one error",
)
def test_a_parquet_file_that_crashes_its_library_is_one_error(write_agent, tmp_path):
    rng = np.random.default_rng(0)
    whole = bombs.arrow(
        id=[f"person {i}" for i in range(300)], x=rng.normal(size=300), town=["Ulm", "Bern", None] * 100
    )
    outcomes = set()
    for _ in range(60):
        changed = np.frombuffer(whole, np.uint8).copy()
        places = rng.integers(4, len(changed) - int.from_bytes(whole[-8:-4], "little") - 8, 3)
        changed[places] = rng.integers(256, size=3)
        (tmp_path / "lab.parquet").write_bytes(changed.tobytes())
        try:
            outcomes.add(len(read_table(load_description(write_agent(None, table='"lab.parquet"')))))
        except (TableError, IdsError) as error:
            outcomes.add(type(error))
    assert outcomes >= {TableError}


def test_limits_in_the_file_allow_what_is_right(write_agent, tmp_path):
    (tmp_path / "lab.parquet").write_bytes(bombs.many_rows(2 * bombs.MB))
    (tmp_path / "lab.csv.gz").write_bytes(bombs.packed([b"id,x\n", *(b"%d,%d\n" % (i, i % 7) for i in range(9_000))]))
    assert len(read_table(load_description(write_agent(None, LIMITS, table='"lab.csv.gz"')))) == 9_000
    with pytest.raises(TableError, match="max_rows allows 10,000"):
        read_table(load_description(write_agent(None, LIMITS, table='"lab.parquet"')))
    more = "duplicates = 'first'\n[reading]\nmax_rows = 2_000_000\n"
    assert len(read_table(load_description(write_agent(None, more, table='"lab.parquet"')))) == 1
