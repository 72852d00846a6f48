"""What has changed since the run that another goes on from, in words."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from assistlearn.cli.plan_options import flag_of
from assistlearn.pages.figures_in_words import counted

if TYPE_CHECKING:
    from assistlearn.events import RunGoesOn
    from assistlearn.runs.folder import RunFolder


def changes_in_words(event: RunGoesOn) -> list[str]:
    """Return what has changed, a sentence each."""
    people = f"{event.n_same:,} people are as they were, {event.n_new:,} are new, {event.n_gone:,} are gone"
    if event.n_relabelled:
        people += f", and {event.n_relabelled:,} have another label"
    return [f"Going on from run {event.earlier}: {people}.", *_agents(event), *_settings(event.settings)]


def _agents(event: RunGoesOn) -> Iterator[str]:
    if event.again:
        kept = ", ".join(f"{counted(n, 'turn')} of {name}" for name, n in event.again.items())
        yield f"Taken again, without training: {kept}."
    for name, why in event.anew.items():
        yield f"The turns of {name} are taken anew: {why}."
    for names, words in ((event.new_agents, "New"), (event.lost_agents, "No longer there")):
        if names:
            yield f"{words}: {', '.join(names)}."
    if event.changed_tables:
        yield f"Tables that have changed since: {', '.join(event.changed_tables)}."


def _settings(settings: dict[str, str]) -> Iterator[str]:
    for name, words in settings.items():
        yield f"{flag_of(name)} {words}."


def goes_on_of(folder: RunFolder) -> RunGoesOn | None:
    """Return what has changed since the run that this one goes on from; None where it goes on from no other."""
    from assistlearn.events import RunGoesOn, read

    told = [recorded.event for recorded in read(folder.events) if isinstance(recorded.event, RunGoesOn)]
    return told[-1] if told else None
