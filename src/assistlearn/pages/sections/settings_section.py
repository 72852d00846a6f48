"""The section about the settings of the run and the versions of the programs that made its result."""

from __future__ import annotations

from assistlearn.evaluation.figures_in_words import counted
from assistlearn.pages.section import PageTable, Section
from assistlearn.pages.view import View


def settings(view: View) -> Section:
    """Return the section, which every page has."""
    subject = view.subject
    classes = "1 class" if len(subject.classes) == 1 else f"{len(subject.classes):,} classes"
    words = [f"{counted(len(subject.agents), 'agent')}, {classes}."]
    if view.troubles:
        met = counted(view.troubles, "trouble")
        words.append(f"{met} on the way, after which the run went on. The log of the run has the details.")
    tables = [
        PageTable(
            "Settings",
            ("setting", "value", "what it does"),
            tuple((each.name, each.value, each.explanation) for each in subject.settings),
            words=(1, 2),
        )
    ]
    if view.versions:
        tables.append(
            PageTable("The result was made with", ("program", "version"), tuple(view.versions.items()), words=(1,))
        )
    return Section("settings", "Settings and versions", tuple(words), tables=tuple(tables))
