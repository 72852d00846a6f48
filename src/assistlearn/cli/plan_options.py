"""The options of a command that takes a plan, made from the plan's settings."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable
from enum import StrEnum
from typing import Annotated, Any, cast

import typer

from assistlearn.errors import SettingsError
from assistlearn.plan import DEFAULTS_OF_RUNS, SETTINGS, Plan
from assistlearn.setting import Setting


def takes_plan(command: Callable[..., None]) -> Callable[..., None]:
    """Give a command an option for every setting of a run, and hand it the plan that these make, as ``plan``.

    Parameters
    ----------
    command : callable
        It has a parameter ``plan``, in whose place the options stand.
    """
    own = inspect.signature(command, eval_str=True)
    options = {name: _option(name, known) for name, known in SETTINGS.items() if known.runs}
    parameters: list[inspect.Parameter] = []
    for parameter in own.parameters.values():
        parameters += options.values() if parameter.name == "plan" else [parameter]

    def with_plan(**given: Any) -> None:
        values = {name: given.pop(name) for name in options}
        command(plan=_plan({name: str(v) if isinstance(v, StrEnum) else v for name, v in values.items()}), **given)

    keyword = [parameter.replace(kind=inspect.Parameter.KEYWORD_ONLY) for parameter in parameters]
    shown: Any = with_plan
    shown.__signature__ = own.replace(parameters=keyword)
    shown.__annotations__ = {parameter.name: parameter.annotation for parameter in keyword}
    shown.__name__, shown.__doc__ = command.__name__, command.__doc__
    return with_plan


def flag_of(name: str) -> str:
    """Return the option that stands for a setting.

    >>> flag_of("n_rounds"), flag_of("weak_agent")
    ('--rounds', '--weak-agent')
    """
    return "--" + (SETTINGS[name].option or name).replace("_", "-")


def _plan(values: dict[str, Any]) -> Plan:
    """Return the plan, once every value is checked; errors name the option."""
    for name, value in values.items():
        complaint = SETTINGS[name].complaint_of_runs(value)
        if complaint is not None:
            raise SettingsError(f"{flag_of(name)} {value} {complaint}")
    return Plan(**values)


def _option(name: str, known: Setting) -> inspect.Parameter:
    """Return the command's parameter for a setting."""
    default, kind = DEFAULTS_OF_RUNS.get(name, getattr(Plan, name)), _kind(name, known)
    option = typer.Option(
        flag_of(name),
        metavar=known.metavar,
        help=_help(known),
        rich_help_panel=known.panel,
        show_default=known.goes_with_method or ("none" if default == "" else True),
        parser=_number_or(known) if known.off else None,
    )
    default = default if known.choices is None or default is None else kind(default)
    annotation = cast(Any, Annotated)[kind | None if default is None else kind, option]
    return inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=default, annotation=annotation)


def _help(known: Setting) -> str:
    """Return the explanation, with the choices where it does not name them, and how to do without."""
    choices = [] if known.choices is None else list(known.choices())
    named = all(f"({choice})" in known.explanation for choice in choices)
    words = known.explanation if named else f"{known.explanation} One of: {', '.join(choices)}."
    return f'{words} "{known.off}" does without.' if known.off else words


def _number_or(known: Setting) -> Callable[[Any], float | None]:
    """Return how a number is read that a word stands in for."""

    def number(text: Any) -> float | None:
        try:
            return cast(float | None, known.in_runs(text if known.in_runs(text) is None else float(text)))
        except ValueError:
            raise typer.BadParameter(f"{text!r} is neither a number nor {known.off!r}.") from None

    return number


def _kind(name: str, known: Setting) -> Any:
    """Return the type of a setting's value, as typer takes it."""
    if known.choices is not None:
        return StrEnum(name, {re.sub(r"\W", "_", choice).upper(): choice for choice in known.choices()})
    default = DEFAULTS_OF_RUNS.get(name, getattr(Plan, name))
    return int if default is None else type(default)  # what goes with the method, and has no choices, is a number
