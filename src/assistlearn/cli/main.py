"""The commands, and how errors leave the program."""

from __future__ import annotations

import json
import sys

import click
import typer
from rich.console import Console

from assistlearn.cli.audit import audit
from assistlearn.cli.check import check
from assistlearn.cli.forget import forget
from assistlearn.cli.init import init
from assistlearn.cli.predict import predict
from assistlearn.cli.show import show
from assistlearn.cli.simulate import simulate
from assistlearn.errors import AssistLearnError, LedgerError, RefusedError, UnreachableError

app = typer.Typer(
    help="Organisations that hold different columns about the same people help one of them to classify better.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)
app.command("init")(init)
app.command("check")(check)
app.command("simulate")(simulate)
app.command("predict")(predict)
app.command("show")(show)
app.command("audit")(audit)
app.command("forget")(forget)


def main() -> None:
    """Run a command; turn errors into a message and an exit code."""
    try:
        app()
    except AssistLearnError as error:
        _report(error)
        sys.exit(exit_code(error))
    except (KeyboardInterrupt, click.Abort):
        sys.exit(130)


def exit_code(error: AssistLearnError) -> int:
    """Return the exit code that an error ends the program with."""
    if isinstance(error, LedgerError):
        return 4
    return 3 if isinstance(error, RefusedError | UnreachableError) else 2


def _report(error: AssistLearnError) -> None:
    if "--json" in sys.argv:
        sys.stdout.write(json.dumps({"error": type(error).__name__, "message": str(error)}) + "\n")
    Console(stderr=True, soft_wrap=True, highlight=False).print(f"[bold red]Error:[/] {_escaped(str(error))}")


def _escaped(text: str) -> str:
    return text.replace("[", "\\[")
