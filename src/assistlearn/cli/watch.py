"""``assistlearn watch``: the page of a run, or of an agent, live in a browser."""

from __future__ import annotations

import os
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from assistlearn.cli.output import Json, plain, say, say_json

if TYPE_CHECKING:
    from assistlearn.web.watched import Watched


def watch(
    what: Annotated[
        Path, typer.Argument(metavar="RUN", help="The folder of the run, which need not exist yet; or an agent file.")
    ],
    port: Annotated[
        int, typer.Option(min=0, max=65535, help="The port on this machine.", show_default="any free one")
    ] = 0,
    open_: Annotated[bool, typer.Option("--open/--no-open", help="Open the page in a browser.")] = True,
    json: Json = False,
) -> None:
    """Watch a run, or an agent that helps others, live in a browser. Stop with Ctrl-C.

    Only this machine reaches the page, and only those who know its address: the address holds a token.
    """
    from assistlearn.web import require_web

    require_web("assistlearn watch")
    from assistlearn.web.gate import LOOPBACK, new_token
    from assistlearn.web.running import listening, port_of
    from assistlearn.web.watching import run_watch

    (watched, is_there), token = _watched(what), new_token()
    with listening(port) as listens:
        address = f"http://{LOOPBACK}:{port_of(listens)}/{token}/"
        if json:
            say_json({"address": address, "port": port_of(listens), "watching": str(what)})
        else:
            say(f"Watch {plain(what)} at {address}")
            waits = "" if is_there else "There is no run in it yet; the page shows it as soon as it begins. "
            say(f"{waits}Stop with Ctrl-C.")
        sys.stdout.flush()
        with _browser(address, open_ and not json):
            run_watch(watched, listens, token)
    if not json:
        say("Stopped.")


def _watched(what: Path) -> tuple[Watched, bool]:
    """Return what is to be watched, and whether it is there already."""
    if what.is_file() or what.suffix == ".toml":
        from assistlearn.web.live_agent import LiveAgent

        return LiveAgent(what), True
    from assistlearn.runs.folder import RunFolder
    from assistlearn.web.live_run import LiveRun

    return LiveRun(what), RunFolder(what).exists


@contextmanager
def _browser(address: str, wanted: bool) -> Iterator[None]:
    """Open the page in a browser if there is a screen. A file that only the user can read holds the address.

    Everybody on this machine could read the address, and the token in it, on the browser's command line.
    """
    has_screen = sys.platform == "darwin" or os.environ.get("DISPLAY") or os.environ.get("WAYLAND_DISPLAY")
    if not wanted or not has_screen:
        yield
        return
    import webbrowser

    with tempfile.NamedTemporaryFile("w", prefix="assistlearn-watch-", suffix=".html", encoding="utf-8") as file:
        file.write(
            f'<!doctype html><meta http-equiv="refresh" content="0; url={address}"><a href="{address}">Watch</a>'
        )
        file.flush()
        webbrowser.open(Path(file.name).as_uri())
        yield
