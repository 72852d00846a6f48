"""The section about the samples: how many were matched, trained on and held out."""

from __future__ import annotations

from functools import partial

from assistlearn.evaluation.figures_in_words import counted, percent
from assistlearn.pages.pictures import drawn
from assistlearn.pages.section import PagePicture, PageTable, Section
from assistlearn.pages.view import View


def samples(view: View) -> Section | None:
    """Return the section; None before samples are matched."""
    if not view.matched and view.n_training is None:
        return None
    words = [*view.goes_on]
    if view.n_training is not None:
        aside = f", {view.n_holdout:,} were held out" if view.n_holdout else ""
        words.append(f"{counted(view.n_training, 'sample')} were trained on{aside}.")
    if not view.matched:
        return Section("samples", "Samples", tuple(words))
    words.append(f"Each helper was asked which of the samples of {view.subject.initiator} it holds.")
    table = PageTable(
        "Samples that each helper holds",
        ("helper", "asked for", "held", "share"),
        tuple(
            (
                row.helper,
                f"{row.n_asked:,}",
                f"{row.n_held:,}",
                percent(row.n_held / row.n_asked if row.n_asked else None),
            )
            for row in view.matched
        ),
    )
    label = "Samples held of those asked for: " + "; ".join(
        f"{row.helper} {row.n_held:,} of {row.n_asked:,}" for row in view.matched
    )
    picture = PagePicture(label, partial(drawn.matched, view.matched))
    return Section("samples", "Samples", tuple(words), picture=picture, tables=(table,))
