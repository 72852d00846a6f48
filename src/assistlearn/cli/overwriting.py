"""Check where a command may write: files that are needed are never overwritten, others only if the user agrees."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from assistlearn.errors import AssistLearnError, SettingsError

if TYPE_CHECKING:
    from assistlearn.agent_files import AgentDescription

Force = Annotated[bool, typer.Option("--force", "-f", metavar="", help="Replace an existing file without a question.")]


def check_target(path: Path, needed: Mapping[Path, str], *, force: bool, quiet: bool, flag: str = "--out") -> None:
    """Raise ``SettingsError`` if a file must not be written, or the user does not agree to replace it.

    Call it before work begins.

    Parameters
    ----------
    path : path
        The file to write.
    needed : mapping of path to str
        Files and folders that must stay, each with words for the error message. Of a folder, everything in it stays.
    force : bool
        Whether to replace an existing file without a question. Needed files are never replaced.
    quiet : bool
        Whether to ask no question.
    flag : str
        The option that names the file on the command line.
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
    """Return what a run needs on this machine: what it has written, and its agents' files, tables and models."""
    from assistlearn.runs.folder import NAMES, RunFolder

    own = {run / name: "a file of the run" for name in NAMES}
    return own | needed_by_agents(RunFolder(run).settings().files.values())


def needed_by_agents(files: Iterable[str | Path]) -> dict[Path, str]:
    """Return what agents need: their agent files, and the tables, secrets and models that these name."""
    from assistlearn.agent_files import load_description

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
    from assistlearn.agent_files import TableFile, TableQuery

    if isinstance(agent.table, TableFile):
        return agent.table.path
    database = agent.table.database if isinstance(agent.table, TableQuery) else None
    return database if isinstance(database, Path) else None
