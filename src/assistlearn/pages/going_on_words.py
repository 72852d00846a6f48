"""Say in words what has changed since the earlier run that a run goes on from."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from assistlearn.evaluation.figures_in_words import counted

if TYPE_CHECKING:
    from assistlearn.events import RunGoesOn


def changes_in_words(event: RunGoesOn) -> list[str]:
    """Return the changes since the earlier run, each as a sentence.

    >>> from assistlearn.events import RunGoesOn
    >>> for words in changes_in_words(RunGoesOn("spring", 40, 60, 2, 1, again={"lab": 2}, anew={"shop": "it is lost"})):
    ...     print(words)
    Going on from run spring: 40 people are as they were, 60 are new, 2 are gone, and 1 have another label.
    Kept without new training: 2 turns of lab.
    shop trains anew: it is lost.
    At least half of the people are new: a run from the beginning is likely to be better.
    """
    words = [people_in_words(event), *_agents(event), *_settings(event.settings)]
    if event.n_new >= event.n_same:
        words.append("At least half of the people are new: a run from the beginning is likely to be better.")
    return words


def people_in_words(event: RunGoesOn) -> str:
    """Return how many people are the same, new or gone, in a sentence without the words of other agents."""
    people = f"{event.n_same:,} people are as they were, {event.n_new:,} are new, {event.n_gone:,} are gone"
    if event.n_relabelled:
        people += f", and {event.n_relabelled:,} have another label"
    return f"Going on from run {event.earlier}: {people}."


def _agents(event: RunGoesOn) -> Iterator[str]:
    if event.again:
        kept = ", ".join(f"{counted(n, 'turn')} of {name}" for name, n in event.again.items())
        yield f"Kept without new training: {kept}."
    for name, why in event.anew.items():
        yield f"{name} trains anew: {why}."
    for names, words in ((event.new_agents, "New"), (event.lost_agents, "No longer there")):
        if names:
            yield f"{words}: {', '.join(names)}."
    if event.changed_tables:
        yield f"Tables that have changed since: {', '.join(event.changed_tables)}."


def _settings(settings: dict[str, str]) -> Iterator[str]:
    for name, words in settings.items():
        yield f"The setting {name} {words}."
