"""The agent files that ``init`` writes are right as they are, and with any of their commented lines put in force."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

import pytest

from assistlearn.agent.file import parse_description
from assistlearn.cli.begin import agent_toml

LINE = re.compile(r"# (\[[\w.]+\]|\w+ = \S.*)")


def blocks(text: str) -> list[list[int]]:
    """The lines that are commented out, those that stand together as one."""
    found: list[list[int]] = []
    for number, line in enumerate(text.splitlines()):
        if LINE.fullmatch(line) is None or " and " in line:
            continue
        if found and found[-1][-1] == number - 1:
            found[-1].append(number)
        else:
            found.append([number])
    return found


@pytest.mark.parametrize("role", ["initiator", "helper"])
def test_a_file_to_start_from_is_right_with_each_of_its_commented_tables(role):
    text = agent_toml(role, role, f"{role}.csv")
    parse_description(tomllib.loads(text), Path("agent.toml"))
    commented = blocks(text)
    assert len(commented) == {"initiator": 4, "helper": 3}[role]
    for block in commented:
        lines = text.splitlines()
        for number in block:
            lines[number] = lines[number].removeprefix("# ")
        values = tomllib.loads("\n".join(lines))
        if values.get("features") == {"include": []}:
            del values["learner"]  # as the file says
        parse_description(values, Path("agent.toml"))


@pytest.mark.parametrize("role", ["initiator", "helper"])
def test_no_line_is_longer_than_a_screen_is_wide(role):
    assert max(map(len, agent_toml(role, role, f"{role}.csv").splitlines())) <= 120
