"""Read a TOML file into a type of our own, with errors that name the file, the line, the value and the remedy.

The type is a frozen ``msgspec.Struct`` that forbids unknown fields: its fields are the file's keys, with their types,
limits and defaults. A list is a ``tuple[str, ...]``, a table another such type; ``msgspec.defstruct`` makes one at run
time. ``Meta(description=...)`` of a field says in words what its value must be, ``Meta(examples=[...])`` what a line
with it looks like. A check of several keys together belongs in ``__post_init__`` and raises
:class:`~assistlearn.errors.WrongKeyError`.
"""

from __future__ import annotations

import tomllib
from collections.abc import Mapping, Sequence
from copy import deepcopy
from functools import partial, reduce
from pathlib import Path
from typing import Annotated, Any, TypeVar

import msgspec
from msgspec import Meta

from assistlearn.agent_files.places import Places
from assistlearn.agent_files.toml_errors import WrongValue, explained
from assistlearn.errors import DescriptionError, Problems

T = TypeVar("T", bound=msgspec.Struct)

Text = Annotated[str, Meta(pattern=r"\S", description="a text in quotes, not an empty one")]
Count = Annotated[int, Meta(ge=1)]

LARGEST = 1_000_000
"""Bytes of a file at the most."""

DEEPEST = 20
"""How deep tables and lists may be."""

BACKSLASH = "write paths with /, as in table = \"tables/lab.csv\", or in single quotes: table = 'tables\\lab.csv'."


def read_toml_file(file: Path, kind: type[T], what: str) -> tuple[T, Places]:
    """Read and check a TOML file.

    Parameters
    ----------
    file : path
        Where it is. A value of type ``Path`` in it is relative to its folder.
    kind : Struct type
        The type to read it into.
    what : str
        What the file is, for error messages: ``"agent's file"``.

    Returns
    -------
    values : of type ``kind``
        What the file says.
    places : Places
        Where each key stands, for later error messages.

    Raises
    ------
    DescriptionError
        It names the file, the line, and what to do.
    """
    text, values = read_toml(file, what)
    places = Places.of(file, text)
    return from_toml(values, kind, places), places


def from_toml(values: Mapping[str, Any], kind: type[T], places: Places) -> T:
    """Return the values of a TOML file as an object of this type.

    >>> class Lab(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    ...     name: Text
    ...     beds: Count = 1
    >>> from_toml({"name": "lab"}, Lab, Places(Path("lab.toml")))
    Lab(name='lab', beds=1)
    >>> from_toml({"nmae": "lab"}, Lab, Places.of(Path("lab.toml"), 'nmae = "lab"'))
    Traceback (most recent call last):
        ...
    assistlearn.errors.DescriptionError: lab.toml, line 1: there is no key 'nmae'. Did you mean 'name'? The keys here
    are 'name', 'beds'.
    """
    problems, found, left = Problems(), list[WrongValue](), deepcopy(dict(values))
    while True:
        try:
            made = msgspec.convert(left, kind, dec_hook=partial(_path, places.file.parent))
            break
        except msgspec.ValidationError as error:
            wrong = explained(error, left, kind, places)
        # what several keys say together is only looked at where none of them was changed here
        if wrong.at not in [each.at for each in found] and (wrong.what != "together" or _only_unknown(found)):
            for each in wrong.errors:
                problems.add(each)
        found.append(wrong)
        if not _mended(left, wrong, found):
            break
    problems.settle()
    return made


def _only_unknown(found: Sequence[WrongValue]) -> bool:
    return all(each.what == "unknown" for each in found)


def _mended(values: dict[str, Any], wrong: WrongValue, found: Sequence[WrongValue]) -> bool:
    """Take a wrong value out, or put an example in where a key is missing, to find what else is wrong.

    Return whether that could be done.
    """
    if not wrong.at:
        return False
    *tables, key = wrong.at
    around: Any = reduce(lambda table, name: table[name], tables, values)
    if not isinstance(around, dict):  # a list of tables, whose errors do not say in which of them they are
        return False
    if wrong.what == "missing" and wrong.example is not None:
        around[key] = wrong.example
    elif wrong.what in ("unknown", "value") and key in around:
        del around[key]
    else:
        return False
    return [each.at for each in found].count(wrong.at) <= TRIES


TRIES = 2
"""How often a key is changed: its wrong value is taken out, and an example is put in if the key must be there."""


def read_toml(file: Path, what: str) -> tuple[str, dict[str, Any]]:
    """Return a TOML file's text and values."""
    try:
        with file.open("rb") as opened:
            content = opened.read(LARGEST + 1)
        if len(content) > LARGEST:
            raise DescriptionError(
                f"The {what} {file} has more than {LARGEST:,} bytes. It should be a short text: correct it."
            )
        text = content.decode("utf-8-sig").replace("\r\n", "\n").replace("\r", "\n")
        values = tomllib.loads(text)
        _check_depth(values, file)
        return text, values
    except DescriptionError:
        raise
    except FileNotFoundError:
        raise DescriptionError(f"There is no {what} {file}. Check the path, or write one.") from None
    except tomllib.TOMLDecodeError as error:
        escape = "\\" in str(error) or "hex value" in str(error)
        remedy = BACKSLASH if escape else 'texts need quotes, as in name = "lab".'
        raise DescriptionError(f"{file} is not valid TOML: {error}. Correct it; {remedy}") from None
    except (OSError, UnicodeDecodeError) as error:  # the second is a ValueError, too
        raise DescriptionError(f"The {what} {file} cannot be read: {error}. It must be UTF-8 text.") from None
    except ValueError:  # Python reads no whole number of more digits
        raise DescriptionError(f"{file} has a number with more digits than can be read. Correct it.") from None
    except RecursionError:
        raise _too_deep(file) from None


def _check_depth(values: dict[str, Any], file: Path) -> None:
    """Refuse tables and lists that are deeper than any key needs: what reads them goes into each by a call."""
    level: list[Any] = [values]
    for _ in range(DEEPEST + 1):
        level = [
            inner
            for around in level
            for inner in (around.values() if isinstance(around, dict) else around)
            if isinstance(inner, dict | list)
        ]
    if level:
        raise _too_deep(file)


def _too_deep(file: Path) -> DescriptionError:
    return DescriptionError(f"{file} has tables or lists that are more than {DEEPEST} deep. Correct it.")


def _path(folder: Path, kind: type, value: object) -> Path:
    """Return a path relative to the file's folder. msgspec itself converts every other type that a key can have."""
    if not isinstance(value, str) or not value.strip():
        raise ValueError(f"{value!r} is not a path. Write one as a text in quotes.")
    return folder / Path(value).expanduser()
