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

CHANGES = "With --from: settings that you want to change"
"""The heading under which help shows the options of a command that changes settings."""


def takes_plan(command: Callable[..., None]) -> Callable[..., None]:
    """Give a command an option for every setting of a run, and pass it a plan with these settings, as ``plan``.

    Parameters
    ----------
    command : callable
        The options replace its parameter ``plan``.
    """
    options = {name: _option(name, known) for name, known in SETTINGS.items() if known.runs}

    def with_plan(**given: Any) -> None:
        values = {name: given.pop(name) for name in options}
        command(plan=Plan(**_checked(values)), **given)

    return _with_options(command, with_plan, "plan", options)


def takes_changes(command: Callable[..., None]) -> Callable[..., None]:
    """Give a command an option for every setting of a run, and pass it the settings that were given, as ``changes``.

    Parameters
    ----------
    command : callable
        The options replace its parameter ``changes``. It must also have a parameter ``context``.
    """
    options = {name: _option(name, known, changes=True) for name, known in SETTINGS.items() if known.runs}

    def with_changes(**given: Any) -> None:
        values, context = {name: given.pop(name) for name in options}, given["context"]
        said = {name: value for name, value in values.items() if _is_given(context, name)}
        command(changes=_checked(said), **given)

    return _with_options(command, with_changes, "changes", options)


def _is_given(context: typer.Context, name: str) -> bool:
    source = context.get_parameter_source(name)
    return source is not None and source.name == "COMMANDLINE"


def _with_options(
    command: Callable[..., None], shown: Any, place: str, options: dict[str, inspect.Parameter]
) -> Callable[..., None]:
    """Return ``shown`` with the command's name, help and parameters. The options replace the parameter ``place``."""
    own = inspect.signature(command, eval_str=True)
    parameters: list[inspect.Parameter] = []
    for parameter in own.parameters.values():
        parameters += options.values() if parameter.name == place else [parameter]
    keyword = [parameter.replace(kind=inspect.Parameter.KEYWORD_ONLY) for parameter in parameters]
    shown.__signature__ = own.replace(parameters=keyword)
    shown.__annotations__ = {parameter.name: parameter.annotation for parameter in keyword}
    shown.__name__, shown.__doc__ = command.__name__, command.__doc__
    made: Callable[..., None] = shown
    return made


def flag_of(name: str) -> str:
    """Return the name of the option for a setting.

    >>> flag_of("n_rounds"), flag_of("weak_agent")
    ('--rounds', '--weak-agent')
    """
    return "--" + (SETTINGS[name].option or name).replace("_", "-")


def _checked(values: dict[str, Any]) -> dict[str, Any]:
    """Return the values, once each is checked; errors name the option."""
    plain = {name: str(value) if isinstance(value, StrEnum) else value for name, value in values.items()}
    for name, value in plain.items():
        complaint = SETTINGS[name].complaint_of_runs(value)
        if complaint is not None:
            raise SettingsError(f"{flag_of(name)} {value} {complaint}")
    return plain


def _option(name: str, known: Setting, changes: bool = False) -> inspect.Parameter:
    """Return the command's parameter for a setting. With ``changes``, help says that the default is as before."""
    default, kind = DEFAULTS_OF_RUNS.get(name, getattr(Plan, name)), _kind(name, known)
    option = typer.Option(
        flag_of(name),
        metavar=known.metavar,
        help=_help(known),
        rich_help_panel=CHANGES if changes else known.panel,
        show_default="as before" if changes else known.goes_with_method or ("none" if default == "" else True),
        parser=_number_or(known) if known.off else None,
    )
    default = default if known.choices is None or default is None else kind(default)
    annotation = cast(Any, Annotated)[kind | None if default is None else kind, option]
    return inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=default, annotation=annotation)


def _help(known: Setting) -> str:
    """Return the explanation of a setting, with the choices if it does not name them, and how to switch it off."""
    choices = [] if known.choices is None else list(known.choices())
    named = all(f"{choice}: " in known.explanation for choice in choices)
    words = known.explanation if named else f"{known.explanation} One of: {', '.join(choices)}."
    return f'{words} "{known.off}" switches this off.' if known.off else words


def _number_or(known: Setting) -> Callable[[Any], float | None]:
    """Return a parser for a number, or for the word that switches the setting off."""

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
    return int if default is None else type(default)  # None: the method decides, and without choices it is a number
