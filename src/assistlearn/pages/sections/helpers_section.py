"""The section that shows which helper helped, and how much."""

from __future__ import annotations

from functools import partial

from assistlearn.pages.figures_in_words import points
from assistlearn.pages.pictures import drawn
from assistlearn.pages.section import PagePicture, PageTable, Section
from assistlearn.pages.view import ShareRow, View


def helpers(view: View) -> Section | None:
    """Return the section; None where shares are not known."""
    if not view.shares:
        return None
    best = max(view.shares, key=lambda row: row.accuracy)
    words = (
        "The share of each helper in the result: how much more often it is right, averaged over all orders in which "
        "the helpers could have joined. The shares add up to the whole. A share whose interval contains zero may be "
        "chance.",
        _without_help(view),
        f"The largest share is that of {best.helper}: {points(best.accuracy)} percentage points of accuracy.",
    )
    label = "Shares of the accuracy, in percentage points: " + "; ".join(
        f"{row.helper} {points(row.accuracy)}, give or take {100 * drawn.ERRORS * row.accuracy_error:.1f}"
        for row in view.shares
    )
    rows = tuple(map(_row, (*view.shares, *([view.together] if view.together else []))))
    columns = (
        "helper",
        "accuracy (points)",
        "± 2 std. errors",
        "log loss lower by",
        "± 2 std. errors",
        "points lost without it",
    )
    table = PageTable("The share of each helper", columns, rows)
    return Section(
        "helpers", "Who helped", words, picture=PagePicture(label, partial(drawn.shares, view.shares)), tables=(table,)
    )


def _without_help(view: View) -> str:
    """Return what the shares are compared with."""
    if view.subject.label_only:
        return f"{view.subject.initiator} has no votes of its own: without help it answers the most frequent class."
    return (
        f"Here {view.subject.initiator} without help has the votes that it has in this result. For the answer above it "
        "was trained alone, with as many models as all agents have together; so the two sums differ."
    )


def _row(row: ShareRow) -> tuple[str, ...]:
    lost = "-" if row.lost_without is None else points(row.lost_without)
    errors = f"{100 * drawn.ERRORS * row.accuracy_error:.1f}", f"{drawn.ERRORS * row.loss_error:.3f}"
    return row.helper, points(row.accuracy), errors[0], f"{row.loss:+.3f}", errors[1], lost
