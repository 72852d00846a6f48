"""Puts a measurement into a page of the documentation, between two marks, with when and how it was made."""

from __future__ import annotations

from pathlib import Path

from bench.provenance import made_by

ROOT = Path(__file__).resolve().parents[1]
END = "<!-- end -->"


def begin(writer: str) -> str:
    """Return the mark before what a program writes.

    >>> begin("bench/tables.py")
    '<!-- written by bench/tables.py: begin -->'
    """
    return f"<!-- written by {writer}: begin -->"


def put(page: Path, writer: str, text: str, command: str) -> None:
    """Write the text between the marks of its writer; the rest of the page stays as it is.

    Raises
    ------
    ValueError
        The page has no such mark.
    """
    mark = begin(writer)
    before, found, rest = page.read_text(encoding="utf-8").partition(mark)
    after = rest.partition(END)[2]
    if not found or END not in rest:
        raise ValueError(f"{page} has no marks of {writer}")
    page.write_text(f"{before}{mark}\n{made_by(command)}\n\n{text}\n{END}{after}", encoding="utf-8")
