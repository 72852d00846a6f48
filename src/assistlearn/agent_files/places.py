"""Where a key stands in an agent's file, so that an error can name the line."""

from __future__ import annotations

import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeAlias

KeyPath: TypeAlias = tuple[str, ...]

MOST_LOOKED_AT = 2_000_000
"""How many characters are looked at to find lines: a list over many lines is looked at again with each of them."""


@dataclass(frozen=True)
class Places:
    r"""The lines of the keys of one file.

    Parameters
    ----------
    file : path
        As the user gave it.
    lines : mapping from key path to int
        Lines count from 1.

    Examples
    --------
    >>> places = Places.of(Path("lab.toml"), 'name = "lab"\n\n[learner]\nkind = "a.B"\n')
    >>> places("learner", "kind")
    'lab.toml, line 4'
    >>> places("table")
    'lab.toml'
    """

    file: Path
    lines: Mapping[KeyPath, int] = field(default_factory=dict, repr=False)

    @classmethod
    def of(cls, file: Path, text: str) -> Places:
        """Return the places of the keys in a valid TOML text."""
        return cls(file, key_lines(text))

    def __call__(self, *keys: str) -> str:
        """Return the file and the line of a key, or of the nearest key around it that has a line."""
        while keys:
            if keys in self.lines:
                return f"{self.file}, line {self.lines[keys]}"
            keys = keys[:-1]
        return str(self.file)


def key_lines(text: str) -> dict[KeyPath, int]:
    r"""Return the line on which each key of a valid TOML text first stands.

    >>> key_lines('[allow]\ninitiators = [\n  "clinic",\n]\nmax_runs = 3')
    {('allow',): 1, ('allow', 'initiators'): 2, ('allow', 'max_runs'): 5}
    """
    found: dict[KeyPath, int] = {}
    table: KeyPath = ()
    for line, is_header, values in _statements(text):
        paths = list(_paths(values))
        if is_header:
            table = ()
        for path in paths:
            found.setdefault((*table, *path), line)
        if is_header:
            table = paths[-1]
    return found


def _statements(text: str) -> Iterator[tuple[int, bool, dict[str, Any]]]:
    """Yield every header and assignment with its first line.

    A statement ends where the lines since its start are valid TOML by themselves. A text or list over several lines is
    valid only when it is closed.
    """
    pending: list[str] = []
    long, looked_at = 0, 0
    for number, line in enumerate(text.split("\n"), start=1):
        pending.append(line)
        long += len(line) + 1
        looked_at += long
        if looked_at > MOST_LOOKED_AT:  # the keys after this one have no line in messages
            return
        try:
            values = tomllib.loads("\n".join(pending))
        except tomllib.TOMLDecodeError:
            continue
        long = 0
        if values:
            yield number - len(pending) + 1, pending[0].lstrip().startswith("["), values
        pending = []


def _paths(values: Mapping[str, Any], above: KeyPath = ()) -> Iterator[KeyPath]:
    for key, value in values.items():
        yield (*above, key)
        if isinstance(value, list) and len(value) == 1 and isinstance(value[0], dict):
            value = value[0]  # the header of an array of tables
        if isinstance(value, dict):
            yield from _paths(value, (*above, key))
