"""The section about what each agent contributed: its models, and how much their votes count."""

from __future__ import annotations

from functools import partial

from assistlearn.evaluation.figures_in_words import figure, percent
from assistlearn.pages.pictures import drawn
from assistlearn.pages.section import PagePicture, PageTable, Section
from assistlearn.pages.view import View


def weights(view: View) -> Section | None:
    """Return the section; None before the first turn."""
    if not view.weights:
        return None
    agents = view.subject.agents
    words = (
        "In its turn an agent fits a model to its own columns. The model weight says how much the model's votes count. "
        "An agent whose model is no better than chance sits the turn out. Models of rounds that do not count, and of "
        "agents that were left out, are no part of the result.",
    )
    summed = PageTable(
        "What each agent contributed",
        ("agent", "turns", "sat out", "models made", "models", "sum of weights", "best model in training"),
        tuple(
            (
                row.agent,
                *map(str, (row.turns, row.sat_out, row.made, row.models)),
                figure(row.weight),
                percent(row.best),
            )
            for row in view.agents
        ),
    )
    each = PageTable(
        "Model weights by round",
        ("round", *agents),
        tuple((str(row.round), *map(figure, row.weights)) for row in view.weights),
    )
    label = "Curves of the model weights against the round. " + " ".join(
        f"{row.agent}: {row.models} models, {row.weight:.2f} in all." for row in view.agents
    )
    picture = PagePicture(label, partial(drawn.weights, agents, view.weights))
    return Section("weights", "Model weights", words, picture=picture, tables=(summed, each))
