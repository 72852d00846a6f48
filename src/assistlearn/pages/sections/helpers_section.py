"""The section that shows which helper helped, and how much."""

from __future__ import annotations

from functools import partial

from assistlearn.evaluation.figures_in_words import points, shares_in_words
from assistlearn.evaluation.result import SharedIn, ShareRow
from assistlearn.pages.pictures import drawn
from assistlearn.pages.section import PagePicture, PageTable, Section
from assistlearn.pages.view import View

TITLES_OF: dict[SharedIn, tuple[str, str]] = {
    "accuracy": ("accuracy (points)", "± 2 std. errors"),
    "loss": ("log loss lower by", "± 2 std. errors"),
}
LOST_OF: dict[SharedIn, str] = {"accuracy": "points lost without it", "loss": "loss higher without it"}


def helpers(view: View) -> Section | None:
    """Return the section; None where shares are not known."""
    if not view.shares:
        return None
    of = view.shared_in
    best = max(view.shares, key=lambda row: row.share(of))
    what = "how much more often it is right" if of == "accuracy" else "how much lower its log loss is"
    unit = "percentage points of accuracy" if of == "accuracy" else "of log loss"
    words = (
        f"The share of each helper in the result: {what}, averaged over all orders in which the helpers could have "
        "joined. The shares add up to the whole. A share whose interval contains zero may be chance.",
        *_other_metric(view),
        _without_help(view),
        f"The largest share is that of {best.helper}: {_value(best, of)} {unit}.",
    )
    label = f"Shares of the result, {unit}: " + "; ".join(
        f"{row.helper} {_value(row, of)}, give or take {_error(row, of)}" for row in view.shares
    )
    rows = tuple(_row(row, of) for row in (*view.shares, *([view.together] if view.together else [])))
    columns = ("helper", *TITLES_OF[of], *TITLES_OF["loss" if of == "accuracy" else "accuracy"], LOST_OF[of])
    table = PageTable("The share of each helper", columns, rows)
    return Section(
        "helpers",
        "Who helped",
        words,
        picture=PagePicture(label, partial(drawn.shares, view.shares, of)),
        tables=(table,),
    )


def _without_help(view: View) -> str:
    """Return what the shares are compared with."""
    if view.subject.label_only:
        return f"{view.subject.initiator} has no votes of its own: without help it answers the most frequent class."
    return shares_in_words(view.findings, view.subject.initiator)


def _other_metric(view: View) -> tuple[str, ...]:
    """Return that there are no shares in the metric that leads, if this is so."""
    if view.subject.metric in ("accuracy", "log_loss"):
        return ()
    name = view.answer.what if view.answer is not None else view.subject.metric
    return (f"Shares are measured in accuracy and in log loss, not in {name}.",)


def _row(row: ShareRow, of: SharedIn) -> tuple[str, ...]:
    lost = row.lost_without if of == "accuracy" else row.loss_without
    other: SharedIn = "loss" if of == "accuracy" else "accuracy"
    cells = [each for what in (of, other) for each in (_value(row, what), _error(row, what))]
    return row.helper, *cells, "-" if lost is None else _signed(lost, of)


def _value(row: ShareRow, of: SharedIn) -> str:
    return _signed(row.share(of), of)


def _signed(value: float, of: SharedIn) -> str:
    return points(value) if of == "accuracy" else f"{value:+.3f}"


def _error(row: ShareRow, of: SharedIn) -> str:
    error = drawn.ERRORS * row.error(of)
    return f"{100 * error:.1f}" if of == "accuracy" else f"{error:.3f}"
