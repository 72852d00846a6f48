"""Whatever stands in an agent's file or table: `check` says what is wrong, or that all is well. It has no faults."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from assistlearn.agent.file import AgentKeys
from tests.cli.program import assistlearn

SETTINGS = settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])

AGENT = 'name = "lab"\ntable = "lab.csv"\nid = "id"\nlearner = "sklearn.tree.DecisionTreeClassifier"\n'
TABLE = "id,x,y\n" + "".join(f"p{n},{n * 0.5},{'ab'[n % 2]}\n" for n in range(12))

words = st.one_of(
    st.text(max_size=8),
    st.sampled_from(
        ["lab.csv", "id", "x", "*", "", " ", "../lab.csv", "/", "\u202e", "a" * 300, "sklearn.tree.x", "os:system"]
    ),
)
plain = st.one_of(words, st.integers(-(2**63), 2**63 - 1), st.floats(allow_nan=True), st.booleans())
values = st.recursive(
    plain,
    lambda inner: st.one_of(st.lists(inner, max_size=3), st.dictionaries(words, inner, max_size=3)),
    max_leaves=6,
)
keys = st.sampled_from([*AgentKeys.__struct_fields__, "lable", "Name", ""])


def toml_value(value: Any) -> str:
    match value:
        case bool():
            return "true" if value else "false"
        case float():
            return {"nan": "nan", "inf": "inf", "-inf": "-inf"}.get(str(value), repr(value))
        case list():
            return "[" + ", ".join(map(toml_value, value)) + "]"
        case dict():
            return "{" + ", ".join(f"{json.dumps(key)} = {toml_value(each)}" for key, each in value.items()) + "}"
        case str():
            return json.dumps(value).replace("\x7f", "\\u007f")
        case _:
            return str(value)


def check(folder: Path) -> None:
    said = assistlearn("check", folder / "lab.toml", "--json")
    assert said.code in (0, 2), said.err
    assert "Traceback" not in said.err
    if said.code == 2:
        assert said.json["message"]


@pytest.fixture
def agent(tmp_path: Path) -> Path:
    (tmp_path / "lab.toml").write_text(AGENT)
    (tmp_path / "lab.csv").write_text(TABLE)
    return tmp_path


@SETTINGS
@given(changes=st.dictionaries(keys, values, min_size=1, max_size=3))
def test_any_values_of_keys(agent, changes):
    lines = dict(line.split(" = ", 1) for line in AGENT.splitlines()) | {
        json.dumps(key) if not key.isidentifier() else key: toml_value(value) for key, value in changes.items()
    }
    (agent / "lab.toml").write_text("".join(f"{key} = {value}\n" for key, value in lines.items()), errors="replace")
    check(agent)


@SETTINGS
@given(
    content=st.one_of(st.binary(max_size=200), st.text(max_size=200).map(lambda text: text.encode(errors="replace")))
)
def test_any_bytes_for_an_agent_s_file(agent, content):
    (agent / "lab.toml").write_bytes(content)
    check(agent)


@SETTINGS
@example(content=b"id,\x1f\n\x00")
@given(content=st.one_of(st.binary(max_size=300), st.binary(max_size=100).map(lambda tail: TABLE.encode() + tail)))
def test_any_bytes_for_a_table(agent, content):
    (agent / "lab.csv").write_bytes(content)
    check(agent)


cells = st.one_of(
    st.sampled_from(
        [
            "",
            "1",
            "-3.5",
            "NA",
            "N/A",
            "?",
            "1,5",
            '"1,5"',
            '"',
            "nan",
            "inf",
            "1e999",
            "\x00",
            "é",
            "2020-02-30",
            "true",
        ]
    ),
    st.text(alphabet=st.characters(blacklist_categories=["Cs"]), max_size=5),
)


@SETTINGS
@example(header=["0", "\r0"], rows=[["", ""]], encoding="utf-8", end="\n")
@given(
    header=st.lists(st.one_of(st.sampled_from(["id", "x", "y", ""]), words), min_size=1, max_size=4),
    rows=st.lists(st.lists(cells, max_size=5), max_size=12),
    encoding=st.sampled_from(["utf-8", "utf-8-sig", "latin-1", "utf-16"]),
    end=st.sampled_from(["\n", "\r\n", "\r"]),
)
def test_any_shape_of_a_table(agent, header, rows, encoding, end):
    text = end.join(",".join(row) for row in (["id", *header], *rows))
    (agent / "lab.csv").write_bytes(text.encode(encoding, errors="replace"))
    check(agent)


@pytest.mark.parametrize("name", ["lab.parquet", "lab.csv.gz"])
@SETTINGS
@given(content=st.binary(max_size=300))
def test_any_bytes_for_packed_tables(agent, name, content):
    (agent / "lab.toml").write_text(AGENT.replace("lab.csv", name))
    (agent / name).write_bytes(content)
    check(agent)
