"""The page on agent files has every key that the program accepts, and no other; all examples are accepted."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path
from typing import Any

import msgspec
import pytest

from assistlearn.agent.file import (
    AgentKeys,
    Allowance,
    FeatureChoice,
    LearnerDescription,
    PrivacyRules,
    parse_description,
)
from assistlearn.tables.settings import PreprocessingSettings, ReadingLimits

DOCS = Path(__file__).parents[2] / "docs"
KEYS = DOCS / "reference" / "agent-file.md"
TABLES = {
    "features": FeatureChoice,
    "learner": LearnerDescription,
    "preprocessing": PreprocessingSettings,
    "reading": ReadingLimits,
    "allow": Allowance,
    "privacy": PrivacyRules,
}
WITH_EXAMPLES = (
    KEYS,
    *(DOCS / "how-to" / f"{name}.md" for name in ("prepare-tables", "separate-agents", "set-limits")),
)
LEAST = {"name": "lab", "table": "lab.csv", "id": "patient", "label": "ill", "learner": "sklearn.svm.SVC"}


def section(page: Path, heading: str) -> str:
    text = page.read_text(encoding="utf-8")
    assert f"\n## {heading}\n" in text
    return text.partition(f"\n## {heading}\n")[2].partition("\n## ")[0]


def rows(text: str) -> dict[str, list[str]]:
    """The cells of the tables in a text, by the key that a row is about."""
    lines = [line for line in text.splitlines() if line.startswith("| `")]
    cells = [[cell.strip() for cell in line.strip("|").split(" | ")] for line in lines]
    assert len({key for key, *_ in cells}) == len(cells)
    return {key.strip("`"): rest for key, *rest in cells}


def examples(text: str) -> list[dict[str, Any]]:
    return [tomllib.loads(block) for block in re.findall(r"^```toml\n(.*?)^```$", text, flags=re.DOTALL | re.MULTILINE)]


def keys_of(kind: type[msgspec.Struct]) -> set[str]:
    return {field.encode_name for field in msgspec.structs.fields(kind)}


def test_the_keys_at_the_top_are_on_the_page():
    text = section(KEYS, "Keys at the top")
    tables = set(TABLES) - {"learner"}
    assert set(rows(text)) == keys_of(AgentKeys) - tables
    assert {key for each in examples(text) for key in each} == keys_of(AgentKeys) - tables


@pytest.mark.parametrize("name", TABLES)
def test_the_keys_of_a_table_are_on_the_page(name):
    kind, text = TABLES[name], section(KEYS, f"`[{name}]`")
    assert set(rows(text)) == keys_of(kind)
    assert {key for each in examples(text) if name in each for key in named(each[name])} == keys_of(kind)


def named(table: Any) -> list[str]:
    """The keys of a table in an example; a list of learners has some, too."""
    return [key for each in (table if isinstance(table, list) else [table]) if isinstance(each, dict) for key in each]


def test_no_table_of_the_file_is_forgotten():
    inside = {
        field.encode_name
        for field in msgspec.structs.fields(AgentKeys)
        if any(isinstance(part, type) and issubclass(part, msgspec.Struct) for part in parts(field.type))
    }
    assert inside == set(TABLES)


def parts(kind: Any) -> list[Any]:
    return [kind, *(part for inner in getattr(kind, "__args__", ()) for part in parts(inner))]


@pytest.mark.parametrize("name", ["preprocessing", "allow"])
def test_a_default_on_the_page_is_that_of_the_program(name):
    kind, shown = TABLES[name], rows(section(KEYS, f"`[{name}]`"))
    for field in msgspec.structs.fields(kind):
        default = field.default
        if default is msgspec.NODEFAULT or default is None:
            continue
        said = [value.strip('"') for value in re.findall(r"`([^`]*)`", shown[field.encode_name][1])]
        values = list(default) if isinstance(default, tuple) and default else [default]
        words = ["[]" if each == () else str(each).lower() if isinstance(each, bool) else str(each) for each in values]
        assert said == words, field.encode_name


@pytest.mark.parametrize("page", WITH_EXAMPLES, ids=lambda page: page.stem)
def test_every_example_is_accepted(page):
    found = examples(page.read_text(encoding="utf-8"))
    assert found
    for each in found:
        added = {key: value for key, value in LEAST.items() if key != "table" or "query" not in each}
        parse_description(each if "name" in each else added | each, Path("lab.toml"))
