"""The page of a run: the question and the answer first, then everything that it rests on."""

from __future__ import annotations

from dataclasses import replace

from assistlearn.evaluation.figures_in_words import listed
from assistlearn.pages.rendering import Frame, fragment, page
from assistlearn.pages.sections import MAKERS, sections_of
from assistlearn.pages.sections.answer_section import question
from assistlearn.pages.view import ONE_PROCESS, View

_STATES = {"going on": "training goes on", "stopped": "not finished", "finished": "finished"}


def run_page(view: View) -> str:
    """Return the page of a run as one HTML document, without a script."""
    return page(frame_of(view), sections_of(view))


def fragments(view: View) -> dict[str, str]:
    """Return the HTML of every section by its key, so that each can be replaced alone; empty sections are hidden."""
    made = ((key, make(view)) for key, make in MAKERS.items())
    return {key: f'<section id="{key}" hidden></section>\n' if each is None else fragment(each) for key, each in made}


def frame_of(view: View) -> Frame:
    """Return the texts around the sections."""
    subject = view.subject
    kind = "Pilot" if subject.is_pilot else "Run" if subject.run else "Agents in one process"
    named = f"{kind} {subject.run}" if subject.run else kind
    day = "" if view.began is None else f", {view.began:%Y-%m-%d}"
    return Frame(
        title=f"{subject.run or subject.initiator}: does help make it better?",
        kicker=f"{named}{day}: {_STATES[view.state]}",
        heading=question(view),
        intro=_intro(view),
        closing=_closing(view),
    )


def without_class_names(view: View) -> View:
    """Return a view in which classes have numbers in place of names."""
    classes = tuple(f"class {number}" for number in range(1, len(view.subject.classes) + 1))
    return replace(view, subject=replace(view.subject, classes=classes))


def _intro(view: View) -> tuple[str, ...]:
    subject = view.subject
    knows = "knows" if len(subject.helpers) == 1 else "know"
    alone = " It has labels, and no columns of its own." if subject.label_only else ""
    who = "helper" if subject.label_only else "agent"
    what = (
        f"{subject.initiator} wants to predict a class.{alone} {listed(subject.helpers)} {knows} other things about "
        f"the same people or things, and helped without showing tables or models: in turns, each {who} fits a model to "
        "its own columns and says where the model is right. Samples that no model was trained on tell whether it was "
        "worth it."
    )
    if subject.reach != ONE_PROCESS:
        return (what,)
    return what, "Here all agents were in one process, as in a study: nothing was sent."


def _closing(view: View) -> tuple[str, ...]:
    return (
        f"This page was made at {view.subject.initiator} by assistlearn. It holds names of agents and classes, "
        "settings and figures; no ids, no values and no names of columns of anybody. It needs nothing from outside and "
        "sends nothing.",
    )
