"""The section that shows which class was predicted for which true class."""

from __future__ import annotations

from functools import partial

from assistlearn.evaluation.figures_in_words import percent
from assistlearn.pages.pictures import drawn
from assistlearn.pages.section import PagePicture, PageTable, Section
from assistlearn.pages.view import View

MOST_DRAWN, MOST_COUNTED = 30, 40
"""With more classes than these there is no picture, and no table of all pairs."""


def classes(view: View) -> Section | None:
    """Return the section; None where nothing was held out."""
    found = view.confusion
    if found is None:
        return None
    names = view.subject.classes
    rows = []
    for name, counts, with_help, alone in zip(names, found.counts, found.found, found.found_alone, strict=True):
        pairs = [f"{count:g}" for count in counts] if len(names) <= MOST_COUNTED else []
        rows.append((name, *pairs, percent(with_help), percent(alone)))
    answered = names if len(names) <= MOST_COUNTED else ()
    columns = ("true class", *(f"answered {name}" for name in answered), "found with help", "found alone")
    label = "Which class was predicted for which, as shares of the true class. Found: " + "; ".join(
        f"{name} {percent(share)}" for name, share in list(zip(names, found.found, strict=True))[:MOST_DRAWN]
    )
    picture = PagePicture(label, partial(drawn.confusion, found, names)) if len(names) <= MOST_DRAWN else None
    words = (
        "A row for each true class of the hold-out samples: how often each class was predicted, with help. The names "
        f"of the classes are those of {view.subject.initiator}.",
    )
    table = PageTable("Which class was predicted", columns, tuple(rows))
    return Section("classes", "Which classes are found", words, picture=picture, tables=(table,))
