"""``assistlearn report``: a run as a page that can be opened, printed and sent."""

from __future__ import annotations

import webbrowser
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from assistlearn.cli.output import Json, command, plain, say, say_json, size
from assistlearn.errors import SettingsError

if TYPE_CHECKING:
    from assistlearn.pages.view import View


def report(
    run: Annotated[Path, typer.Argument(metavar="RUN", help="The run's folder.")],
    out: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Where to write the page.", show_default="beside RUN, as RUN.html"),
    ] = None,
    open_: Annotated[bool, typer.Option("--open", metavar="", help="Open the page in the browser.")] = False,
    class_names: Annotated[
        bool, typer.Option("--class-names/--no-class-names", help="Whether classes have their names, or numbers.")
    ] = True,
    force: Annotated[bool, typer.Option("--force", metavar="", help="Replace a file that is no such page.")] = False,
    json: Json = False,
) -> None:
    """Write a run as one page: the answer first, then all it rests on. It needs nothing from outside."""
    from assistlearn.pages.keeping_pages import keep_page
    from assistlearn.pages.run_page import run_page

    view = _view(run, class_names)
    path = out if out is not None or (json and not open_) else run.resolve().with_name(f"{run.resolve().name}.html")
    n_bytes = 0 if path is None else keep_page(path, run_page(view), force=force)
    if json:
        say_json({"page": None if path is None else str(path), "bytes": n_bytes} | view.to_dict())
    elif path is not None:
        say(f"The page: {plain(path)} ({size(n_bytes)}).")
        if not open_:
            say(f"Open it in any browser, or: {command('report', run, '--out', path, '--open')}")
    if open_ and path is not None and not webbrowser.open(path.resolve().as_uri()):
        raise SettingsError(f"There is no browser to open {path} with. Open it by hand; the page is written.")


def _view(run: Path, class_names: bool) -> View:
    from assistlearn.pages.run_page import without_class_names
    from assistlearn.pages.run_story import view_of
    from assistlearn.runs.folder import RunFolder

    view = view_of(RunFolder(run))
    return view if class_names else without_class_names(view)
