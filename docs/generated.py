"""The pages that the program itself writes when the documentation is built: the API, the commands, the errors.

They are not kept in git. A command's page is its help; its output and the keys of its JSON are added from
``reference/examples``, where people write.
"""

from __future__ import annotations

import builtins
import inspect
import re
import tomllib
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from types import FunctionType
from typing import Any

import typer
from typer.cli import get_docs_for_click
from typer.main import get_command

import assistlearn
from assistlearn import errors
from assistlearn.cli import PANELS, app, exit_code

DOCS = Path(__file__).parent
PACKAGE = DOCS.parent / "src" / "assistlearn"
EXAMPLES = DOCS / "reference" / "examples"


def write_all(reference: Path = DOCS / "reference") -> None:
    """Write all pages into a folder, and remove those of what is no more."""
    for folder, pages in (("api/generated", api_pages()), ("commands", command_pages())):
        (reference / folder).mkdir(parents=True, exist_ok=True)
        for old in (reference / folder).glob("*.md"):
            if old.name not in pages:
                old.unlink()
        for name, text in pages.items():
            _write(reference / folder / name, text)
    _write(reference / "errors.md", errors_page())


def _write(page: Path, text: str) -> None:
    if not page.exists() or page.read_text(encoding="utf-8") != text:  # Sphinx reads again what is written
        page.write_text(text, encoding="utf-8")


def api_pages() -> dict[str, str]:
    """Return a page for each layer and their list, in the order of the import-linter contract."""
    pyproject = tomllib.loads((DOCS.parent / "pyproject.toml").read_text(encoding="utf-8"))
    [contract] = [c for c in pyproject["tool"]["importlinter"]["contracts"] if c["type"] == "layers"]
    layers = [name.strip(" ()") for row in contract["layers"] for name in row.split("|")]
    modules = {layer: found for layer in layers if (found := _modules(layer))}
    toctree = "\n".join(["```{toctree}", ":maxdepth: 1", "", *modules, "```"])
    pages = {f"{layer}.md": _layer_page(layer, found) for layer, found in modules.items()}
    return {"index.md": f"# Layers, from top to bottom\n\n{toctree}\n", **pages}


def _modules(layer: str) -> list[str]:
    """Return the dotted names of a layer's modules, packages before what is in them; none where it does not exist."""
    if (PACKAGE / f"{layer}.py").exists():
        return [layer]
    found = sorted((PACKAGE / layer).rglob("*.py"), key=lambda path: path.relative_to(PACKAGE).with_suffix("").parts)
    kept = [path for path in found if path.stem == "__init__" or not path.stem.startswith("_")]
    return [".".join(path.relative_to(PACKAGE).with_suffix("").parts).removesuffix(".__init__") for path in kept]


def _layer_page(layer: str, modules: list[str]) -> str:
    first, *inner = (f"assistlearn.{name}" for name in modules)
    parts = [f"# {layer}", _automodule(first)]
    parts += [f"## {name.removeprefix('assistlearn.')}\n\n{_automodule(name)}" for name in inner]
    return "\n\n".join(parts) + "\n"


def _automodule(name: str) -> str:
    """Return the directive: all members of a module, or those that a package defines itself and does not pass on."""
    public = [own for own in assistlearn.__all__ if getattr(assistlearn, own).__module__ == name]
    module = import_module(name)
    if hasattr(module, "__path__"):
        own = [
            each
            for each, value in vars(module).items()
            if isinstance(value, FunctionType) and value.__module__ == name and not each.startswith("_")
        ]
        options = [f":members: {', '.join(own)}"] if own else [":no-members:"]
    else:
        options = [":members:", ":show-inheritance:"]
    if public:
        options.append(f":exclude-members: {', '.join(public)}")
    lines = [f".. automodule:: {name}", *(f"   {option}" for option in options)]
    lines += [f"\n:obj:`assistlearn.{each}` is on the first page of the API." for each in public]
    return "```{eval-rst}\n" + "\n".join(lines) + "\n```"


