"""The README alone leads from nothing to a model, to three organisations and to a network."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from bench.readme import README, as_commands, blocks, walk

PAGE = README.read_text(encoding="utf-8")
BLOCKS = {block.heading: block for block in blocks(PAGE)}


def test_it_is_short_and_in_the_order_in_which_people_ask():
    assert len(PAGE.splitlines()) < 150
    headings = [line.removeprefix("## ") for line in PAGE.splitlines() if line.startswith("## ")]
    assert headings == [
        "Start",
        "A first model",
        "Three organisations",
        "A network",
        "Beside the alternatives",
        "What is private",
        "Documentation",
    ]
    assert PAGE.index("demo.png") < PAGE.index("## Start")


def test_two_commands_set_up_three_predict_and_the_python_is_at_most_twelve_lines():
    assert [len(BLOCKS[name].commands()) for name in ("Start", "Three organisations", "A network")] == [2, 3, 1]
    typed = [line for line in BLOCKS["A first model"].text.splitlines() if line.startswith((">>>", "..."))]
    assert len(typed) <= 12


@pytest.fixture
def with_programs(monkeypatch):
    """Find the programs of this environment, as after ``source .venv/bin/activate``."""
    monkeypatch.setenv("PATH", f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}")


def test_the_first_model_works_as_typed(tmp_path, with_programs, capfd):
    # tests/cli/test_first_use.py does the same for three organisations, and their tutorial for the network
    walk(tmp_path, [BLOCKS["A first model"]])
    assert "python -m doctest" in capfd.readouterr().out


def test_a_command_that_fails_is_named(tmp_path, capfd):
    [broken] = blocks("## Go\n```sh\ntrue\nfalse  # no\n```\n")
    with pytest.raises(SystemExit, match=r"failed .* false$"):
        walk(tmp_path, [broken])


def test_an_example_of_python_that_says_something_else_fails(tmp_path):
    [wrong] = blocks("## Go\n```python\n>>> 1 + 1\n3\n```\n")
    [command] = as_commands(wrong, tmp_path)
    done = subprocess.run(command.split(), capture_output=True, text=True)
    assert done.returncode == 1, done.stdout
