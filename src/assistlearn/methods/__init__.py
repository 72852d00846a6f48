"""The methods by name: the only place that knows their names.

To add your own method, write a class that inherits from :class:`~assistlearn.methods.method.Method`, and call
``register("name", lambda: YourMethod)`` at every agent of a run.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import fields
from importlib import import_module
from typing import TYPE_CHECKING, Any

from assistlearn.errors import SettingsError

if TYPE_CHECKING:
    from assistlearn.methods.method import Method

__all__ = ["method_class", "method_named", "names", "register"]

_METHODS: dict[str, Callable[[], type[Method]]] = {}


def register(name: str, made: Callable[[], type[Method]]) -> None:
    """Make a method known by a name; ``made`` returns its class, and is called when the method is needed."""
    _METHODS[name] = made


def _of_module(module: str, kind: str) -> Callable[[], type[Method]]:
    def made() -> type[Method]:
        found: type[Method] = getattr(import_module(f"assistlearn.methods.{module}"), kind)
        return found

    return made


register("ascii", _of_module("hard", "Ascii"))
register("simple", _of_module("hard", "Simple"))
register("soft", _of_module("soft", "Soft"))
register("label-private", _of_module("label_private", "LabelPrivate"))
register("ensemble", _of_module("hard", "Ensemble"))


def names() -> list[str]:
    return list(_METHODS)


def method_class(name: str) -> type[Method]:
    if name not in _METHODS:
        raise SettingsError(f"method={name!r} is not known. Choose one of {names()}.")
    return _METHODS[name]()


def method_named(name: str, settings: Mapping[str, Any]) -> Method:
    """Return a method, made with those ``settings`` that it needs; others are ignored."""
    kind = method_class(name)
    return kind(**{field.name: settings[field.name] for field in fields(kind) if field.name in settings})
