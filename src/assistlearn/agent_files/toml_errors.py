"""What is wrong with a TOML file, in words: from msgspec's error to one with file, line, value and remedy."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from functools import reduce
from typing import Any

import msgspec
from msgspec import inspect

from assistlearn.agent_files.places import KeyPath, Places
from assistlearn.agent_files.suggestion import did_you_mean, listed
from assistlearn.errors import DescriptionError, WrongKeyError

_SAID = re.compile(r"(?P<what>.*?)(?: - at `\$\.?(?P<path>.*)`)?", re.DOTALL)
_UNKNOWN = re.compile(r"Object contains unknown field `(.*)`", re.DOTALL)
_MISSING = re.compile(r"Object missing required field `(.*)`", re.DOTALL)


def explained(
    error: msgspec.ValidationError, values: Mapping[str, Any], kind: type[msgspec.Struct], places: Places
) -> DescriptionError:
    """Return the error for the owner of a file whose values are not of this type."""
    said = _SAID.fullmatch(str(error))
    assert said is not None
    what, path = said["what"], said["path"]
    at = tuple(path.partition("[")[0].split(".")) if path else ()  # an error shows a list as a whole
    wrong = reduce(lambda around, key: _fields(around)[key], at, inspect.type_info(kind))
    if isinstance(error.__cause__, WrongKeyError):
        at, message = (*at, error.__cause__.key), str(error.__cause__)
    elif error.__cause__ is not None:
        message = f"{'.'.join(at)}: {error.__cause__}" if at else str(error.__cause__)
    elif unknown := _UNKNOWN.fullmatch(what):
        message = _about_unknown(unknown[1], list(_fields(wrong)), at)
        at = (*at, unknown[1])
    elif missing := _MISSING.fullmatch(what):
        at = (*at, missing[1])
        message = f"the key {'.'.join(at)!r} is missing. {_example(missing[1], _fields(wrong)[missing[1]])}"
    else:
        message = _about_value(reduce(lambda around, key: around[key], at, values), wrong, at)
    return DescriptionError(f"{places(*at)}: {message}")


def _about_unknown(key: str, known: list[str], at: KeyPath) -> str:
    inside = f" in [{'.'.join(at)}]" if at else ""
    return f"there is no key {key!r}{inside}.{did_you_mean(key, known)} The keys here are {listed(known)}."


def _example(key: str, kind: inspect.Type) -> str:
    examples = (kind.extra_json_schema or {}).get("examples") if isinstance(kind, inspect.Metadata) else None
    return f"Add a line such as: {key} = {json.dumps(examples[0])}" if examples else "Add it."


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
