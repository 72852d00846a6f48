"""Read a TOML file into a type of our own, with errors that name the file, the line, the value and the remedy.

The type is a frozen ``msgspec.Struct`` that forbids unknown fields: its fields are the file's keys, with their types,
limits and defaults. ``Meta(description=...)`` of a field says in words what its value must be, ``Meta(examples=[...])``
what a line with it looks like. A check of several keys together belongs in ``__post_init__`` and raises
:class:`~assistlearn.errors.WrongKeyError`.
"""

from __future__ import annotations

import json
import re
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from copy import deepcopy
from dataclasses import dataclass, field
from functools import partial, reduce
from pathlib import Path
from typing import Annotated, Any, Literal, NamedTuple, TypeAlias, TypeVar

import msgspec
from msgspec import Meta, inspect

from assistlearn.errors import DescriptionError, Problems, WrongKeyError, did_you_mean, listed

T = TypeVar("T", bound=msgspec.Struct)

KeyPath: TypeAlias = tuple[str, ...]

Text = Annotated[str, Meta(pattern=r"\S", description="a text in quotes, not an empty one")]
Count = Annotated[int, Meta(ge=1)]

LARGEST = 1_000_000
"""In bytes."""

DEEPEST = 20

MOST_LOOKED_AT = 2_000_000
"""How many characters are looked at to find lines: a list over many lines is looked at again with each of them."""

TRIES = 2
"""How often a key is changed to find further errors: its wrong value is taken out, and an example is put in."""

BACKSLASH = "write paths with /, as in table = \"tables/lab.csv\", or in single quotes: table = 'tables\\lab.csv'."


def read_toml_file(file: Path, kind: type[T], what: str) -> tuple[T, Places]:
    """Return a TOML file's values, checked, and where each key stands; errors call the file ``what``."""
    text, values = read_toml(file, what)
    places = Places(file, key_lines(text))
    return from_toml(values, kind, places), places


