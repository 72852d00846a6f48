"""The command line: ``assistlearn COMMAND``.

===========  =============================================================================
exit code    meaning
===========  =============================================================================
0            all is well
1            a fault of the program
2            something in the input is wrong: an option, a file, a table, a run's folder
3            an agent refused or cannot be reached, or the network does not work
4            a ledger was changed
6            a run waits for the consent of helpers' owners
130          interrupted
===========  =============================================================================

With ``--json`` a command prints exactly one JSON object on standard output. Where it fails, the object has the keys
``error`` (a name), ``message``, ``notes`` (what to do next) and ``exit_code``. All else goes to standard error.

A command imports what it needs when it is called, so that ``--help`` does not wait for scikit-learn.
"""

from __future__ import annotations

import errno
import os
import sys
import traceback
import warnings
from collections.abc import Callable, Iterator, Sequence
from typing import Annotated, Any

import typer
from rich.markup import escape
from typer.main import get_command

from assistlearn import errors as e
from assistlearn.cli import audit, begin, consent, doctor, network, predict, report, train, worth
from assistlearn.cli.output import complaints, plain, say_json
from assistlearn.release import __version__

__all__ = ["app", "main"]

# By default Polars keeps free memory for a second, and so uses a third more memory than a table needs. This must be set
# before a command imports Polars; the processes of agents inherit it, and a value that the user has set is kept. Memory
# is given back after a tenth of a second, and wholly: muzzy memory still counts as used until the system needs it. To
# give all of it back at once would cost a third of the time.
MEMORY_VARIABLE = "_RJEM_MALLOC_CONF"
BACK_SOON = "background_thread:true,dirty_decay_ms:100,muzzy_decay_ms:0"
os.environ.setdefault(MEMORY_VARIABLE, BACK_SOON)

FAULT, WRONG, ABSENT, CHANGED, AWAITED, INTERRUPTED = 1, 2, 3, 4, 6, 130

OF_A_DISK = (errno.ENOSPC, errno.EDQUOT, errno.EACCES, errno.EPERM, errno.EROFS)

LEDGER_REMEDY = (
    "Restore the ledger from a backup, with the files beside it whose names begin in the same way. If there is no "
    "backup, ask who changed them; then let the counts be rebuilt: assistlearn recount FILE, with the agent's file."
)

app = typer.Typer(
    pretty_exceptions_enable=False,
    add_completion=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)
PANELS: dict[str, tuple[Callable[..., Any], ...]] = {
    "Begin": (begin.init, begin.check, worth.worth, doctor.doctor),
    "Train": (train.simulate, train.train),
    "Look at a result": (report.show, report.report, report.watch),
    "Predict": (predict.predict, predict.serve),
    "Data protection and consent": (
        *(audit.audit, audit.privacy, consent.recount, consent.requests, consent.approve, consent.reject),
        *(consent.forget, consent.move),
    ),
    "A network of organisations": (),
}
"""The headings under which help shows the commands."""

for _panel, _commands in PANELS.items():
    for _command in _commands:
        app.command(_command.__name__, rich_help_panel=_panel)(_command)
app.add_typer(network.network, name="network", rich_help_panel="A network of organisations")
app.add_typer(network.site, name="site", rich_help_panel="A network of organisations")


def _version(asked: bool) -> None:
    if asked:
        sys.stdout.write(f"assistlearn {__version__}\n")
        raise typer.Exit


@app.callback(invoke_without_command=True)
def _help(
    context: typer.Context,
    version: Annotated[
        bool,
        typer.Option("--version", metavar="", callback=_version, is_eager=True, help="Print the version and exit."),
    ] = False,
) -> None:
    """Organisations that hold different data about the same people help one of them to classify better.

    To begin: assistlearn init demo --example
    """
    if context.invoked_subcommand is None:
        sys.stdout.write(context.get_help() + "\n")


def main(program: typer.Typer = app, name: str = "assistlearn") -> None:
    warnings.formatwarning = _one_line
    sys.exit(run(sys.argv[1:], program, name))


