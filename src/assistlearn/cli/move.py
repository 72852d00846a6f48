"""``assistlearn move``: tell a run where its agents' files are now."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from assistlearn.cli.output import Json, command, plain, say, say_json
from assistlearn.errors import SettingsError


def move(
    run: Annotated[Path, typer.Argument(metavar="RUN", help="The folder of the run, where it is now.")],
    agent: Annotated[
        list[Path] | None,
        typer.Option(metavar="FILE", help="An agent file, where it is now. May be given several times."),
    ] = None,
    site: Annotated[Path | None, typer.Option(metavar="KIT", help="Over a network: the initiator's site kit.")] = None,
    admin: Annotated[
        Path | None, typer.Option(metavar="KIT", help="Over a network: the initiator's admin kit.")
    ] = None,
    json: Json = False,
) -> None:
    """Tell a run where its agent files are now. You do not need it if you move a project as a whole."""
    from assistlearn.agent_files import load_description
    from assistlearn.runs.folder import RunFolder

    folder = RunFolder(run)
    settings = folder.settings()
    files = {load_description(file).name: str(file.resolve()) for file in agent or []}
    strangers = sorted(files.keys() - settings.files.keys())
    if strangers:
        raise SettingsError(
            f"{plain(strangers[0])!r} has no file in this run. Those that have: {', '.join(settings.files)}."
        )
    kits = {name: str(kit.resolve()) for name, kit in (("site", site), ("admin", admin)) if kit is not None}
    if kits and "kits" not in settings.places:
        raise SettingsError(f"{run} is no run over a network: it has no kits.")
    folder.move(files, kits)
    now = folder.settings().files
    missing = [name for name, path in now.items() if not Path(path).exists()]
    if json:
        say_json({"run": settings.run, "files": now, "missing": missing})
        return
    for name, path in now.items():
        say(f"{plain(name)}: {plain(path)}" + ("" if name not in missing else " [yellow]is not there[/]"))
    if missing:
        say("Name what is missing: " + command("move", run, "--agent", "FILE"))
