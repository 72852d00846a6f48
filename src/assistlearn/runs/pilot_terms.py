"""What the settings of a run say of a pilot's terms."""

from __future__ import annotations

from dataclasses import asdict

from assistlearn.errors import RunError, SettingsError
from assistlearn.evaluation.terms import Terms
from assistlearn.runs.settings import RunSettings

KEY = "pilot"
"""Where the settings of a run have the terms of a pilot; those of any other run have no such key."""


def terms_of(settings: RunSettings) -> Terms | None:
    """Return what is asked of a pilot; None for a run that is none."""
    said = settings.places.get(KEY)
    try:
        return None if said is None else Terms(**said)
    except (TypeError, SettingsError) as error:
        raise RunError(f"The terms of the pilot {settings.run!r} were changed or damaged: {error}") from None


def asked(terms: Terms) -> dict[str, object]:
    """Return what the settings of a pilot say of its terms."""
    return {KEY: asdict(terms)}
