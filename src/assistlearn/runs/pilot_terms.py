"""The terms of a pilot, in the settings of its run."""

from __future__ import annotations

from dataclasses import asdict

from assistlearn.errors import RunError, SettingsError
from assistlearn.evaluation.terms import Terms
from assistlearn.runs.settings import RunSettings

KEY = "pilot"
"""The key of a pilot's terms in the settings of its run; other runs have no such key."""


def terms_of(settings: RunSettings) -> Terms | None:
    """Return the terms of a pilot; None for a run that is no pilot."""
    said = settings.places.get(KEY)
    try:
        return None if said is None else Terms(**said)
    except (TypeError, SettingsError) as error:
        raise RunError(f"The terms of the pilot {settings.run!r} were changed or damaged: {error}") from None


def asked(terms: Terms) -> dict[str, object]:
    """Return a pilot's terms, as its run's settings keep them."""
    return {KEY: asdict(terms)}
