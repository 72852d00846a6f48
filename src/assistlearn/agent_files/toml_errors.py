"""What is wrong with a TOML file, in words: from msgspec's error to one with file, line, value and remedy."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from functools import reduce
from typing import Any, Literal, NamedTuple

import msgspec
from msgspec import inspect

from assistlearn.agent_files.places import KeyPath, Places
from assistlearn.agent_files.suggestion import did_you_mean, listed
from assistlearn.errors import DescriptionError, WrongKeyError

_SAID = re.compile(r"(?P<what>.*?)(?: - at `\$\.?(?P<path>.*)`)?", re.DOTALL)
_UNKNOWN = re.compile(r"Object contains unknown field `(.*)`", re.DOTALL)
_MISSING = re.compile(r"Object missing required field `(.*)`", re.DOTALL)


class WrongValue(NamedTuple):
    """What is wrong with one key of a file.

    Attributes
    ----------
    at : tuple of str
        The key, after the tables around it.
    what : {"unknown", "missing", "value", "together"}
        The key is unknown, is missing, has a wrong value, or does not fit another key.
    errors : tuple of DescriptionError
        For the owner of the file; of keys that do not fit together, there may be several.
    example : object
        A value that a missing key may have, if one is known.
    """

    at: KeyPath
    what: Literal["unknown", "missing", "value", "together"]
    errors: tuple[DescriptionError, ...]
    example: Any = None


def explained(
    error: msgspec.ValidationError, values: Mapping[str, Any], kind: type[msgspec.Struct], places: Places
) -> WrongValue:
    """Return what is wrong in a file whose values are not of this type, in words for its owner."""
    said = _SAID.fullmatch(str(error))
    assert said is not None
    what, path = said["what"], said["path"]
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
    """Return a value that a key may have; None if its type names none."""
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
    """Return in words what a value of this type must be."""
    match kind:
        case inspect.Metadata(type=inner, extra_json_schema=said):
            return (said or {}).get("description") or _wanted(inner, at)
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
    """Return the types that a value may have. None is not one of them: it means that the key is absent."""
    if isinstance(kind, inspect.Metadata):
        return _alternatives(kind.type)
    types = kind.types if isinstance(kind, inspect.UnionType) else (kind,)
    return [each for each in types if not isinstance(each, inspect.NoneType)]


def _fields(kind: inspect.Type) -> dict[str, inspect.Type]:
    """Return the keys of a table and their types."""
    tables = [each for each in _alternatives(kind) if isinstance(each, inspect.StructType)]
    return {field.encode_name: field.type for table in tables for field in table.fields}
