"""What a command says: for people by rich, for scripts as one JSON object."""

from __future__ import annotations

import json
import shlex
import sys
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from assistlearn.evaluation.figures_in_words import counted, size

__all__ = ["KEPT", "Json", "command", "complaints", "counted", "plain", "say", "say_json", "say_table", "size"]

KEPT = "\n\t\u200c\u200d"
"""Characters that are not printable but shown unchanged: line ends, tabs, and the joiners that some scripts need."""

Json = Annotated[bool, typer.Option("--json", metavar="", help="Print one JSON object, for scripts.")]


def say_json(facts: dict[str, Any]) -> None:
    """Print facts as JSON on one line."""
    sys.stdout.write(json.dumps(facts, ensure_ascii=False, default=str) + "\n")


def say(text: str) -> None:
    """Print a line with rich's markup. It is never broken, so that paths and commands in it can be copied."""
    Console(highlight=False, emoji=False).print(text, soft_wrap=True)


def say_table(table: Table) -> None:
    """Print a table."""
    Console(highlight=False, emoji=False).print(table)


def complaints() -> Console:
    """Return where errors and progress go: standard error."""
    return Console(stderr=True, soft_wrap=True, highlight=False, emoji=False)


def plain(value: object) -> str:
    r"""Return a value's text, escaped so that rich sees no markup in it, and a terminal no commands.

    >>> print(plain("[bold] runs\x1b[2J"))
    \[bold] runs\x1b[2J
    """
    seen = (letter if letter.isprintable() or letter in KEPT else ascii(letter)[1:-1] for letter in str(value))
    return escape("".join(seen))


def command(*parts: str | Path) -> str:
    """Return a command line of this program that can be copied to a shell.

    >>> command("show", "my runs/first")
    "assistlearn show 'my runs/first'"
    """
    return plain(shlex.join(["assistlearn", *map(str, parts)]))
