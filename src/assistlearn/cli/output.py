"""What a command says: for people by rich, for scripts as one JSON object."""

from __future__ import annotations

import json
import sys
from typing import Annotated, Any

import typer
from rich.console import Console

Json = Annotated[bool, typer.Option("--json", help="Print one JSON object, for scripts.")]


def say_json(facts: Any) -> None:
    """Print facts as JSON on one line."""
    sys.stdout.write(json.dumps(facts, ensure_ascii=False, default=str) + "\n")


def console() -> Console:
    """Return where people read."""
    return Console(highlight=False)


def size(n_bytes: float) -> str:
    """Return a number of bytes in people's words.

    >>> size(999), size(12_345_678)
    ('999 bytes', '12.3 MB')
    """
    for unit, factor in (("GB", 1e9), ("MB", 1e6), ("kB", 1e3)):
        if n_bytes >= factor:
            return f"{n_bytes / factor:.1f} {unit}"
    return f"{n_bytes:.0f} bytes"
