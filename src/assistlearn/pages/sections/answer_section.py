"""The first section, the answer: how good the result is alone, with help, and the difference."""

from __future__ import annotations

from assistlearn.evaluation.figures_in_words import (
    SHARES,
    TITLES,
    alone_in_words,
    answer_in_words,
    compared_in_words,
    counted,
    figure,
    gained,
    listed,
    measured,
    percent,
    unchecked_in_words,
)
from assistlearn.evaluation.result import Between, Headline
from assistlearn.pages.section import Card, PageTable, Section
from assistlearn.pages.view import View


def answer(view: View) -> Section:
    """Return the section; it says how far the run is where there is no answer yet."""
    found = view.answer
    if found is None:
        return Section("answer", "The answer", (_without(view), *_doubts(view)))
    return Section(
        "answer",
        "The answer",
        (answer_in_words(found, view.subject.label_only), *_doubts(view)),
        cards=_cards(view, found),
        tables=_metrics(view),
    )


def question(view: View) -> str:
    """Return the question that the run answers."""
    helpers = listed(view.subject.helpers) or "nobody"
    return f"Does the help of {helpers} make the predictions of {view.subject.initiator} better?"


def _without(view: View) -> str:
    """Return a text that says why there is no answer."""
    turns = counted(view.progress.turns, "turn")
    if view.state == "going on":
        return f"There is no answer yet: training goes on. Done so far: {turns}."
    if view.state == "stopped":
        return f"There is no answer: the run was stopped before it had a result, after {turns}. It can be resumed."
    told = next((row for row in reversed(view.rounds) if row.kept and row.accuracy is not None), None)
    if told is not None:
        own = view.subject.metric != "accuracy" and told.metric is not None
        what = (
            f"{TITLES[view.subject.metric]} is {figure(told.metric)}"
            if own
            else f"accuracy is {percent(told.accuracy)}"
        )
        return (
            f"With help the {what} on the hold-out samples. How good {view.subject.initiator} is alone was not "
            "measured in this run."
        )
    if len(view.subject.classes) == 1:
        return f"There is nothing to answer: {view.stop_reason}."
    return unchecked_in_words(view.subject.helpers)


def _doubts(view: View) -> tuple[str, ...]:
    """Return warnings that a reader of the answer should know."""
    said = []
    for helper in view.worse:
        done = (
            "Its votes were left out of the result."
            if helper in view.left_out
            else "Its votes count all the same, as the settings say."
        )
        said.append(f"{helper} makes the result worse on these samples, by more than chance explains. {done}")
    said += [
        f"The hold-out samples contradict what {name} said. So nothing that it said counts."
        for name in view.left_out
        if name not in view.worse
    ]
    said += [
        f"The run went on without {row.agent} from turn {row.left} on." for row in view.agents if row.left is not None
    ]
    return tuple(said)


def _cards(view: View, found: Headline) -> tuple[Card, ...]:
    if found.assisted is None:
        return ()
    by_labels = f", {alone_in_words(found.what)}" if view.subject.label_only else ""
    cards = [
        Card("alone", measured(found, found.alone), f"{found.what}{by_labels}", "alone"),
        Card("with help", measured(found, found.assisted), found.what, "assisted"),
    ]
    between = found.difference
    if between is not None:
        ends = f"{gained(found, between.low)} to {gained(found, between.high)}"
        note = f"points, {ends}" if found.what in SHARES else ends
        if not found.larger_is_better and not found.is_gain:
            note += "; lower is better"
        cards.append(Card("gain" if found.is_gain else "difference", gained(found, between.value), note))
    return tuple(cards)


def _metrics(view: View) -> tuple[PageTable, ...]:
    rows = tuple(
        (TITLES.get(each.name, each.name), figure(each.assisted), figure(each.alone), *_interval(each.difference))
        for each in view.metrics
    )
    columns = ("", "with help", "alone", "difference", "95 % interval")
    return (PageTable(compared_in_words(view.subject.label_only), columns, rows),) if rows else ()


def _interval(between: Between | None) -> tuple[str, str]:
    return ("-", "-") if between is None else (f"{between.value:+.3f}", f"{between.low:+.3f} to {between.high:+.3f}")
