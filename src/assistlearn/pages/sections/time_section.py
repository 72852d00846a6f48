"""The section that shows where the time of a run went."""

from __future__ import annotations

from functools import partial

from assistlearn.evaluation.figures_in_words import duration
from assistlearn.pages.pictures import drawn
from assistlearn.pages.section import PagePicture, PageTable, Section
from assistlearn.pages.time_line import IDLE
from assistlearn.pages.view import Spent, View

MOST_BARS, LEAST_DRAWN = 16, 0.005
"""The most bars that are drawn, and the least share of the time that a bar must have. The table has all rows."""


def time_line(view: View) -> Section | None:
    """Return the section; None where events have no times."""
    if not view.seconds or view.began is None or view.last is None:
        return None
    whole, idle = (view.last - view.began).total_seconds(), sum(row.seconds for row in view.seconds if row.what == IDLE)
    words = [
        f"From {view.began:%Y-%m-%d %H:%M:%S} to {view.last:%Y-%m-%d %H:%M:%S}, UTC: {duration(whole)}. The time of a "
        "helper's turn holds its own work and the way of the messages."
    ]
    if idle >= LEAST_DRAWN * whole:
        words.append(f"For {duration(idle)} of that nobody worked on it, between commands.")
    longest = sorted(view.seconds, key=lambda row: row.seconds, reverse=True)[:MOST_BARS]
    least = LEAST_DRAWN * (whole - idle)
    drawn_rows = tuple(row for row in view.seconds if row in longest and row.what != IDLE and row.seconds >= least)
    label = "Seconds by what they went to: " + "; ".join(f"{_name(row)} {duration(row.seconds)}" for row in drawn_rows)
    table = PageTable(
        "Where the time went",
        ("what", "with or at", "times", "time"),
        tuple((row.what, row.agent or "-", f"{row.times:,}", duration(row.seconds)) for row in view.seconds),
        words=(1,),
    )
    picture = PagePicture(label, partial(drawn.seconds, drawn_rows, view.subject.initiator))
    return Section("time", "Where the time went", tuple(words), picture=picture, tables=(table,))


def _name(row: Spent) -> str:
    return f"{row.what} ({row.agent})" if row.agent else row.what