def run(arguments: Sequence[str], program: typer.Typer = app, name: str = "assistlearn") -> int:
    """Run a command, print its error if there is one, and return the exit code.

    Another ``program`` can be given, which then reports its errors like this one; ``name`` is how it is called.
    """
    as_json = "--json" in arguments
    try:
        code = _as_written(get_command(program))(list(arguments), prog_name=name, standalone_mode=False)
        sys.stdout.flush()
    except e.AssistLearnError as error:
        return _complain(error, str(error), exit_code(error), as_json)
    except (BrokenPipeError, SystemExit) as error:  # the reader of our output has closed it; then typer exits
        if isinstance(error, SystemExit) and not isinstance(error.__context__, BrokenPipeError):
            raise
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    except (KeyboardInterrupt, typer.Abort):
        code = INTERRUPTED
    except OSError as error:
        return _complain(error, f"The operating system reports an error: {error}", WRONG, as_json)
    except Exception as error:
        if hasattr(error, "format_message"):  # an error of typer: releases of typer differ, but all have this method
            return _complain(_with_usage(error), error.format_message(), WRONG, as_json)
        traceback.print_exc()
        return _complain(error, f"This is a fault of assistlearn: {type(error).__name__}: {error}", FAULT, as_json)
    if code == INTERRUPTED:
        return _complain(KeyboardInterrupt(), "Interrupted.", INTERRUPTED, as_json)
    return code if isinstance(code, int) else 0


def _as_written(command: Any) -> Any:
    """Return a command whose help shows every sign of its texts, in paragraphs that flow; its own commands likewise.

    Typer takes ``[allow]`` for markup that it does not know, and leaves it out. It keeps the line ends of the source in
    all paragraphs but the first.
    """
    for described in (command, *command.params):
        if described.help:
            described.help = escape("\n\n".join(" ".join(each.split()) for each in described.help.split("\n\n")))
    for inner in getattr(command, "commands", {}).values():
        _as_written(inner)
    return command


def exit_code(error: e.AssistLearnError) -> int:
    codes: dict[int, tuple[type[e.AssistLearnError], ...]] = {
        INTERRUPTED: (e.InterruptedRunError,),
        CHANGED: (e.LedgerError,),
        AWAITED: (e.ConsentAwaitedError,),
        ABSENT: (e.RefusedError, e.UnreachableError, e.NetworkError),
    }
    return next((code for code, kinds in codes.items() if isinstance(error, kinds)), WRONG)


def _complain(error: BaseException, message: str, code: int, as_json: bool) -> int:
    every = [(error, message), *((other, str(other)) for other in getattr(error, "others", ()))]
    said = [
        {"error": type(each).__name__, "message": words, "notes": [*getattr(each, "__notes__", ()), *_remedies(each)]}
        for each, words in every
    ]
    if as_json:
        say_json(said[0] | ({"others": said[1:]} if said[1:] else {}) | {"exit_code": code})
    out = complaints()
    for each in said:
        out.print(f"[bold red]Error:[/] {plain(each['message'])}")
        for note in each["notes"]:
            out.print(plain(note))
    return code


def _remedies(error: BaseException) -> Iterator[str]:
    if isinstance(error, e.LedgerError):
        yield LEDGER_REMEDY
    elif isinstance(error, OSError) and not isinstance(error, e.AssistLearnError) and error.errno in OF_A_DISK:
        yield (
            "Make room on the disk, or correct the permissions of the folder. Files that were written before are "
            "complete."
        )


def _with_usage(error: Any) -> Exception:
    """Add a note to an error about the command line, which names the help of the command; return the error."""
    context = getattr(error, "ctx", None)
    path = context.command_path if context else "assistlearn"
    error.add_note(f"How it is used: {path} --help")
    return error  # type: ignore[no-any-return]


def _one_line(message: Warning | str, category: type[Warning], *_: Any, **__: Any) -> str:
    return f"{category.__name__}: {message}\n"
