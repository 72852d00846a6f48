"""Write one page for each command, from the program itself and a short file with its example.

A page has what ``--help`` says: usage, arguments, options, defaults. What the program cannot say of itself (an example
of its output, the keys of its JSON object, its exit codes, when to use it) comes from ``examples/NAME.md`` beside the
pages. The pages are committed, so that they can be read without a build. To write them again:
``python docs/command_pages.py``.
"""

from __future__ import annotations

import re
import textwrap
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from typer.main import get_command

from assistlearn.cli import app
from assistlearn.cli.program import PANELS

FOLDER = Path(__file__).parent / "reference" / "commands"
NOTICE = "<!-- Written by docs/command_pages.py from the program. Do not edit: change the program, or examples/{}. -->"
CODES = "../exit-codes-and-json.md"


@dataclass
class Example:
    """What is said by hand of a command."""

    writes: str = ""
    use: str = ""
    exits: str = ""
    body: str = ""
    keys: str = ""

    @classmethod
    def read(cls, file: Path) -> Example:
        """Read the lines ``key: value`` at the top, what follows them, and the keys of the JSON object at the end."""
        if not file.exists():
            return cls()
        head, _, body = file.read_text(encoding="utf-8").partition("\n\n")
        facts = {key: value.strip() for key, _, value in (line.partition(":") for line in head.splitlines())}
        body, _, keys = body.partition("\n## JSON\n")
        return cls(facts["writes"], facts["use"], facts["exits"], body.strip(), keys.strip())


def commands() -> dict[str, Any]:
    """Return every command of the program by its name, those in groups with that of the group before."""
    return dict(_walk(get_command(app), ""))


def _walk(group: Any, before: str) -> Iterator[tuple[str, Any]]:
    for name, command in group.commands.items():
        if hasattr(command, "commands"):
            yield from _walk(command, f"{before}{name} ")
        elif not command.hidden:
            yield f"{before}{name}", command


def write_command_pages(out: Path = FOLDER) -> None:
    """Write a page for each command, and the list of them; remove pages of commands that are no more."""
    out.mkdir(parents=True, exist_ok=True)
    found = commands()
    pages = {f"{page_name(name)}.md": _page(name, command) for name, command in found.items()}
    pages["index.md"] = _index(found)
    for old in out.glob("*.md"):
        if old.name not in pages:
            old.unlink()
    for name, text in pages.items():
        file = out / name
        if not file.exists() or file.read_text(encoding="utf-8") != text:  # Sphinx reads again what is written
            file.write_text(text, encoding="utf-8")


def page_name(command: str) -> str:
    """Return the name of a command's page.

    >>> page_name("network found")
    'network-found'
    """
    return command.replace(" ", "-")


def _example(name: str) -> Example:
    return Example.read(FOLDER / "examples" / f"{page_name(name)}.md")


def _index(found: dict[str, Any]) -> str:
    """Return the list: a table for each group of commands."""
    panels: dict[str, list[str]] = {panel: [] for panel in PANELS}
    top = get_command(app).commands  # type: ignore[attr-defined]
    for name in found:
        panels.setdefault(top[name.split()[0]].rich_help_panel, []).append(name)
    parts = [
        "# The command line",
        NOTICE.format("NAME.md"),
        _wrapped(
            "`assistlearn COMMAND --help` prints what these pages say. `assistlearn --version` prints the version. For "
            f"scripts: [Exit codes and JSON]({CODES}). The examples of commands on one machine belong together: begin "
            "with that of `init`, then type the others."
        ),
    ]
    for panel, names in panels.items():
        rows = []
        for name in names:
            own = _example(name)
            what = _prose(_first_sentence(found[name].help))
            rows.append(f"| [`{name}`]({page_name(name)}.md) | {what} | {own.writes} | {own.use} |")
        table = "\n".join(
            ["| command | what it does | what it writes | use it when |", "| --- | --- | --- | --- |", *rows]
        )
        parts.append(f"## {panel}\n\n{table}")
    names = "\n".join(map(page_name, found))
    parts.append(f"```{{toctree}}\n:hidden:\n\n{names}\n```")
    return "\n\n".join(parts) + "\n"


