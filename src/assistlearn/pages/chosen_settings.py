"""The settings of a plan as a page shows them."""

from __future__ import annotations

from collections.abc import Mapping

from assistlearn.pages.view import Chosen
from assistlearn.plan import SETTINGS, Plan


def chosen(plan: Plan, values: Mapping[str, object]) -> tuple[Chosen, ...]:
    """Return the settings that matter in a plan; the purpose is free words, and no part of it.

    >>> chosen(Plan(), {"purpose": "to see", "n_rounds": 20, "order": print})[1].value
    'of its own'
    """
    return tuple(
        Chosen(name, _shown(value), SETTINGS[name].explanation)
        for name, value in values.items()
        if name != "purpose" and SETTINGS[name].applies(plan)
    )


def _shown(value: object) -> str:
    """Return a value as text; what is neither text nor number, such as a function, may say more than it should."""
    if value is None:
        return "none"
    return str(value) if isinstance(value, str | int | float) else "of its own"
