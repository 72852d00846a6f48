"""What an agent does, read from its own ledger: who asks it for what, its turns, and since when it waits or works.

An entry costs as much at the end of a ledger as at its beginning. Memory grows only with the number of runs: a run that
is no longer listed keeps its figures, for it may speak again.
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, field, replace
from datetime import datetime

from assistlearn.protocol import messages as m
from assistlearn.protocol.entries import Entry
from assistlearn.protocol.messages import type_of

MOST_RUNS = 50
"""How many runs are listed: those with the latest messages."""

LATEST = 12
"""How many turns are listed."""

CONSENT = frozenset(type_of(kind) for kind in (m.Propose, m.Consent))
REQUESTS = frozenset(type_of(kind) for kind in m.REQUESTS) - CONSENT
ENDINGS = {type_of(m.Ended): "trained", type_of(m.Forgotten): "forgotten"}


@dataclass(frozen=True)
class TurnAsked:
    """A turn: who asked for it and when, when it was answered, and with how many bytes."""

    asker: str
    run: str
    turn: int | None
    asked: datetime
    answered: datetime | None = None
    bytes: int = 0

    @property
    def seconds(self) -> float | None:
        """How many seconds the turn took; None while it is not answered."""
        return None if self.answered is None else (self.answered - self.asked).total_seconds()


@dataclass(slots=True)
class RunAsked:
    """A run in which somebody asks this agent for help.

    Attributes
    ----------
    asker, run : str
        The agent that asks, and the name of its run.
    first, last : datetime
        When the first and the last message came or went.
    turns, votes, refused : int
        How many turns, and how many votes, were asked for; how many requests were refused.
    received, sent : int
        How many bytes came in, and how many went out.
    state : str
        Whether the run is in training, is trained or is forgotten.
    """

    asker: str
    run: str
    first: datetime
    last: datetime
    turns: int = 0
    votes: int = 0
    refused: int = 0
    received: int = 0
    sent: int = 0
    state: str = "training"


@dataclass
class AgentStory:
    """Takes the entries of an agent's ledger one by one, and keeps what the live page shows about them.

    Attributes
    ----------
    runs : dict
        The runs that are listed, by asker and name. The run with the latest message is the last.
    older : dict
        The other runs in which the agent was asked.
    turns : deque of TurnAsked
        The latest turns.
    at_work : dict
        The requests that were not answered yet, by asker and run, with their times.
    last, answered : datetime or None
        When the last entry was written, and when the agent last gave an answer.
    asks : int
        How many requests the agent has sent to others, as an initiator.
    turned_away : int
        How many messages were refused unread.
    """

    runs: dict[tuple[str, str], RunAsked] = field(default_factory=dict)
    older: dict[tuple[str, str], RunAsked] = field(default_factory=dict)
    turns: deque[TurnAsked] = field(default_factory=lambda: deque(maxlen=LATEST))
    at_work: dict[tuple[str, str], tuple[Entry, datetime]] = field(default_factory=dict)
    last: datetime | None = None
    answered: datetime | None = None
    asks: int = 0
    turned_away: int = 0

    @property
    def n_runs(self) -> int:
        """How many runs there were in all."""
        return len(self.runs) + len(self.older)

    def feed(self, entry: Entry) -> None:
        """Take one more entry. Requests for the owner's consent, and the answers, are no part of a run."""
        time = self.last = datetime.fromisoformat(entry.time)
        if entry.type in CONSENT:
            return
        is_request = entry.type in REQUESTS
        if entry.direction == "refused":
            self.turned_away += 1
        elif entry.direction == "received" and is_request:
            self._take_request(entry, time)
        elif entry.direction == "sent" and not is_request:
            self._take_answer(entry, time)
        elif entry.direction == "sent":
            self.asks += 1

    def _take_request(self, entry: Entry, time: datetime) -> None:
        self.at_work[entry.peer, entry.run] = entry, time
        run = self._run(entry, time)
        run.received += entry.bytes
        run.state = "training" if entry.type == type_of(m.Open) else run.state
        if entry.type in (type_of(m.TakeTurn), type_of(m.TakeAgain)):
            run.turns += entry.amount or 0
            self.turns.append(TurnAsked(entry.peer, entry.run, entry.turn, time))
        elif entry.type == type_of(m.Predict):
            run.votes += entry.amount or 0

    def _take_answer(self, entry: Entry, time: datetime) -> None:
        self.answered = time
        if not entry.run:
            return  # an answer to a message that could not be read
        self.at_work.pop((entry.peer, entry.run), None)
        run = self._run(entry, time)
        run.sent += entry.bytes
        run.state = ENDINGS.get(entry.type, run.state)
        run.refused += entry.type == type_of(m.Problem)
        for place, turn in enumerate(self.turns):
            if turn.answered is None and (turn.asker, turn.run) == (entry.peer, entry.run):
                self.turns[place] = replace(turn, answered=time, bytes=entry.bytes)

    def _run(self, entry: Entry, time: datetime) -> RunAsked:
        key = entry.peer, entry.run
        run = self.runs.pop(key, None) or self.older.pop(key, None) or RunAsked(entry.peer, entry.run, time, time)
        run.last = time
        self.runs[key] = run
        while len(self.runs) > MOST_RUNS:
            oldest = next(iter(self.runs))
            self.older[oldest] = self.runs.pop(oldest)
            self.at_work.pop(oldest, None)
        return run
