"""The methods by name: the only place that knows their names.

A method of your own is a class below :class:`~assistlearn.methods.method.Method` and a line,
``register("name", YourMethod)``, at every agent of a run.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields
from typing import Any

from assistlearn.errors import SettingsError
from assistlearn.methods.ensemble import Ensemble
from assistlearn.methods.hard import Ascii, Simple
from assistlearn.methods.method import Method
from assistlearn.methods.soft import Soft

__all__ = ["METHODS", "Method", "method_named", "register"]

METHODS: dict[str, type[Method]] = {}


def register(name: str, method: type[Method]) -> None:
    """Let a method be chosen by a name."""
    METHODS[name] = method


register("ascii", Ascii)
register("simple", Simple)
register("soft", Soft)
register("ensemble", Ensemble)


def method_named(name: str, settings: Mapping[str, Any]) -> Method:
    """Return a method, made with those of the settings that it has.

    Parameters
    ----------
    name : str
        A registered name.
    settings : mapping
        At least what the method needs; more does not matter.

    Examples
    --------
    >>> method_named("soft", {"loss": "logistic", "shrinkage": 0.5, "score_bits": 8, "n_rounds": 3})
    Soft(loss='logistic', shrinkage=0.5, score_bits=8)
    """
    if name not in METHODS:
        raise SettingsError(f"method={name!r} is not known. Choose one of {list(METHODS)}.")
    kind = METHODS[name]
    return kind(**{field.name: settings[field.name] for field in fields(kind)})
