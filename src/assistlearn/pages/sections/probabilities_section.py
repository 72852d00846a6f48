"""The section that shows whether answers are right as often as their probabilities say."""

from __future__ import annotations

from functools import partial

from assistlearn.evaluation.figures_in_words import percent
from assistlearn.evaluation.reliability import Reliability
from assistlearn.pages.pictures import drawn
from assistlearn.pages.section import PagePicture, PageTable, Section
from assistlearn.pages.view import View


def probabilities(view: View) -> Section | None:
    """Return the section; None before the result is there."""
    if view.calibration is None and not view.reliability:
        return None
    words = [f"The probabilities are {view.calibration}."] if view.calibration is not None else []
    if not view.reliability:
        return Section("probabilities", "How sure it is", tuple(words))
    words.insert(
        0,
        "Every prediction says how sure it is. Here hold-out samples are in groups of about equal sureness. In a group "
        "that is said to be right in 80 % of cases, 80 % should be right: the dashed line. Bars are 95 % intervals.",
    )
    label = "How often answers were right against how sure they were said to be, with help: " + "; ".join(
        f"said {percent(each.said)}, right {percent(each.right)}" for each in view.reliability
    )
    picture = PagePicture(label, partial(drawn.reliability, view.reliability, view.reliability_alone))
    tables = (_table("With help", view.reliability), _table("Alone", view.reliability_alone))
    return Section(
        "probabilities",
        "How sure it is",
        tuple(words),
        picture=picture,
        tables=tuple(table for table in tables if table.rows),
    )


def _table(who: str, groups: tuple[Reliability, ...]) -> PageTable:
    columns = ("group", "samples", "said to be right", "were right", "95 % interval")
    rows = tuple(
        (str(number), f"{each.n_samples:,}", percent(each.said), percent(each.right), _interval(each))
        for number, each in enumerate(groups, start=1)
    )
    return PageTable(f"{who}: groups of answers, the surest last", columns, rows)


def _interval(group: Reliability) -> str:
    return " to ".join(map(percent, group.interval))
