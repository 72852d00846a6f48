"""The settings of a plan as a page shows them."""

from __future__ import annotations

from collections.abc import Mapping

from assistlearn.pages.view import Chosen
from assistlearn.plan import SETTINGS, Plan


def chosen(plan: Plan, values: Mapping[str, object]) -> tuple[Chosen, ...]:
    """Return the settings that apply to a plan. The purpose is left out, because it is free text.

    >>> chosen(Plan(), {"purpose": "to see", "n_rounds": 20, "order": print})[1].value
    'of its own'
    """
    return tuple(
        Chosen(name, _shown(value), SETTINGS[name].explanation)
        for name, value in values.items()
        if name != "purpose" and SETTINGS[name].applies(plan)
    )


def _shown(value: object) -> str:
    """Return a value as text. The text of anything else than text and numbers is hidden: it may say too much."""
    if value is None:
        return "none"
    return str(value) if isinstance(value, str | int | float) else "of its own"
