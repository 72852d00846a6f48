"""The section that shows how good all agents were together, round by round."""

from __future__ import annotations

from functools import partial

from assistlearn.evaluation.figures_in_words import TITLES, combination_in_words, counted, figure, percent
from assistlearn.pages.pictures import drawn
from assistlearn.pages.section import PagePicture, PageTable, Section
from assistlearn.pages.view import RoundRow, View


def rounds(view: View) -> Section | None:
    """Return the section; None before the first round is done."""
    if not view.rounds:
        return None
    measure = TITLES.get(view.subject.metric, view.subject.metric)
    measured = any(row.accuracy is not None or row.loss is not None for row in view.rounds)
    picture = (
        PagePicture(_label(view.rounds, measure), partial(drawn.rounds, view.rounds, measure)) if measured else None
    )
    words = [_words(view)]
    if view.combination is not None:
        became = combination_in_words(view.combination, view.subject.label_only)
        words.append(f"How the votes are combined in the end: {became}.")
    return Section("rounds", "Round by round", tuple(words), picture=picture, tables=(_table(view, measure),))


def _words(view: View) -> str:
    done = counted(view.progress.rounds, "round")
    if view.state != "finished":
        return f"Done so far: {done} of {view.progress.most_rounds} at the most. In a round every agent has one turn."
    said = f"It stopped after {done}, because: {view.stop_reason}." if view.stop_reason else f"It stopped after {done}."
    if any(row.kept is False for row in view.rounds):
        said += " The rounds after the best one, right of the dotted line, are no part of the result."
    if view.combination is not None and any(row.round == view.n_rounds for row in view.rounds):
        said += (
            f" The row of round {view.n_rounds} is the result itself, whose combination was learned at the end. After "
            "the other rounds no trees were tried."
        )
    return f"In a round every agent has one turn. {said}"


def _label(rows: tuple[RoundRow, ...], measure: str) -> str:
    first, last = rows[0], rows[-1]
    said = f"Curves against the round, from {first.round} to {last.round}."
    if measure != "accuracy" and first.metric is not None and last.metric is not None:
        said += f" The {measure} on hold-out samples goes from {first.metric:.3f} to {last.metric:.3f}."
    if first.accuracy is not None and last.accuracy is not None:
        said += f" The accuracy on hold-out samples goes from {percent(first.accuracy)} to {percent(last.accuracy)}."
    if first.loss is not None and last.loss is not None:
        said += f" The loss of the combination goes from {first.loss:.3f} to {last.loss:.3f}."
    return said


def _table(view: View, measure: str) -> PageTable:
    own = view.subject.metric != "accuracy"
    spent = any(row.bits is not None for row in view.rounds)
    columns = [
        "round",
        *([f"{measure} on hold-out samples"] if own else []),
        "accuracy" if own else "accuracy on hold-out samples",
        "loss",
        "standard error",
        *(["bits per sample"] if spent else []),
        "in the result",
    ]
    rows = tuple(
        (
            str(row.round),
            *([figure(row.metric)] if own else []),
            percent(row.accuracy),
            figure(row.loss, 4),
            figure(row.error, 4),
            *([figure(row.bits, 1)] if spent else []),
            {None: "-", True: "yes", False: "no"}[row.kept],
        )
        for row in view.rounds
    )
    return PageTable("Accuracy and loss after each round", tuple(columns), rows)
