"""``assistlearn init``: files to start from."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from assistlearn.cli.example import agent_toml, write_example
from assistlearn.cli.output import Json, console, say_json
from assistlearn.errors import SettingsError


def init(
    folder: Annotated[Path, typer.Argument(help="Where to write them.")] = Path(),
    example: Annotated[bool, typer.Option("--example", help="Three agents with small tables, ready to run.")] = False,
    json: Json = False,
) -> None:
    """Write commented example files of an initiator and a helper; with --example, a runnable set of three agents."""
    folder.mkdir(parents=True, exist_ok=True)
    if example:
        written = write_example(folder)
    else:
        written = []
        for name, role in (("initiator.toml", "initiator"), ("helper.toml", "helper")):
            path = folder / name
            if path.exists():
                raise SettingsError(f"{path} is there already. Name another folder, or move it away.")
            path.write_text(agent_toml(role, role, f"{role}.csv"), encoding="utf-8")
            written.append(path)
    if json:
        say_json({"files": [str(path) for path in written]})
        return
    out = console()
    for path in written:
        out.print(f"wrote {path}")
    names = " ".join(str(path) for path in written if path.suffix == ".toml")
    out.print(f"Next: assistlearn simulate {names}" if example else "Next: fill them in, then assistlearn check FILE")
