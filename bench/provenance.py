"""Where figures on a page come from: their date, the commit, and the command that makes them."""

from __future__ import annotations

import datetime as dt
import re
import subprocess
import textwrap
from pathlib import Path

WIDTH = 100
"""Of a line of prose on a page."""
HELD = "\N{SYMBOL FOR SPACE}"
"""Stands for a space at which no line may end."""


def made_by(command: str) -> str:
    """Return the line that says when, at which commit and by which command something was measured just now."""
    commit = _git(["describe", "--always", "--dirty=, with changes"], Path(__file__).parent) or "unknown"
    return f"Measured on {dt.datetime.now(dt.UTC):%Y-%m-%d} at commit {commit} by `{command}`."


def measured(results: Path, command: str) -> str:
    """Return a line with the last change of the results and the command, as far as git knows; always in one line.

    >>> measured(Path("/nowhere/results.csv"), "python -m bench.nothing")
    '*Results made by `python -m bench.nothing`.*'
    """
    known = last_change(results)
    when = f" of {known[1]} (commit `{known[0]}`)," if known else ""
    return f"*Results{when} made by `{command}`.*"


def last_change(path: Path) -> tuple[str, str] | None:
    """Return the commit that changed a file last, and its day; None where git does not know."""
    if not path.parent.is_dir():
        return None
    said = _git(["log", "-1", "--format=%h %as", "--abbrev=7", "--", path.name], path.parent).split()
    return (said[0], said[1]) if len(said) == 2 else None


def wrapped(text: str, indent: str = "") -> str:
    """Return a paragraph in lines of :data:`WIDTH` letters; code stays in one line, and later lines are indented.

    >>> print(wrapped("one " * 30))
    one one one one one one one one one one one one one one one one one one one one one one one one one
    one one one one one
    """
    text = re.sub(r"`[^`]+`", lambda code: code[0].replace(" ", HELD), " ".join(text.split()))
    lines = textwrap.fill(text, WIDTH, subsequent_indent=indent, break_long_words=False, break_on_hyphens=False)
    return lines.replace(HELD, " ")


def without_provenance(page: str) -> str:
    r"""Return a page without the line that :func:`measured` makes: a shallow clone does not know the same commit.

    >>> without_provenance("# Title\n\n*Results of today, made by `x`.*\n\nText\n")
    '# Title\n\n\nText\n'
    """
    return "".join(line for line in page.splitlines(keepends=True) if not line.startswith("*Results"))


def _git(arguments: list[str], folder: Path) -> str:
    """Return what git says in a folder; nothing where there is no git, or where it does not know."""
    try:
        said = subprocess.run(["git", *arguments], cwd=folder, capture_output=True, text=True, check=True)
    except (OSError, subprocess.CalledProcessError):
        return ""
    return said.stdout.strip()
