"""``assistlearn init``: files to start from."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from assistlearn.cli.agent_template import agent_toml, refuse_existing
from assistlearn.cli.output import Json, command, plain, say, say_json


def init(
    folder: Annotated[
        Path, typer.Argument(metavar="FOLDER", help="The folder to write into.", show_default="this folder")
    ] = Path(),
    example: Annotated[
        bool, typer.Option("--example", metavar="", help="Write three agents with small tables, ready to run.")
    ] = False,
    json: Json = False,
) -> None:
    """Write agent files to start from: two commented files to fill in, or an example that runs."""
    written = _example(folder) if example else _blanks(folder)
    agents = [path for path in written if path.suffix == ".toml"]
    if json:
        say_json({"files": [str(path) for path in written], "agents": [str(path) for path in agents]})
        return
    for path in written:
        say(f"wrote {plain(path)}")
    if example:
        say("Next, train: " + command("simulate", *agents, "--out", folder / "run"))
    else:
        say("Next: fill them in, then " + command("check", agents[0]))


def _example(folder: Path) -> list[Path]:
    from assistlearn.cli.example import write_example

    return write_example(folder)


def _blanks(folder: Path) -> list[Path]:
    paths = [folder / "initiator.toml", folder / "helper.toml"]
    refuse_existing(paths)
    folder.mkdir(parents=True, exist_ok=True)
    for path in paths:
        path.write_text(agent_toml(path.stem, path.stem, f"{path.stem}.csv"), encoding="utf-8")
    return paths