def _page(name: str, command: Any) -> str:
    own = _example(name)
    parts = [f"# {name}", NOTICE.format(f"{page_name(name)}.md"), _wrapped(_prose(_unwrapped(command.help)))]
    parts.append(f"```text\n{_usage(name, command)}\n```")
    if own.use:
        parts.append(_wrapped(f"**Use it when** {own.use[0].lower()}{own.use[1:]}\n\n**It writes** {own.writes}."))
    if own.body:
        parts.append(f"## Example\n\n{own.body}" if not own.body.startswith("## ") else own.body)
    arguments = [p for p in command.params if p.param_type_name == "argument"]
    if arguments:
        rows = [f"| `{_metavar(p)}` | {_cell(p.help)} | {_default(p)} |" for p in arguments]
        parts.append("\n".join(["## Arguments\n", "| argument | meaning | default |", "| --- | --- | --- |", *rows]))
    parts.append(_options(command))
    if own.keys:
        parts.append(f"## JSON\n\n{own.keys}")
    if own.exits:
        rows = [f"- {line.strip()}" for line in own.exits.split(";")]
        parts.append("\n".join(["## Exit codes\n", *rows, f"\nAll codes: [Exit codes and JSON]({CODES})."]))
    return "\n\n".join(parts) + "\n"


def _usage(name: str, command: Any) -> str:
    words = ["assistlearn", name, "[OPTIONS]"]
    for parameter in command.params:
        if parameter.param_type_name == "argument":
            metavar = _metavar(parameter)
            words.append(metavar if parameter.required else f"[{metavar}]")
    return " ".join(words)


def _metavar(parameter: Any) -> str:
    shown = parameter.metavar or parameter.name.upper()
    return shown + ("..." if parameter.nargs == -1 and not shown.endswith("...") else "")


def _options(command: Any) -> str:
    """Return the tables of options, one for each heading that ``--help`` has."""
    panels: dict[str, list[str]] = {}
    for option in command.params:
        if option.param_type_name == "option" and not option.hidden and "--help" not in option.opts:
            row = f"| {_flags(option)} | {_cell(option.help)} | {_default(option)} |"
            panels.setdefault(option.rich_help_panel or "", []).append(row)
    several = len(panels) > 1
    parts = ["## Options"]
    for panel in sorted(panels, key=lambda panel: panel == ""):  # those without a heading are for every command
        title = f"**{_prose(panel) or 'General'}**\n\n" if several else ""
        rows = "\n".join(["| option | meaning | default |", "| --- | --- | --- |", *panels[panel]])
        parts.append(title + rows)
    return "\n\n".join(parts)


def _flags(option: Any) -> str:
    takes = "" if option.is_flag else f" {option.metavar or option.name.upper()}"
    long = [flag for flag in option.opts if flag.startswith("--")]
    short = [flag for flag in option.opts if not flag.startswith("--")]
    return ", ".join(f"`{flag}`" for flag in [*(f"{flag}{takes}" for flag in long), *short, *option.secondary_opts])


def _default(parameter: Any) -> str:
    """Return what holds where the parameter is not given, as ``--help`` shows it."""
    if isinstance(parameter.show_default, str):
        return _prose(parameter.show_default)
    value = parameter.default
    if not parameter.show_default or value is None or value == "":
        return ""
    if isinstance(value, bool):
        return f"`{parameter.opts[0]}`" if value and parameter.secondary_opts else ""
    if isinstance(value, float):
        return f"{value:g}"
    return f"`{value}`" if not isinstance(value, int) else str(value)


def _cell(text: str | None) -> str:
    return _prose(_unwrapped(text)).replace("|", r"\|").replace("\n", " ")


def _unwrapped(text: str | None) -> str:
    """Return a text whose paragraphs are in one line each."""
    return "\n\n".join(" ".join(paragraph.split()) for paragraph in (text or "").split("\n\n"))


def _wrapped(text: str) -> str:
    paragraphs = text.split("\n\n")
    return "\n\n".join(textwrap.fill(one, 100, break_on_hyphens=False, break_long_words=False) for one in paragraphs)


def _first_sentence(text: str | None) -> str:
    first = _unwrapped(text).partition("\n\n")[0]
    return re.split(r"(?<=[.?]) (?=[A-Z])", first)[0]


def _prose(text: str) -> str:
    """Return a text of the program as Markdown: options in code, and no sign taken for markup."""
    text = text.replace("*", r"\*").replace("<", r"\<")
    text = re.sub(r"(^|(?<=[.] ))([a-z][a-z -]*): ", r"\1`\2`: ", text)  # a choice, and what it means
    text = re.sub(r"\[(allow|privacy|training)\]", r"`[\1]`", text)
    return re.sub(r"(?<![\w`-])(--[a-z][a-z-]*[a-z])", r"`\1`", text)


if __name__ == "__main__":
    write_command_pages()
