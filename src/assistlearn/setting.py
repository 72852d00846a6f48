"""A setting: its default, its explanation and its check, in one place.

Command-line options, keys of task files and the documentation of parameters are made from these.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from numbers import Integral, Real
from typing import Any, TypeAlias

LARGEST_EPSILON = 20.0
"""The largest epsilon of randomised labels and answers. Beyond it the numbers of a computer no longer hold what is
stated: from 37 on nothing would be changed at all."""

Complaint: TypeAlias = str | None
"""What is wrong with a value, as words that follow its name, such as "must be ..."; None if nothing is wrong."""


@dataclass(frozen=True)
class Setting:
    """What is known about a setting. Its name, type and default are those of a dataclass's field.

    Attributes
    ----------
    explanation : str
        What the setting does, in a sentence or two.
    check : callable
        Returns what is wrong with a value, or None.
    applies : callable, optional
        Returns whether the setting matters in a plan. In one process, a value that does not matter is not checked. In
        runs of separate agents, every value is checked.
    check_of_runs : callable, optional
        Returns what else is wrong with a value in runs of separate agents, or None.
    choices : callable, optional
        Returns the texts that are allowed, where these can be listed.
    goes_with_method : str
        The value that the method advises where the default is None, in words. Empty where the default is a value.
    default_of_runs : object, optional
        The default in runs of separate agents, where it is not that of the field.
    off : str
        The word that switches the setting off in runs of separate agents. Empty where it cannot be switched off.
    more : str
        What else users of the estimator should know.
    estimator, runs : bool
        Whether the estimator has the setting, and whether runs of separate agents have it.
    told : bool
        Whether helpers are told the value, in the message that begins a run.
    panel : str
        The heading under which the setting is shown.
    table : str
        The table of a task file that it belongs to; empty for the top of the file.
    option : str
        Its name on the command line, if not that of the field.
    key : str
        Its name in a task file, if not that of the option.
    metavar : str
        The word for its value in a help text.
    """

    explanation: str
    check: Callable[[Any], Complaint]
    applies: Callable[[Any], bool] = lambda plan: True
    check_of_runs: Callable[[Any], Complaint] | None = None
    choices: Callable[[], Sequence[str]] | None = None
    goes_with_method: str = ""
    default_of_runs: Any = None
    off: str = ""
    more: str = ""
    estimator: bool = True
    runs: bool = True
    told: bool = False
    panel: str = ""
    table: str = "training"
    option: str = ""
    key: str = ""
    metavar: str = "HOW"

    def in_runs(self, value: Any) -> Any:
        """Return the value of a setting in a run; None for zero, and for the word in ``off``, if there is one.

        >>> Setting("A share.", share_or_none, off="none").in_runs("none") is None
        True
        """
        word = value.lower() if isinstance(value, str) else value
        return None if self.off and word in (self.off, 0) else value

    def complaint_of_runs(self, value: Any) -> Complaint:
        """Return what is wrong with a value in runs of separate agents, or None."""
        if value is None and self.goes_with_method:
            return None
        complaint = self.check(value)
        if complaint is None and self.check_of_runs is not None:
            complaint = self.check_of_runs(value)
        return complaint


def setting(default: Any, explanation: str, check: Callable[[Any], Complaint], **more: Any) -> Any:
    """Return a dataclass's field that is a setting."""
    return dataclasses.field(default=default, metadata={"setting": Setting(explanation, check, **more)})


def choice(default: Any, explanation: str, choices: Callable[[], Iterable[str]], **more: Any) -> Any:
    """Return a dataclass's field that is a setting whose value is one of the given texts."""

    def listed() -> list[str]:
        return list(choices())

    return setting(default, explanation, one_of(listed), choices=listed, **more)


def settings_of(kind: type) -> dict[str, Setting]:
    """Return the settings that a dataclass has, by name."""
    found = {field.name: field.metadata.get("setting") for field in dataclasses.fields(kind)}
    return {name: known for name, known in found.items() if known is not None}


# -- checks


def one_of(choices: Callable[[], Sequence[Any]]) -> Callable[[Any], Complaint]:
    """Return a check that a value is one of these.

    >>> one_of(lambda: ["hash", "psi"])("name")
    "is not known. Choose one of ['hash', 'psi']."
    """

    def check(value: Any) -> Complaint:
        known = choices()
        right = (isinstance(value, str) and value in known) or _whole(value) in known
        return None if right else f"is not known. Choose one of {list(known)}."

    return check


def one_of_or_none(choices: Callable[[], Sequence[Any]]) -> Callable[[Any], Complaint]:
    """Return a check that a value is one of these, or None.

    >>> one_of_or_none(lambda: ["balanced"])("even")
    "is not known. Choose one of ['balanced'], or leave it out (None)."
    """
    listed = one_of(choices)

    def check(value: Any) -> Complaint:
        right = value is None or listed(value) is None
        return None if right else f"is not known. Choose one of {list(choices())}, or leave it out (None)."

    return check


def whole(least: int, what: str = "", most: float = math.inf) -> Callable[[Any], Complaint]:
    """Return a check that a value is a whole number from ``least`` to ``most``.

    >>> whole(1)(0)
    'must be a whole number of at least 1.'
    """
    wanted = f"a whole number of {what}, at least {least}" if what else f"a whole number of at least {least}"
    limit = "" if most == math.inf else f" and at most {most:.0f}"

    def check(value: Any) -> Complaint:
        number = _whole(value)
        return None if number is not None and least <= number <= most else f"must be {wanted}{limit}."

    return check


def at_most(most: int) -> Callable[[Any], Complaint]:
    """Return a check that a number is at most ``most``.

    >>> at_most(100)(101)
    'must be at most 100.'
    """
    return lambda value: None if value <= most else f"must be at most {most}."


def share_or_none(value: Any) -> Complaint:
    """Check that a value is None or lies between zero and one."""
    right = value is None or (_is_number(value) and 0.0 < float(value) < 1.0)
    return None if right else "must be a share between 0 and 1, or None."


def positive_up_to_one(value: Any) -> Complaint:
    """Check that a value is above zero and at most one."""
    return None if _is_number(value) and 0.0 < float(value) <= 1.0 else "must be above 0 and at most 1."


def positive_up_to(most: float) -> Callable[[Any], Complaint]:
    """Return a check that a value is a number above zero, at most ``most`` or infinity.

    >>> positive_up_to(20.0)(37)
    'must be a number above 0 and at most 20, or infinity.'
    """

    def check(value: Any) -> Complaint:
        right = _is_number(value) and (0.0 < float(value) <= most or float(value) == math.inf)
        return None if right else f"must be a number above 0 and at most {most:g}, or infinity."

    return check


def words(value: Any) -> Complaint:
    """Check that a value is a text."""
    return None if isinstance(value, str) else "must be a text."


def _whole(value: Any) -> int | None:
    return int(value) if isinstance(value, Integral) and not isinstance(value, bool) else None


def _is_number(value: Any) -> bool:
    return isinstance(value, Real) and not isinstance(value, bool)
