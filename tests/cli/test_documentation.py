"""The page on the command line names every option, every exit code and every key of the JSON objects."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from typer.main import get_command

from assistlearn.cli import app, program
from tests.cli.program import assistlearn

PAGE = (Path(__file__).parents[2] / "docs" / "command-line.md").read_text(encoding="utf-8")
SECTIONS = {part.partition("\n")[0]: part for part in PAGE.split("\n## ")}
COMMANDS = (
    *("init", "check", "worth", "simulate", "predict", "serve", "show", "report", "watch"),
    *("audit", "requests", "approve", "reject", "privacy", "forget", "move"),
)
NESTED = (
    *(f"network {verb}" for verb in ("found", "sign", "renew", "revoke", "members", "create", "demo")),
    *(f"site {verb}" for verb in ("request", "join", "revoked", "check")),
)


def named(command: str):
    found = get_command(app)
    for word in command.split():
        found = found.commands[word]
    return found


@pytest.mark.parametrize("command", [*COMMANDS, *NESTED])
def test_every_option_is_explained(command):
    options = {name for option in named(command).params for name in option.opts if "--" in name}
    assert options - {"--help"} <= set(re.findall(r"--[\w-]+", SECTIONS[command])) | {"--json"}


@pytest.mark.parametrize("command", [*COMMANDS, *NESTED])
def test_every_command_has_an_example_and_its_json_keys(command):
    assert f"assistlearn {command}" in SECTIONS[command]
    assert "\nJSON: " in SECTIONS[command]


def test_the_exit_codes_are_those_of_the_program():
    table = {int(code): words for code, words in re.findall(r"^\| (\d+) \| (.*?) \|$", PAGE, flags=re.MULTILINE)}
    codes = {program.FAULT, program.WRONG, program.ABSENT, program.CHANGED, program.AWAITED, program.INTERRUPTED}
    assert table.keys() == codes | {0}


def test_the_keys_of_a_check_are_documented(agents):
    keys = assistlearn("check", agents[0], "--json").json.keys()
    assert keys <= set(re.findall(r"`(\w+)`", SECTIONS["check"].partition("\nJSON: ")[2]))
