"""The pages that the program writes name every command, option, error, exit code and key."""

from __future__ import annotations

import inspect
import re

import pytest

from assistlearn import cli as program
from assistlearn import errors
from tests.cli.program import assistlearn
from tests.documentation import DOCS, generator

CODES = {program.FAULT, program.WRONG, program.ABSENT, program.CHANGED, program.AWAITED, program.INTERRUPTED, 0}
GENERATED = generator()
COMMANDS = GENERATED.commands()


@pytest.fixture(scope="module")
def reference(tmp_path_factory):
    """A folder with the pages as a build writes them."""
    folder = tmp_path_factory.mktemp("reference")
    GENERATED.write_all(folder)
    return folder


@pytest.fixture
def page(reference):
    def read(command):
        return (reference / "commands" / f"{command.replace(' ', '-')}.md").read_text(encoding="utf-8")

    return read


@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_has_a_page_with_every_option_explained(command, page):
    for option in COMMANDS[command].params:
        assert "--help" in option.opts or option.help.endswith((".", "?")), option.opts
        assert all(name in page(command) for name in option.opts if "--" in name)
    assert f"({command.replace(' ', '-')}.md)" in page("index")


def test_every_example_is_of_a_command():
    assert {example.stem.replace("-", " ") for example in GENERATED.EXAMPLES.glob("*.md")} <= {
        command.replace("-", " ") for command in COMMANDS
    }


def test_every_error_is_on_its_page_with_what_to_do(reference):
    text = (reference / "errors.md").read_text(encoding="utf-8")
    rows = {row[1]: row for row in re.finditer(r"^\| (?:↳ )*`(\w+)` \| (.*?) \| (.*?) \|", text, re.MULTILINE)}
    root = errors.AssistLearnError
    kinds = {name for name, kind in vars(errors).items() if inspect.isclass(kind) and issubclass(kind, root)}
    assert rows.keys() == kinds - {root.__name__}
    assert all(when and remedy for _, when, remedy in (row.groups() for row in rows.values()))


def test_every_layer_has_a_page_in_the_list_of_the_api(reference):
    folder = reference / "api" / "generated"
    listed = (folder / "index.md").read_text(encoding="utf-8")
    assert "\nsession\n" in listed
    assert all(f"\n{page.stem}\n" in listed for page in folder.glob("*.md") if page.stem != "index")


def test_a_page_of_what_is_no_more_is_removed_and_others_are_left_as_they_are(reference):
    old, kept = (reference / "commands" / name for name in ("gone.md", "train.md"))
    old.write_text("# gone\n", encoding="utf-8")
    before = kept.stat().st_mtime_ns
    GENERATED.write_all(reference)
    assert not old.exists()
    assert kept.stat().st_mtime_ns == before


def test_the_exit_codes_are_those_of_the_program():
    text = (DOCS / "reference" / "exit-codes-and-json.md").read_text(encoding="utf-8")
    assert {int(code) for code in re.findall(r"^\| (\d+) \| .*? \|$", text, flags=re.MULTILINE)} == CODES


def test_the_keys_of_a_check_are_documented(agents, page):
    keys = set(re.findall(r"`(\w+)`", page("check").partition("\n## JSON\n")[2]))
    assert assistlearn("check", agents[0], "--json").json.keys() <= keys


def test_the_example_of_init_is_what_it_says(tmp_path, monkeypatch, page):
    monkeypatch.chdir(tmp_path)
    said = assistlearn("init", "demo", "--example").out.splitlines()
    assert said == page("init").partition("$ assistlearn init demo --example\n")[2].partition("\n```")[0].splitlines()
