"""The pages on the commands are those of the program, with an example, every exit code and every key of the JSON."""

from __future__ import annotations

import re
import sys
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path

import pytest

from assistlearn.cli import program
from tests.cli.program import assistlearn
from tests.documentation import DOCS

REFERENCE = DOCS / "reference"
CODES = {program.FAULT, program.WRONG, program.ABSENT, program.CHANGED, program.AWAITED, program.INTERRUPTED, 0}


def generator(name):
    """Import a script that writes pages, from the folder of the documentation."""
    spec = spec_from_file_location(name, DOCS / f"{name}.py")
    module = sys.modules[name] = module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


PAGES = generator("command_pages")
COMMANDS = PAGES.commands()


def page(command: str) -> str:
    return (REFERENCE / "commands" / f"{PAGES.page_name(command)}.md").read_text(encoding="utf-8")


def json_keys(command: str) -> set[str]:
    return set(re.findall(r"`(\w+)`", page(command).partition("\n## JSON\n")[2]))


def test_the_pages_are_what_the_script_writes_now(tmp_path):
    PAGES.write_command_pages(tmp_path)
    kept = {file.name: file.read_text(encoding="utf-8") for file in (REFERENCE / "commands").glob("*.md")}
    made = {file.name: file.read_text(encoding="utf-8") for file in tmp_path.glob("*.md")}
    assert kept == made, "write them again: python docs/command_pages.py"


def test_the_page_on_errors_is_what_the_script_writes_now(tmp_path):
    generator("errors_page").write_errors_page(tmp_path / "errors.md")
    kept, made = (folder / "errors.md" for folder in (REFERENCE, tmp_path))
    assert kept.read_text(encoding="utf-8") == made.read_text(encoding="utf-8"), "python docs/errors_page.py"


def test_every_error_says_what_to_do():
    lines = (REFERENCE / "errors.md").read_text(encoding="utf-8").splitlines()
    rows = [line.split(" | ") for line in lines if re.match(r"\| (↳ )*`\w+Error` ", line)]
    assert len(rows) > 30
    assert all(when and remedy for _, when, remedy, *_ in rows)


@pytest.mark.parametrize("command", COMMANDS)
def test_every_option_is_explained(command):
    for option in COMMANDS[command].params:
        if "--help" not in option.opts:
            assert option.help.endswith((".", "?")), (command, option.opts)
            assert all(f"`{name}" in page(command) for name in option.opts if "--" in name)


@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_has_an_example_its_json_keys_and_its_exit_codes(command):
    text = page(command)
    assert f"assistlearn {command}" in text.partition("\n## Example\n")[2]
    assert "\n## JSON\n" in text or command == "site start"
    codes = {int(code) for code in re.findall(r"^- (\d+): ", text.partition("\n## Exit codes\n")[2], re.MULTILINE)}
    assert 0 in codes < CODES


@pytest.mark.parametrize("example", sorted((REFERENCE / "commands" / "examples").glob("*.md")), ids=lambda e: e.stem)
def test_every_example_is_of_a_command_and_short(example):
    assert example.stem in map(PAGES.page_name, COMMANDS)
    assert len(example.read_text(encoding="utf-8").split()) <= 1500


def test_the_exit_codes_are_those_of_the_program():
    text = Path(REFERENCE / "exit-codes-and-json.md").read_text(encoding="utf-8")
    assert {int(code) for code in re.findall(r"^\| (\d+) \| .*? \|$", text, flags=re.MULTILINE)} == CODES


def test_the_keys_of_a_check_are_documented(agents):
    assert assistlearn("check", agents[0], "--json").json.keys() <= json_keys("check")


def test_the_example_of_init_is_what_it_says(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    said = assistlearn("init", "demo", "--example").out.splitlines()
    assert said == page("init").partition("$ assistlearn init demo --example\n")[2].partition("\n```")[0].splitlines()
