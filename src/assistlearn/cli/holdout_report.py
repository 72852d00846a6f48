"""Print what the hold-out samples show about a run: figures with help and alone, who helped, and who did harm."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from rich.table import Table

from assistlearn.cli.output import counted, plain, say, say_table
from assistlearn.evaluation.figures_in_words import (
    TITLES,
    VERDICTS,
    alone_in_words,
    compared_in_words,
    difference_in_words,
    measured,
    shares_in_words,
)

if TYPE_CHECKING:
    from assistlearn.evaluation.result import Between, Confusion, Findings, Headline, SharedIn, ShareRow
    from assistlearn.pages.view import View

MOST_CLASSES = 12
"""With more classes, the table leaves out how often each class was predicted. ``--json`` has these counts."""

SHARED = {
    "accuracy": ("accuracy", "± 2 std. errors"),
    "loss": ("log loss lower by", "± 2 std. errors"),
}
LOST = {"accuracy": "accuracy lost without it", "loss": "loss higher without it"}


def show_report(view: View, classes: Sequence[Any], rounds: str) -> None:
    """Print what the hold-out samples show about the result of a run."""
    found, answer, subject = view.findings, view.answer, view.subject
    assert answer is not None
    samples = counted(answer.n_samples, "hold-out sample")
    said = _answer(answer, subject.label_only)
    say(f"On {samples}, whose labels helpers were not told, after {rounds}: {said}")
    say_table(_metrics(found, subject.label_only))
    for helper in found.worse:
        done = (
            "its votes were left out" if helper in found.left_out else 'its votes count, because worse_agent is "keep"'
        )
        say(
            f"[yellow]{plain(helper)} makes the result worse on these samples, by more than chance explains:[/] {done}."
        )
    if found.shares:
        say_table(_shares(found))
        if not subject.label_only:
            say(plain(_narrow(shares_in_words(found, subject.initiator))))
    if found.confusion is not None:
        say_table(_classes(found.confusion, classes))


def _answer(answer: Headline, label_only: bool) -> str:
    """Return in words whether help was worth it, by the metric that leads."""
    if answer.assisted is None:
        return plain(f"{VERDICTS[answer.verdict]} {difference_in_words(answer)}")
    by_labels = f" ({alone_in_words(answer.what)})" if label_only else ""
    with_help, alone = (_narrow(measured(answer, value)) for value in (answer.assisted, answer.alone))
    verdict = VERDICTS[answer.verdict]
    verdict = f"[yellow]{verdict}[/]" if answer.verdict == "worse" else verdict
    words = f"{answer.what} [bold]{with_help}[/] with help, {alone} alone{by_labels}. {verdict}"
    return f"{words} {_narrow(difference_in_words(answer))}".rstrip()


def _narrow(words: str) -> str:
    """Return words as a terminal shows them: without blanks before the sign for a percentage."""
    return words.replace("\N{NO-BREAK SPACE}%", "%")


def _metrics(found: Findings, label_only: bool) -> Table:
    view = Table("", title=compared_in_words(label_only), title_justify="left")
    for title in ("with help", "alone", "difference", "95 % interval"):
        view.add_column(title, justify="right")
    for each in found.metrics:
        between = each.difference
        difference = ("-", "-") if between is None else (f"{between.value:+.3f}", _interval(between))
        view.add_row(TITLES.get(each.name, each.name), _figure(each.assisted), _figure(each.alone), *difference)
    return view


def _shares(found: Findings) -> Table:
    of = found.shared_in
    other: SharedIn = "loss" if of == "accuracy" else "accuracy"
    title = "Who helped: how much of the result is due to each helper's votes"
    view = Table("helper", title=title, title_justify="left")
    for name in (*SHARED[of], *SHARED[other], LOST[of]):
        view.add_column(name, justify="right")
    for row in found.shares:
        lost = row.lost_without if of == "accuracy" else row.loss_without
        view.add_row(plain(row.helper), *_share_of(row, of), *_share_of(row, other), f"{lost or 0.0:+.3f}")
    if found.together is not None:
        view.add_section()
        view.add_row("all helpers' votes", *_share_of(found.together, of), *_share_of(found.together, other), "")
    return view


def _share_of(row: ShareRow, of: SharedIn) -> tuple[str, str]:
    return f"{row.share(of):+.3f}", f"{2 * row.error(of):.3f}"


def _classes(found: Confusion, classes: Sequence[Any]) -> Table:
    """Return a table of the true classes: which classes were predicted for them, and how often the right one."""
    view = Table("true class", title="Which class was predicted", title_justify="left")
    few = len(classes) <= MOST_CLASSES
    for title in [plain(each) for each in classes] if few else []:
        view.add_column(title, justify="right")
    view.add_column("found", justify="right")
    view.add_column("found alone", justify="right")
    for name, counts, right, alone in zip(classes, found.counts, found.found, found.found_alone, strict=True):
        view.add_row(plain(name), *([f"{count:g}" for count in counts] if few else []), _share(right), _share(alone))
    return view


def _figure(value: float | None) -> str:
    return "-" if value is None else f"{value:.3f}"


def _share(value: float | None) -> str:
    return "-" if value is None else f"{value:.1%}"


def _interval(between: Between) -> str:
    return f"{between.low:+.3f} to {between.high:+.3f}"
