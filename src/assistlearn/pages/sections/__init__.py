"""The sections of a run's page, one file each. A section shows facts of the view in sentences, a picture and tables."""

from __future__ import annotations

from assistlearn.pages.section import Section
from assistlearn.pages.sections.answer_section import answer
from assistlearn.pages.sections.classes_section import classes
from assistlearn.pages.sections.exchange_section import exchange
from assistlearn.pages.sections.helpers_section import helpers
from assistlearn.pages.sections.leaving_section import leaving
from assistlearn.pages.sections.pilot_section import pilot
from assistlearn.pages.sections.probabilities_section import probabilities
from assistlearn.pages.sections.rounds_section import rounds
from assistlearn.pages.sections.samples_section import samples
from assistlearn.pages.sections.settings_section import settings
from assistlearn.pages.sections.time_section import time_line
from assistlearn.pages.sections.weights_section import weights
from assistlearn.pages.view import View

MAKERS = {
    "answer": answer,
    "pilot": pilot,
    "rounds": rounds,
    "helpers": helpers,
    "weights": weights,
    "probabilities": probabilities,
    "classes": classes,
    "exchange": exchange,
    "samples": samples,
    "time": time_line,
    "leaving": leaving,
    "settings": settings,
}
"""The functions that make the sections of a view, by key, in the order of the page.

A function returns None where there is nothing to say yet.
"""


def sections_of(view: View) -> list[Section]:
    """Return the sections that have something to say."""
    return [made for make in MAKERS.values() if (made := make(view)) is not None]
