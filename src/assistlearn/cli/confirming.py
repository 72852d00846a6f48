"""What a command asks its user: a passphrase, whether a fingerprint is the right one, whether to go on."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Annotated

import typer

from assistlearn.cli.output import complaints, plain
from assistlearn.errors import SettingsError

VARIABLE = "ASSISTLEARN_PASSPHRASE"
"""The environment variable that a passphrase may come from."""

PassphraseFile = Annotated[
    Path | None,
    typer.Option(
        "--passphrase-file",
        metavar="FILE",
        help=f"A file with the passphrase. Without it, {VARIABLE} is read, or you are asked.",
    ),
]
Fingerprint = Annotated[
    str | None, typer.Option("--fingerprint", metavar="TEXT", help="The expected fingerprint; then nothing is asked.")
]
Yes = Annotated[bool, typer.Option("--yes", "-y", metavar="", help="Accept any fingerprint. For tests only.")]


def passphrase(file: Path | None, new: bool = False) -> str:
    """Return the passphrase of an authority's key: from a file, from the environment, or typed."""
    if file is not None:
        try:
            return file.read_text(encoding="utf-8").strip("\r\n")
        except (OSError, UnicodeDecodeError) as error:
            raise SettingsError(
                f"The passphrase cannot be read from {file}: {error}. Check --passphrase-file."
            ) from None
    if VARIABLE in os.environ:
        return os.environ[VARIABLE]
    if not sys.stdin.isatty():
        raise SettingsError(
            f"The authority's passphrase cannot be asked for here. Use --passphrase-file or {VARIABLE}."
        )
    words = "Passphrase of the authority's key, at least 12 characters" if new else "Passphrase of the authority's key"
    return str(typer.prompt(words, hide_input=True, confirmation_prompt=new, err=True))


def agreed(question: str, yes: bool) -> None:
    """Raise ``SettingsError`` unless the user agrees, by the option ``--yes`` or by answering the question."""
    if yes:
        return
    if not sys.stdin.isatty():
        raise SettingsError("Nothing was done: no question can be asked here. Add --yes to go on without one.")
    if not typer.confirm(question, err=True):
        raise SettingsError("Nothing was done: it was not confirmed.")


def confirm(what: str, shown: str, wanted: str | None, yes: bool) -> None:
    """Raise ``SettingsError`` unless a fingerprint is the expected one, or the user confirms it."""
    from assistlearn.reach.flare.provisioning.fingerprint import same

    if wanted is not None:
        if not same(wanted, shown):
            raise SettingsError(f"{what} Its fingerprint is {shown}, not {wanted}. Somebody may have changed it.")
        return
    if yes:
        return
    if not sys.stdin.isatty():
        raise SettingsError(f"{what} The fingerprint, {shown}, cannot be confirmed here. Give it with --fingerprint.")
    complaints().print(f"{plain(what)}\nFingerprint: [bold]{shown}[/]")
    if not typer.confirm("Is it the same as its owner reads to you, by telephone or face to face?", err=True):
        raise SettingsError("Nothing was done: the fingerprint was not confirmed.")