def commands() -> dict[str, Any]:
    """Return every command of the program by its name, those in groups with that of the group before."""
    return dict(_walk(get_command(app), ""))


def _walk(group: Any, before: str) -> Iterator[tuple[str, Any]]:
    for name, command in group.commands.items():
        if hasattr(command, "commands"):
            yield from _walk(command, f"{before}{name} ")
        elif not command.hidden:
            yield f"{before}{name}", command


def command_pages() -> dict[str, str]:
    """Return a page for each command, and the list of them: a table for each heading of the help."""
    top = get_command(app)
    panels: dict[str, list[str]] = {panel: [] for panel in PANELS}
    pages = {}
    for name, command in commands().items():
        page = f"{name.replace(' ', '-')}.md"
        context = typer.Context(command, info_name=name)
        text = get_docs_for_click(obj=command, ctx=context, name=name, call_prefix="assistlearn", title=name)
        example = EXAMPLES / page
        pages[page] = text + (example.read_text(encoding="utf-8") if example.exists() else "")
        what = re.split(r"(?<=[.?])\s", command.help, maxsplit=1)[0].replace("\n", " ")
        panels[top.commands[name.split()[0]].rich_help_panel].append(f"| [`{name}`]({page}) | {what} |")  # type: ignore[attr-defined]
    tables = [
        "\n".join([f"## {panel}\n", "| command | what it does |", "| --- | --- |", *rows])
        for panel, rows in panels.items()
    ]
    names = "\n".join(page.removesuffix(".md") for page in pages)
    return {"index.md": "\n\n".join([COMMANDS, *tables, f"```{{toctree}}\n:hidden:\n\n{names}\n```\n"]), **pages}


COMMANDS = """# The command line

`assistlearn COMMAND --help` prints what these pages say. `assistlearn --version` prints the version.
For scripts: [Exit codes and JSON](../exit-codes-and-json.md). The examples of commands on one
machine belong together: begin with that of `init`, then type the others."""


def errors_page() -> str:
    """Return a table with a row for each error, special cases after the error that they are cases of."""
    rows: list[str] = []

    def add(kind: type[errors.AssistLearnError], depth: int) -> None:
        rows.append(_error_row(kind, depth))
        for other in vars(errors).values():
            if inspect.isclass(other) and other.__bases__[0] is kind:
                add(other, depth + 1)

    add(errors.AssistLearnError, -1)
    return "\n".join([ERRORS, *rows[1:], FAULTS])


def _error_row(kind: type[errors.AssistLearnError], depth: int) -> str:
    said = " ".join((inspect.getdoc(kind) or "").split()).replace("``", "`")
    when, _, remedy = re.sub(r":class:`(\w+)`", r"`\1`", said).partition("What to do: ")
    known = [base for base in kind.__mro__ if base.__module__ == builtins.__name__]
    nearest = [base for base in known if not any(base in other.__mro__[1:] for other in known)]
    also = ", ".join(f"`{base.__name__}`" for base in nearest if base is not Exception)
    try:
        one = kind("")
    except TypeError:  # some are made of two texts
        one = kind("", "")
    return f"| {'↳ ' * depth}`{kind.__name__}` | {when.strip()} | {remedy} | {exit_code(one)} | {also} |"


ERRORS = """# Errors

Every error that `assistlearn` raises on purpose. The message says what is wrong, where (agent,
column, round, file) and what to do.

- In Python, catch `assistlearn.errors.AssistLearnError` to catch them all. Most are also a built-in
  error, so that an existing `except ValueError` still works.
- Where several things are wrong, the first is raised. Its attribute `others` has the rest, and the
  command line prints them all.
- On the command line, the program ends with the [exit code](exit-codes-and-json.md) of the error.
  With `--json`, the key `error` has its name.
- An arrow (↳) marks a special case of the error above it.

| error | raised when | what to do | exit code | also a |
| --- | --- | --- | --- | --- |"""
FAULTS = """
`AssistLearnWarning` is a `UserWarning`: the work is done, but probably not as you hoped. A fault of
the program itself is none of these errors; it ends the program with exit code 1.
"""
