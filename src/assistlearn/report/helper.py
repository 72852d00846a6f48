"""The page of a helper, from its own side: who asked, what it answered, and what left it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from assistlearn.agent.file import AgentDescription
from assistlearn.agent.limits import ToldBook, told_at
from assistlearn.agent.releases import forgotten_runs, releases_of, runs_as_helper
from assistlearn.agent.store import RunStore, ledger_of, run_folder
from assistlearn.core.ignorance import NEGLIGIBLE
from assistlearn.evaluation.words import counted, figure, listed, size
from assistlearn.protocol import messages as m
from assistlearn.protocol.codec import ReleasedBits, decode, type_of
from assistlearn.protocol.ledger import Entry, entries_of, followed, read
from assistlearn.report import pictures as drawn
from assistlearn.report.page import Frame, PagePicture, PageTable, Section, page
from assistlearn.report.run import bytes_drawn, release_in_words
from assistlearn.report.story import WORDS, Traffic, traffic_with


@dataclass(frozen=True)
class HelpedRun:
    """A run in which the agent has helped.

    ``method`` is empty where training never began; ``first`` and ``last`` are the times of messages, in UTC, to the
    minute; ``weights`` are None where it had no model; ``epsilon`` is None for true labels.
    """

    run: str
    initiator: str
    method: str
    first: str
    last: str
    n_training: int
    n_holdout: int
    weights: tuple[float | None, ...]
    ended: bool
    votes: int
    released: tuple[ReleasedBits, ...]
    epsilon: float | None = None


@dataclass(frozen=True)
class HelperView:
    """Everything that a helper's page shows: facts of its store and ledger, nothing about a person, column or file.

    ``forgotten`` has the bits of runs that only the ledger knows; ``traffic`` is of all runs of others; ``counted`` is
    what the ledger has counted for each initiator since its first entry.
    """

    agent: str
    runs: tuple[HelpedRun, ...]
    forgotten: dict[str, int] = field(default_factory=dict)
    traffic: tuple[Traffic, ...] = ()
    counted: dict[str, dict[str, int]] = field(default_factory=dict)
    told: tuple[dict[str, Any], ...] = ()
    refused: int = 0
    entries: int = 0

    def to_dict(self) -> dict[str, Any]:
        return asdict(self)


MOST_DRAWN = 6
"""The picture of model weights shows at most this many runs, the latest."""

UNITS = {"runs": "runs", "turns": "turns", "ids": "ids asked about", "votes": "votes", "bits": "bits answered"}


def helper_page(view: HelperView) -> str:
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
        *("run", "asked by", "method", "since", "last message"),
        *("trained on", "held out", "turns", "votes", "training"),
    )
    rows = tuple(
        (
            *(run.run, run.initiator, run.method or "-", run.first, run.last),
            *(f"{count:,}" for count in (run.n_training, run.n_holdout, len(run.weights), run.votes)),
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
    lists = [(f"Run {run.run}, to {run.initiator}", tuple(_of_run(run))) for run in view.runs]
    if view.forgotten:
        gone = tuple(f"Run {name}: {bits:,} bits, about all samples together." for name, bits in view.forgotten.items())
        lists.append(("Runs that are forgotten here, as the ledger has them", gone))
    told = tuple(
        f"{each['initiator']} was told about {each['people']:,} people; about one person at most {each['bits']:,g} "
        f"bits, {counted(each['predictions'], 'prediction')}"
        + (f" and epsilon {each['epsilon']:.1f}." if each["epsilon"] else ".")
        for each in view.told
    )
    if told:
        lists.append(("Counted person by person", told))
    units = [unit for unit in UNITS if any(unit in counts for counts in view.counted.values())]
    rows = tuple((peer, *(f"{counts.get(unit, 0):,}" for unit in units)) for peer, counts in view.counted.items())
    table = PageTable("Counted for each initiator, for good", ("initiator", *(UNITS[unit] for unit in units)), rows)
    return Section("leaving", "What left", words, lists=tuple(lists), tables=(table,))


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
    by_turn = {
        turn + 1: tuple(run.weights[turn] if turn < len(run.weights) else None for run in runs) for turn in range(most)
    }
    names = tuple(run.run for run in runs)
    words = ("How much the votes of its models count, turn by turn.",)
    label = "Curves of the model weights against the agent's own turns. " + " ".join(
        f"Run {run.run}: {counted(len(run.weights), 'turn')}." for run in runs
    )
    rows = tuple((str(turn), *map(figure, weights)) for turn, weights in by_turn.items())
    table = PageTable("Model weights by turn", ("turn", *names), rows)
    picture = PagePicture(label, drawn.weights, (names, by_turn, "own turn"))
    return Section("weights", "Model weights", words, picture=picture, tables=(table,))


def _exchange(view: HelperView) -> Section | None:
    if not view.traffic:
        return None
    rows = tuple(
        (
            *(each.helper, "to" if direction == "sent" else "from", type_, WORDS.get(type_, "no message of a run")),
            *(f"{messages:,}", size(n_bytes)),
        )
        for each in view.traffic
        for direction, type_, messages, n_bytes in each.rows()
    )
    columns = ("with", "way", "message", "what it says", "messages", "bytes")
    table = PageTable("Messages", columns, rows, words=(1, 2, 3))
    picture = bytes_drawn(view.traffic, "initiator")
    return Section("exchange", "What was exchanged", picture=picture, tables=(table,))


def _ledger(view: HelperView) -> Section:
    words = [f"All of this is in the ledger, which is whole: {view.entries:,} entries, none changed or removed."]
    if view.refused:
        words.append(f"{counted(view.refused, 'message')} were refused before they were read.")
    return Section("ledger", "The record", tuple(words))


# -- what the agent's own store and ledger know

FIRST = (type_of(m.Open), type_of(m.Propose))


def helper_view(agent: AgentDescription) -> HelperView:
    """Return what an agent knows about its help, from its own files; raise ``LedgerError`` for a damaged ledger."""
    home, path = agent.models, ledger_of(agent.models)
    chain = followed(path)
    names = runs_as_helper(home, agent.name)
    runs = [_run(home, name, entries_of(path, name)) for name in names]
    messages: dict[str, Traffic] = {}
    own: set[str] = set()
    refused = 0
    for entry in read(path):  # once, and without keeping the entries: a ledger can be long
        if entry.direction == "sent" and entry.type in FIRST:
            own.add(entry.run)
        if entry.direction == "refused":
            refused += 1
        elif entry.direction in ("sent", "received") and entry.run not in own:
            traffic_with(messages, entry.peer).count(entry.direction, entry.type, entry.bytes)
    return HelperView(
        agent.name,
        tuple(sorted(runs, key=lambda run: run.first)),
        {run: bits for run, bits in forgotten_runs(path, names).items() if run not in own},
        tuple(messages[peer] for peer in sorted(messages) if peer),
        {peer: dict(count.units) for peer, count in sorted(chain.tally.peers.items()) if count.units},
        tuple(told_at(ToldBook(home / "told"))),
        refused,
        chain.number,
    )


def _run(home: Path, name: str, entries: Sequence[Entry]) -> HelpedRun:
    store, found = RunStore(run_folder(home, name)), releases_of(home, name, entries)
    times = [entry.time[:16].replace("T", " ") for entry in entries] or [""]
    asked = [entry for entry in entries if entry.direction == "received" and entry.type == type_of(m.Predict)]
    return HelpedRun(
        name,
        *(found.initiator, found.method, times[0], times[-1], found.n_samples, found.n_holdout),
        tuple(_weights_of(store)),
        store.ended() is not None,
        sum(entry.amount or 0 for entry in asked),
        found.releases,
        found.epsilon,
    )


def _weights_of(store: RunStore) -> Iterator[float | None]:
    """Yield the model weight of each turn, as the agent itself has told it; None where it had no model."""
    for past in store.past_turns():
        reply = decode(past.reply)
        if isinstance(reply, m.TurnTaken):
            yield reply.model_weight if reply.model_weight > NEGLIGIBLE else None
