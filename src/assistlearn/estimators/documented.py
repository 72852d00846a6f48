"""Write the settings of a plan into the docstring of an estimator that has them as parameters."""

from __future__ import annotations

import dataclasses
import textwrap
from typing import Any, TypeVar

from assistlearn.methods import method_class, names
from assistlearn.orders import ORDERS
from assistlearn.plan import SETTINGS, Plan

Class = TypeVar("Class", bound=type[Any])

WIDTH = 112


def documents_plan(estimator: Class) -> Class:
    """Replace ``{plan}`` in the estimator's docstring by an entry for every setting that it has."""
    entries = [_entry(name) for name, known in SETTINGS.items() if known.estimator]
    estimator.__doc__ = (estimator.__doc__ or "").replace("    {plan}\n", textwrap.indent("".join(entries), "    "))
    return estimator


def _entry(name: str) -> str:
    """Return the numpydoc entry of a setting.

    >>> print(_entry("patience"))
    patience : int, default=3
        With hold-out samples: stop after this many rounds without improvement.
    <BLANKLINE>
    >>> " ".join(_entry("combine").split()).partition(" None ")[2]
    "means the method's own default: auto with soft, else sum."
    """
    known = SETTINGS[name]
    [field] = [field for field in dataclasses.fields(Plan) if field.name == name]
    words = f"{known.explanation} {known.more} {_goes_with(known.goes_with_method)}".strip()
    lines = textwrap.wrap(words, WIDTH, break_on_hyphens=False)
    if name == "method":
        lines += ["", *_methods()]
    return f"{name} : {_type(name, field.type)}, default={_shown(field.default)}\n" + textwrap.indent(
        "\n".join(lines) + "\n", "    "
    )


def _goes_with(words: str) -> str:
    """Return a sentence on what None means, if that depends on the method."""
    return f"None means the method's own default: {words}." if words else ""


def _type(name: str, annotation: Any) -> str:
    known = SETTINGS[name]
    if name == "order":
        return f"{{{', '.join(map(_shown, ORDERS))}}} or callable"
    if name == "class_weight":
        return f"{{{', '.join(map(_shown, known.choices() if known.choices else ()))}}} or dict"
    if known.choices is not None:
        return f"{{{', '.join(map(_shown, known.choices()))}}}"
    return str(annotation).replace(" | None", "")


def _methods() -> list[str]:
    lines: list[str] = []
    for name in names():
        lines += textwrap.wrap(
            f"{_shown(name)}: {method_class(name).summary}.", WIDTH, initial_indent="- ", subsequent_indent="  "
        )
    return lines


def _shown(value: Any) -> str:
    return f'"{value}"' if isinstance(value, str) else repr(value)
