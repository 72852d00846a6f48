"""``assistlearn report``: a run, or a helper's part in all its runs, as a page that can be opened, printed and sent."""

from __future__ import annotations

import webbrowser
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Annotated, Any

import typer

from assistlearn.cli.output import Json, command, plain, say, say_json, size
from assistlearn.cli.overwriting import Force, check_target, needed_by_agents, needed_by_run
from assistlearn.errors import SettingsError


def report(
    run: Annotated[Path, typer.Argument(metavar="RUN", help="The folder of the run; or, at a helper, its agent file.")],
    out: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="The file to write.", show_default="beside RUN, as RUN.html"),
    ] = None,
    open_: Annotated[bool, typer.Option("--open", metavar="", help="Open the page in the browser.")] = False,
    class_names: Annotated[
        bool, typer.Option("--class-names/--no-class-names", help="Show the classes by name, or by number.")
    ] = True,
    force: Force = False,
    json: Json = False,
) -> None:
    """Write a page about a run, to look at, print and send. The answer comes first, then all figures."""
    from assistlearn.pages.keeping_pages import is_page, keep_page

    facts, draw, lacks = _of_helper(run) if run.suffix == ".toml" else _of_run(run, class_names)
    path = out if out is not None or (json and not open_) else _beside(run)
    if path is not None and not is_page(path):
        needed = needed_by_agents([run]) if run.suffix == ".toml" else needed_by_run(run)
        check_target(path, needed, force=force, quiet=json)
    n_bytes = 0 if path is None else keep_page(path, draw(), force=True)
    if json:
        say_json({"page": None if path is None else str(path), "bytes": n_bytes, "lacking": lacks} | facts)
    elif path is not None:
        say(f"The page: {plain(path)} ({size(n_bytes)}).")
        for words in lacks:
            say(f"[yellow]Note:[/] {plain(words)}")
        if not open_:
            place = () if out is None else ("--out", path)
            say(f"Open it in any browser, or: {command('report', run, *place, '--open')}")
    if open_ and path is not None and not webbrowser.open(path.resolve().as_uri()):
        raise SettingsError(f"There is no browser to open {path} with. Open it by hand; the page is written.")


def _beside(run: Path) -> Path:
    """Return the default path of a page: beside the run or agent file, relative to the current folder if possible."""
    place = run.resolve()
    page = place.with_suffix(".html") if place.suffix == ".toml" else place.with_name(f"{place.name}.html")
    here = Path.cwd()
    return page.relative_to(here) if not run.is_absolute() and page.is_relative_to(here) else page


def _of_run(run: Path, class_names: bool) -> tuple[dict[str, Any], Callable[[], str], list[str]]:
    from assistlearn.pages.run_page import run_page, without_class_names
    from assistlearn.pages.run_story import lacking, view_of
    from assistlearn.runs.folder import RunFolder

    folder = RunFolder(run)
    view = view_of(folder)
    view = view if class_names else without_class_names(view)
    return view.to_dict(), partial(run_page, view), lacking(folder)


def _of_helper(file: Path) -> tuple[dict[str, Any], Callable[[], str], list[str]]:
    from assistlearn.agent_files import load_description
    from assistlearn.pages.helper_page import helper_page
    from assistlearn.pages.helper_story import helper_view

    view = helper_view(load_description(file))
    return view.to_dict(), partial(helper_page, view), []
