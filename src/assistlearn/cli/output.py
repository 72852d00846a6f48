"""What a command says and asks: for people by rich, for scripts as one JSON object; and where it may write."""

from __future__ import annotations

import json
import os
import secrets
import shlex
import sys
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from assistlearn.errors import AssistLearnError, SettingsError

if TYPE_CHECKING:
    from assistlearn.agent.file import AgentDescription


KEPT = "\n\t\u200c\u200d"
"""Characters that are not printable but shown unchanged: line ends, tabs, and the joiners that some scripts need."""


def flag(name: str, help: str, *also: str) -> Any:
    """Return an option that is given or not."""
    return typer.Option(name, *also, metavar="", help=help)


RunPath = Annotated[Path, typer.Argument(metavar="RUN", help="The folder of the run.")]
AgentFile = Annotated[Path, typer.Argument(metavar="FILE", help="The agent's TOML file.")]
Json = Annotated[bool, flag("--json", "Print one JSON object, for scripts.")]


def say_json(facts: dict[str, Any]) -> None:
    sys.stdout.write(json.dumps(facts, ensure_ascii=False, default=str) + "\n")


def answer(as_json: bool, facts: dict[str, Any], *lines: str) -> None:
    """Print the facts for a script, or the lines for people; see :func:`say`."""
    if as_json:
        say_json(facts)
    else:
        for line in lines:
            say(line)


def say(text: str) -> None:
    """Print a line with rich's markup. It is never broken, so that paths and commands in it can be copied."""
    Console(highlight=False, emoji=False).print(text, soft_wrap=True)


def show_table(
    title: str, words: Sequence[str], numbers: Sequence[str], rows: Iterable[Sequence[object] | None]
) -> None:
    """Print a table with columns of words, followed by columns of numbers. A line is drawn where a row is None."""
    table = Table(*map(plain, words), title=plain(title) or None, title_justify="left")
    for name in numbers:
        table.add_column(plain(name), justify="right")
    for row in rows:
        if row is None:
            table.add_section()
        else:
            table.add_row(*map(plain, row))
    Console(highlight=False, emoji=False).print(table)


def complaints() -> Console:
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


def agreed(question: str, yes: bool) -> None:
    """Raise ``SettingsError`` unless the user agrees, by the option ``--yes`` or by answering the question."""
    if yes:
        return
    if not sys.stdin.isatty():
        raise SettingsError("Nothing was done: no question can be asked here. Add --yes to go on without one.")
    if not typer.confirm(question, err=True):
        raise SettingsError("Nothing was done: it was not confirmed.")


# Where a command may write: files that are needed are never overwritten, others only if the user agrees.


Force = Annotated[bool, flag("--force", "Replace an existing file without a question.", "-f")]


def check_target(path: Path, needed: Mapping[Path, str], *, force: bool, quiet: bool, flag: str = "--out") -> None:
    """Raise ``SettingsError`` if a file must not be written, or the user does not agree to replace it.

    Call it before work begins. ``needed`` has files and folders that must stay, with words for the error message; of a
    folder, everything in it stays. They are never replaced, even by ``force``. If ``quiet``, no question is asked.
    """
    if path.is_dir():
        raise SettingsError(f"{flag} {path} is a folder. Name a file.")
    if not path.exists():
        return
    for kept, what in needed.items():
        if kept.exists() and (os.path.samefile(path, kept) or path.resolve().is_relative_to(kept.resolve())):
            raise SettingsError(f"{flag} {path} is {what}, which would be lost. Name another file.")
    if force or (not quiet and sys.stdin.isatty() and typer.confirm(f"{path} is there. Replace it?", err=True)):
        return
    raise SettingsError(f"{path} is there already. Name another file with {flag}, or add --force to replace it.")


def check_picture(path: Path, *, force: bool, quiet: bool, flag: str = "--plot") -> None:
    """Raise ``SettingsError`` if a picture cannot be drawn into this file, or must not be."""
    if path.suffix not in (".png", ".svg", ".pdf"):
        raise SettingsError(f"{flag} {path}: name a file that ends in .png, .svg or .pdf.")
    check_target(path, {}, force=force, quiet=quiet, flag=flag)


def needed_by_run(run: Path) -> dict[Path, str]:
    from assistlearn.initiator.folder import NAMES, RunFolder

    own = {run / name: "a file of the run" for name in NAMES}
    return own | needed_by_agents(RunFolder(run).settings().files.values())


def needed_by_agents(files: Iterable[str | Path]) -> dict[Path, str]:
    """Return what agents need: their agent files, and the tables, secrets and models that these name."""
    from assistlearn.agent.file import load_description

    found: dict[Path, str] = {}
    for file in map(Path, files):
        found[file] = "an agent's file"
        with suppress(AssistLearnError):  # the error of a file that cannot be read comes when the agent is started
            agent = load_description(file)
            whose = f"of agent {agent.name!r}"
            found[file] = f"the file {whose}"
            needed = {
                _table_here(agent): f"the table {whose}",
                agent.secret: f"the secret {whose}",
                agent.models: f"a model {whose}",
            }
            found |= {path: what for path, what in needed.items() if path is not None}
    return found


def _table_here(agent: AgentDescription) -> Path | None:
    """Return the path of an agent's table or database; None if it is on another machine, or only the query names it."""
    from assistlearn.tables.settings import TableFile, TableQuery

    if isinstance(agent.table, TableFile):
        return agent.table.path
    database = agent.table.database if isinstance(agent.table, TableQuery) else None
    return database if isinstance(database, Path) else None


def new_name(kind: str) -> str:
    """Return a name with the time and four random characters, because two runs may begin in the same second.

    >>> len(new_name("run"))
    24
    """
    return f"{kind}-{datetime.now(UTC):%Y%m%d-%H%M%S}-{secrets.token_hex(2)}"
