"""The first section, the answer: how good the result is alone, with help, and the difference."""

from __future__ import annotations

from assistlearn.pages.figures_in_words import (
    TITLES,
    alone_in_words,
    compared_in_words,
    counted,
    figure,
    listed,
    percent,
    points,
)
from assistlearn.pages.section import Card, PageTable, Section
from assistlearn.pages.view import Between, Headline, View

_VERDICTS = {
    "yes": "Help was worth it.",
    "no": "No: help is not worth it.",
    "worse": "Help made it worse.",
    "undecided": "It is not certain whether help is worth it.",
}


def answer(view: View) -> Section:
    """Return the section; it says how far the run is where there is no answer yet."""
    found = view.answer
    if found is None:
        return Section("answer", "The answer", (_without(view), *_doubts(view)))
    return Section(
        "answer",
        "The answer",
        (sentence(view, found), *_doubts(view)),
        cards=_cards(view, found),
        tables=_metrics(view),
    )


def question(view: View) -> str:
    """Return the question that the run answers."""
    helpers = listed(view.subject.helpers) or "nobody"
    return f"Does the help of {helpers} make the predictions of {view.subject.initiator} better?"


def sentence(view: View, found: Headline) -> str:
    """Return the answer in a sentence or two."""
    value = percent if _is_share(found) else figure
    where = counted(found.n_samples, "sample") + " that no model was trained on"
    verdict = _VERDICTS[found.verdict]
    if found.verdict == "yes" and view.subject.is_pilot:
        verdict = "Yes: help is worth it."
    by_labels = f", {alone_in_words(found.what)}" if view.subject.label_only else ""
    figures = f"{value(found.assisted)} with help and {value(found.alone)} alone{by_labels}"
    said = f"{verdict} On {where}, the {found.what} is {figures}."
    return said if found.difference is None else f"{said} {_difference(found, found.difference)}"


def _difference(found: Headline, between: Between) -> str:
    value, low, high = (_gained(found, each) for each in (between.value, between.low, between.high))
    unit = " percentage points" if _is_share(found) else ""
    if found.what == "accuracy":
        return f"The difference is {value}{unit}; its 95\N{NO-BREAK SPACE}% interval goes from {low} to {high}."
    return (
        f"For samples like these the gain, by which it is lower, is about {value}{unit}. It lies between {low} and "
        f"{high}: these limits hold whenever you stop."
    )


def _is_share(found: Headline) -> bool:
    return found.what in ("accuracy", "error rate")


def _gained(found: Headline, value: float) -> str:
    return points(value) if _is_share(found) else f"{value:+.3f}"


def _without(view: View) -> str:
    """Return a text that says why there is no answer."""
    turns = counted(view.progress.turns, "turn")
    if view.state == "going on":
        return f"There is no answer yet: training goes on. Done so far: {turns}."
    if view.state == "stopped":
        return f"There is no answer: the run was stopped before it had a result, after {turns}. It can be resumed."
    told = next((row.accuracy for row in reversed(view.rounds) if row.kept and row.accuracy is not None), None)
    if told is not None:
        return (
            f"With help the accuracy is {percent(told)} on the hold-out samples. How good {view.subject.initiator} is "
            "alone was not measured in this run."
        )
    if len(view.subject.classes) == 1:
        return f"There is nothing to answer: {view.stop_reason}."
    return (
        "Training is finished, but no samples were held out, so nobody can say how good the result is on samples that "
        "no model was trained on. Hold some out: --holdout 0.2."
    )


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
    value = percent if _is_share(found) else figure
    by_labels = f", {alone_in_words(found.what)}" if view.subject.label_only else ""
    cards = [
        Card("alone", value(found.alone), f"{found.what}{by_labels}", "alone"),
        Card("with help", value(found.assisted), found.what, "assisted"),
    ]
    between = found.difference
    if between is not None:
        title = "difference" if found.what == "accuracy" else "gain"
        ends = f"{_gained(found, between.low)} to {_gained(found, between.high)}"
        note = f"points, {ends}" if _is_share(found) else ends
        cards.append(Card(title, _gained(found, between.value), note))
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
