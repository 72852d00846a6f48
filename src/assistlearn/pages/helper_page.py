"""The page of a helper, from its own side: who asked, what it answered, and what left its organisation."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

from assistlearn.evaluation.figures_in_words import counted, figure, listed, size
from assistlearn.pages.helper_view import HelpedRun, HelperView
from assistlearn.pages.messages_in_words import WORDS
from assistlearn.pages.pictures import drawn
from assistlearn.pages.rendering import Frame, page
from assistlearn.pages.section import PageList, PagePicture, PageTable, Section
from assistlearn.pages.sections.leaving_section import release_in_words
from assistlearn.pages.view import WeightsOfRound

MOST_DRAWN = 6
"""The picture of model weights shows at most this many runs, the latest."""

UNITS = {"runs": "runs", "turns": "turns", "ids": "ids asked about", "votes": "votes", "bits": "bits answered"}


def helper_page(view: HelperView) -> str:
    """Return the page of a helper as one HTML document, without a script."""
    frame = Frame(
        title=f"{view.agent}: what left this organisation?",
        kicker=f"Agent {view.agent}, from its own store and ledger",
        heading=f"Whom did {view.agent} help, and what did it tell them?",
        closing=(
            f"This page was made at {view.agent} by assistlearn. It holds names of agents and runs, and figures; no "
            "ids, no values and no names of columns. It needs nothing from outside and sends nothing.",
        ),
    )
    return page(frame, helper_sections(view))


def helper_sections(view: HelperView) -> list[Section]:
    """Return the sections that have something to say."""
    made = [_asked(view), _left(view), _weights(view), _exchange(view), _ledger(view)]
    return [section for section in made if section is not None]


def _asked(view: HelperView) -> Section:
    if not view.runs:
        return Section("asked", "Who asked", (f"{view.agent} has no record of a run in which it helped.",))
    initiators = sorted({run.initiator for run in view.runs})
    turns, votes = sum(len(run.weights) for run in view.runs), sum(run.votes for run in view.runs)
    words = (
        f"{view.agent} has helped {listed(initiators)} in {counted(len(view.runs), 'run')} that it remembers: "
        f"{counted(turns, 'turn')}, {counted(votes, 'vote')} for prediction.",
    )
    columns = (
        "run",
        "asked by",
        "method",
        "since",
        "last message",
        "trained on",
        "held out",
        "turns",
        "votes",
        "training",
    )
    rows = tuple(
        (
            run.run,
            run.initiator,
            run.method or "-",
            run.first,
            run.last,
            f"{run.n_training:,}",
            f"{run.n_holdout:,}",
            f"{len(run.weights):,}",
            f"{run.votes:,}",
            "over" if run.ended else "goes on" if run.method else "has not begun",
        )
        for run in view.runs
    )
    table = PageTable("Runs; samples are those of this agent, times are UTC", columns, rows, words=(1, 2, 9))
    return Section("asked", "Who asked", words, tables=(table,))


def _left(view: HelperView) -> Section:
    words = (
        "The table, the names of its columns, the learner and the models have never left. This is what did leave:",
    )
    lists = [PageList(f"Run {run.run}, to {run.initiator}", tuple(_of_run(run))) for run in view.runs]
    if view.forgotten:
        gone = tuple(f"Run {name}: {bits:,} bits, about all samples together." for name, bits in view.forgotten.items())
        lists.append(PageList("Runs that are forgotten here, as the ledger has them", gone))
    told = tuple(
        f"{each.initiator} was told about {each.people:,} people; about one person at most {each.bits:,g} bits, "
        f"{counted(each.predictions, 'prediction')}" + (f" and epsilon {each.epsilon:.1f}." if each.epsilon else ".")
        for each in view.told
    )
    if told:
        lists.append(PageList("Counted person by person", told))
    units = [unit for unit in UNITS if any(unit in counts for counts in view.counted.values())]
    rows = tuple((peer, *(f"{counts.get(unit, 0):,}" for unit in units)) for peer, counts in view.counted.items())
    table = PageTable("Counted for each initiator, for good", ("initiator", *(UNITS[unit] for unit in units)), rows)
    return Section("leaving", "What left", words, lists=tuple(lists), tables=(table,) if rows else ())


def _of_run(run: HelpedRun) -> Iterator[str]:
    yield "Its name, how many samples it has, and which of the samples asked about it holds."
    for release in run.released:
        yield release_in_words(release)
    if run.epsilon is not None:
        yield f"The labels that came were randomised: epsilon {run.epsilon:g}."


def _weights(view: HelperView) -> Section | None:
    runs = tuple(run for run in view.runs if run.weights)[-MOST_DRAWN:]
    if not runs:
        return None
    most = max(len(run.weights) for run in runs)
    rows = tuple(
        WeightsOfRound(turn + 1, tuple(run.weights[turn] if turn < len(run.weights) else None for run in runs))
        for turn in range(most)
    )
    names = tuple(run.run for run in runs)
    words = ("How much the votes of its models count, turn by turn.",)
    label = "Curves of the model weights against the agent's own turns. " + " ".join(
        f"Run {run.run}: {counted(len(run.weights), 'turn')}." for run in runs
    )
    table = PageTable(
        "Model weights by turn", ("turn", *names), tuple((str(row.round), *map(figure, row.weights)) for row in rows)
    )
    picture = PagePicture(label, partial(drawn.weights, names, rows, "own turn"))
    return Section("weights", "Model weights", words, picture=picture, tables=(table,))


def _exchange(view: HelperView) -> Section | None:
    there = tuple(each for each in view.traffic if each.rows)
    if not there:
        return None
    sent, received = (tuple(each.bytes(way) for each in there) for way in ("sent", "received"))
    label = "Bytes to and from each initiator: " + "; ".join(
        f"{each.helper}: {size(to)} to it, {size(back)} from it"
        for each, to, back in zip(there, sent, received, strict=True)
    )
    ways = {"sent": "to", "received": "from"}
    rows = tuple(
        (
            each.helper,
            ways[row.direction],
            row.type,
            WORDS.get(row.type, "no message of a run"),
            f"{row.messages:,}",
            size(row.bytes),
        )
        for each in there
        for row in each.rows
    )
    table = PageTable(
        "Messages", ("with", "way", "message", "what it says", "messages", "bytes"), rows, words=(1, 2, 3)
    )
    picture = PagePicture(label, partial(drawn.exchanged, tuple(each.helper for each in there), sent, received))
    return Section("exchange", "What was exchanged", picture=picture, tables=(table,))


def _ledger(view: HelperView) -> Section:
    words = [f"All of this is in the ledger, which is whole: {view.entries:,} entries, none changed or removed."]
    if view.refused:
        words.append(f"{counted(view.refused, 'message')} were refused before they were read.")
    return Section("ledger", "The record", tuple(words))