def from_toml(values: Mapping[str, Any], kind: type[T], places: Places) -> T:
    """Return the values of a TOML file as an object of this type.

    >>> class Lab(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    ...     name: Text
    ...     beds: Count = 1
    >>> from_toml({"name": "lab"}, Lab, Places(Path("lab.toml")))
    Lab(name='lab', beds=1)
    >>> from_toml({"nmae": "lab"}, Lab, Places(Path("lab.toml"), key_lines('nmae = "lab"')))
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
        if wrong.at not in [each.at for each in found] and (
            wrong.what != "together" or all(one.what == "unknown" for one in found)
        ):
            for each in wrong.errors:
                problems.add(each)
        found.append(wrong)
        if not _mended(left, wrong, found):
            break
    problems.settle()
    return made


def _mended(values: dict[str, Any], wrong: WrongValue, found: Sequence[WrongValue]) -> bool:
    """Take a wrong value out, or put an example in where a key is missing; return whether that could be done."""
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


def read_toml(file: Path, what: str) -> tuple[str, dict[str, Any]]:
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
    """Refuse tables and lists deeper than any key needs: what reads them goes into each by a call."""
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
    """Return a path relative to the folder; msgspec itself converts every other type that a key can have."""
    if not isinstance(value, str) or not value.strip():
        raise ValueError(f"{value!r} is not a path. Write one as a text in quotes.")
    return folder / Path(value).expanduser()


@dataclass(frozen=True)
class Places:
    """The lines of the keys of one file, counted from 1."""

    file: Path
    lines: Mapping[KeyPath, int] = field(default_factory=dict, repr=False)

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


_ERROR = re.compile(r"(?P<what>.*?)(?: - at `\$\.?(?P<path>.*)`)?", re.DOTALL)
_UNKNOWN = re.compile(r"Object contains unknown field `(.*)`", re.DOTALL)
_MISSING = re.compile(r"Object missing required field `(.*)`", re.DOTALL)


class WrongValue(NamedTuple):
    """``example`` is what a missing key may be."""

    at: KeyPath
    what: Literal["unknown", "missing", "value", "together"]  # together: it does not fit another key
    errors: tuple[DescriptionError, ...]
    example: Any = None


def explained(
    error: msgspec.ValidationError, values: Mapping[str, Any], kind: type[msgspec.Struct], places: Places
) -> WrongValue:
    parts = _ERROR.fullmatch(str(error))
    assert parts is not None
    what, path = parts["what"], parts["path"]
    at = tuple(path.partition("[")[0].split(".")) if path else ()  # an error shows a list as a whole
    wrong = reduce(lambda around, key: _fields(around)[key], at, inspect.type_info(kind))
    if isinstance(error.__cause__, WrongKeyError):
        every = [each for each in (error.__cause__, *error.__cause__.others) if isinstance(each, WrongKeyError)]
        errors = tuple(DescriptionError(f"{places(*at, each.key)}: {each}") for each in every)
        return WrongValue((*at, error.__cause__.key), "together", errors)
    what_is_wrong: Literal["unknown", "missing", "value"] = "value"
    example = None
    if error.__cause__ is not None:
        message = f"{'.'.join(at)}: {error.__cause__}" if at else str(error.__cause__)
    elif unknown := _UNKNOWN.fullmatch(what):
        message = _about_unknown(unknown[1], list(_fields(wrong)), at)
        what_is_wrong, at = "unknown", (*at, unknown[1])
    elif missing := _MISSING.fullmatch(what):
        what_is_wrong, at, example = "missing", (*at, missing[1]), _example(_fields(wrong)[missing[1]])
        line = "Add it." if example is None else f"Add a line such as: {missing[1]} = {json.dumps(example)}"
        message = f"the key {'.'.join(at)!r} is missing. {line}"
    else:
        message = _about_value(reduce(lambda around, key: around[key], at, values), wrong, at)
    return WrongValue(at, what_is_wrong, (DescriptionError(f"{places(*at)}: {message}"),), example)


def _about_unknown(key: str, known: list[str], at: KeyPath) -> str:
    inside = f" in [{'.'.join(at)}]" if at else ""
    return f"there is no key {key!r}{inside}.{did_you_mean(key, known)} The keys here are {listed(known)}."


def _example(kind: inspect.Type) -> Any:
    examples = (kind.extra_json_schema or {}).get("examples") if isinstance(kind, inspect.Metadata) else None
    return examples[0] if examples else None


def _about_value(value: Any, kind: inspect.Type, at: KeyPath) -> str:
    shown = f"{'.'.join(at)} = {value!r}"
    choices = next((each.values for each in _alternatives(kind) if isinstance(each, inspect.LiteralType)), None)
    if choices is not None:
        meant = did_you_mean(value, map(str, choices)) if isinstance(value, str) else ""
        return f"{shown} is not known.{meant} Choose one of {listed(choices)}."
    return f"{shown} must be {_wanted(kind, at)}."


def _wanted(kind: inspect.Type, at: KeyPath) -> str:
    match kind:
        case inspect.Metadata(type=inner, extra_json_schema=extra):
            return (extra or {}).get("description") or _wanted(inner, at)
        case inspect.UnionType():
            return ", or ".join(_wanted(each, at) for each in _alternatives(kind))
        case inspect.IntType():
            return f"a whole number{_limits(kind, ' of at least {} and at most {}')}"
        case inspect.FloatType():
            return f"a number{_limits(kind, ' between {} and {}')}"
        case inspect.BoolType():
            return "true or false, without quotes"
        case inspect.StrType():
            return "a text in quotes"
        case inspect.VarTupleType():
            return 'a list of texts such as ["a", "b"]'
        case _:
            return f"a table, [{'.'.join(at)}]"


def _limits(kind: inspect.IntType | inspect.FloatType, both: str) -> str:
    least, most = kind.ge if kind.gt is None else kind.gt, kind.le if kind.lt is None else kind.lt
    if least is not None and most is not None:
        return both.format(_number(least), _number(most))
    if most is not None:
        return f" of at most {_number(most)}"
    return "" if least is None else f" {'of at least' if kind.gt is None else 'above'} {_number(least)}"


def _number(limit: float) -> str:
    return f"{limit:g}" if isinstance(limit, float) else str(limit)


def _alternatives(kind: inspect.Type) -> list[inspect.Type]:
    """Return the types that a value may have, without None, which means that the key is absent."""
    if isinstance(kind, inspect.Metadata):
        return _alternatives(kind.type)
    types = kind.types if isinstance(kind, inspect.UnionType) else (kind,)
    return [each for each in types if not isinstance(each, inspect.NoneType)]


def _fields(kind: inspect.Type) -> dict[str, inspect.Type]:
    tables = [each for each in _alternatives(kind) if isinstance(each, inspect.StructType)]
    return {field.encode_name: field.type for table in tables for field in table.fields}
