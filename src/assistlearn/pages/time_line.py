"""Find out where the seconds of a run went, from the times of its events.

The time between two events counts for the work that the second one ends: an answer ends the wait for it, and an
initiator's turn ends its own fit. So the parts add up to the whole.
"""

from __future__ import annotations

from datetime import datetime
from typing import TypeAlias

from assistlearn.events import (
    Answered,
    Asked,
    CombinationLearned,
    Event,
    JobStarted,
    LabelsTold,
    Predicted,
    ResultJudged,
    RoundFinished,
    RunFinished,
    RunForgotten,
    SamplesDone,
    SamplesMatched,
    SamplesOpened,
    SamplesSettled,
    TurnFinished,
)
from assistlearn.pages.view import Spent

MATCHING, TELLING, TURNS, OWN_FITS = "matching samples", "telling the task", "turns", "own turns"
COMBINING, ALONE, ENDING = "putting votes together", "training alone, to compare", "ending the run"
PREDICTING, STARTING, IDLE, OTHER = "predicting", "starting to work together", "nobody at work", "all else"

_ANSWERS = {
    "opened": STARTING,
    "aligned": MATCHING,
    "ready": TELLING,
    "recalled": TELLING,
    "turn-taken": TURNS,
    "ended": ENDING,
    "scores": PREDICTING,
    "forgotten": ENDING,
}
_OWN: dict[type[Event], str] = {
    SamplesMatched: MATCHING,
    SamplesSettled: MATCHING,
    LabelsTold: TELLING,
    RoundFinished: COMBINING,
    CombinationLearned: COMBINING,
    SamplesOpened: PREDICTING,
    Predicted: PREDICTING,
    RunFinished: ENDING,
    RunForgotten: ENDING,
    JobStarted: STARTING,
}
_ORDER = (STARTING, MATCHING, TELLING, TURNS, OWN_FITS, COMBINING, ALONE, ENDING, PREDICTING, OTHER, IDLE)

Key: TypeAlias = tuple[str, str]


class TimeLine:
    """Adds up seconds, event by event.

    Parameters
    ----------
    initiator : str
        The agent whose own work needs no messages.
    is_pilot : bool
        Whether the command goes on when training is over.
    label_only : bool
        Whether the initiator has labels alone, and does not train by itself to compare.
    """

    def __init__(self, initiator: str, is_pilot: bool = False, label_only: bool = False) -> None:
        self._initiator = initiator
        self._is_pilot = is_pilot
        self._judging = COMBINING if label_only else ALONE
        self._before: datetime | None = None
        self._seconds: dict[Key, float] = {}
        self._times: dict[Key, int] = {}
        self._begun: set[Key] = set()
        self._is_over = False
        self._is_idle = False

    def feed(self, time: datetime | None, event: Event) -> None:
        """Add one more event; an event without a time is ignored."""
        if time is None:
            return
        if self._before is not None:
            key = (IDLE, "") if self._is_idle or self._begins_anew(event) else self._key(event)
            self._seconds[key] = self._seconds.get(key, 0.0) + max((time - self._before).total_seconds(), 0.0)
            told = isinstance(event, TurnFinished) and event.agent != self._initiator  # its answer was counted
            self._times[key] = self._times.get(key, 0) + (not told)
        self._before = time
        self._note(event)

    def spent(self) -> tuple[Spent, ...]:
        """Return where the seconds went, in the order of a run."""
        keys = sorted(self._seconds, key=lambda key: _ORDER.index(key[0]))
        return tuple(Spent(*key, round(self._seconds[key], 3), self._times[key]) for key in keys)

    def _begins_anew(self, event: Event) -> bool:
        """Whether an event shows that a command resumes the run, because it comes again. Before it, nobody worked."""
        return _beginning(event) in self._begun

    def _note(self, event: Event) -> None:
        """Remember the first events of a command, and whether a command has ended."""
        begins = _beginning(event)
        if begins is not None:
            self._begun.add(begins)
        self._is_over |= isinstance(event, RunFinished)
        ends = isinstance(event, Predicted | RunForgotten) or (isinstance(event, RunFinished) and not self._is_pilot)
        self._is_idle = ends

    def _key(self, event: Event) -> Key:
        match event:
            case Answered(agent=agent, type=type_):
                what = _ANSWERS.get(type_, OTHER)
            case SamplesDone(agent=agent):
                what = MATCHING
            case TurnFinished(agent=agent):
                what = OWN_FITS if agent == self._initiator else TURNS
            case ResultJudged():
                what, agent = self._judging, self._initiator
            case _:
                what, agent = _OWN.get(type(event), OTHER), self._initiator
        return PREDICTING if self._is_over and what in (STARTING, MATCHING, TELLING) else what, agent


def _beginning(event: Event) -> Key | None:
    """Return what an event begins, and with which agent; None for an event that does not begin a command."""
    match event:
        case Asked(type="open" | "begin", agent=agent):
            return event.type, agent
        case JobStarted():
            return "job", ""
        case _:
            return None
