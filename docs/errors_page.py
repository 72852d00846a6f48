"""Write the page on errors from the tree of errors itself, so that it names every one of them.

To write it again: ``python docs/errors_page.py``. The page is committed, so that it can be read without a build.
"""

from __future__ import annotations

import builtins
import inspect
import re
from pathlib import Path
from types import ModuleType

from assistlearn import errors
from assistlearn.cli.program import exit_code

PAGE = Path(__file__).parent / "reference" / "errors.md"
HEAD = """# Errors

<!-- Written by docs/errors_page.py from src/assistlearn/errors.py. Do not edit: change the docstrings there. -->

Every error that `assistlearn` raises on purpose. The message says what is wrong, where (agent, column,
round, file) and what to do.

- In Python, catch `assistlearn.errors.AssistLearnError` to catch them all. Most are also a built-in
  error, so that an existing `except ValueError` still works.
- Where several things are wrong, the first is raised. Its attribute `others` has the rest, and the
  command line prints them all.
- On the command line, the program ends with the [exit code](exit-codes-and-json.md) of the error. With
  `--json`, the key `error` has its name.
- An arrow (↳) marks a special case of the error above it.

| error | raised when | what to do | exit code | also a |
| --- | --- | --- | --- | --- |
"""
TAIL = """
`AssistLearnWarning` is a `UserWarning`: the work is done, but probably not as you hoped. A fault of the
program itself is none of these errors; it ends the program with exit code 1.
"""


def write_errors_page(page: Path = PAGE) -> None:
    """Write the page, if what it says has changed."""
    text = HEAD + "\n".join(_rows(errors)) + "\n" + TAIL
    if not page.exists() or page.read_text(encoding="utf-8") != text:
        page.write_text(text, encoding="utf-8")


def _rows(module: ModuleType) -> list[str]:
    """Return a row for each error, special cases after the error that they are cases of."""
    root = errors.AssistLearnError
    found = [kind for kind in vars(module).values() if inspect.isclass(kind) and issubclass(kind, root)]
    rows: list[str] = []

    def add(kind: type[errors.AssistLearnError], depth: int) -> None:
        if kind is not root:
            rows.append(_row(kind, depth))
        for other in found:
            if other.__bases__[0] is kind:
                add(other, depth + 1)

    add(root, -1)
    return rows


def _row(kind: type[errors.AssistLearnError], depth: int) -> str:
    when, _, remedy = inspect.getdoc(kind).partition("What to do: ")  # type: ignore[union-attr]
    known = [base for base in kind.__mro__ if base.__module__ == builtins.__name__]
    nearest = [base for base in known if not any(base in other.__mro__[1:] for other in known)]
    arrow = "↳ " * depth
    code = exit_code(_one(kind))
    also = ", ".join(f"`{base.__name__}`" for base in nearest if base is not Exception)
    return f"| {arrow}`{kind.__name__}` | {_markdown(when)} | {_markdown(remedy)} | {code} | {also} |"


def _one(kind: type[errors.AssistLearnError]) -> errors.AssistLearnError:
    """Return an error of a kind; some are made of two texts."""
    try:
        return kind("")
    except TypeError:
        return kind("", "")


def _markdown(text: str) -> str:
    words = re.sub(r":class:`(\w+)`", r"`\1`", " ".join(text.split()))
    return words.replace("``", "`")


if __name__ == "__main__":
    write_errors_page()
