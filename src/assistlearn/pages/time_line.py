"""Where the seconds of a run went, from the times of its events.

The time between two facts goes to what the second one ends: an answer ends the wait for it, an initiator's turn ends
its own fit. So the parts add up to the whole.
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
    ResultJudged: ALONE,
    SamplesOpened: PREDICTING,
    Predicted: PREDICTING,
    RunFinished: ENDING,
    RunForgotten: ENDING,
    JobStarted: STARTING,
}
_ORDER = (STARTING, MATCHING, TELLING, TURNS, OWN_FITS, COMBINING, ALONE, ENDING, PREDICTING, OTHER, IDLE)

Key: TypeAlias = tuple[str, str]


class TimeLine:
    """Adds seconds up, event by event.

    Parameters
    ----------
    initiator : str
        Whose work is done without messages.
    """

    def __init__(self, initiator: str) -> None:
        self._initiator = initiator
        self._before: datetime | None = None
        self._seconds: dict[Key, float] = {}
        self._times: dict[Key, int] = {}

    def feed(self, time: datetime | None, event: Event) -> None:
        """Take one more fact; those without a time are passed over."""
        if time is None:
            return
        if self._before is not None:
            key = self._key(event)
            self._seconds[key] = self._seconds.get(key, 0.0) + max((time - self._before).total_seconds(), 0.0)
            self._times[key] = self._times.get(key, 0) + 1
        self._before = time

    def spent(self) -> tuple[Spent, ...]:
        """Return where the seconds went, in the order of a run."""
        keys = sorted(self._seconds, key=lambda key: _ORDER.index(key[0]))
        return tuple(Spent(*key, round(self._seconds[key], 3), self._times[key]) for key in keys)

    def _key(self, event: Event) -> Key:
        match event:
            case Answered(agent=agent, type=type_):
                return _ANSWERS.get(type_, OTHER), agent
            case SamplesDone(agent=agent):
                return MATCHING, agent
            case TurnFinished(agent=agent):
                return (OWN_FITS if agent == self._initiator else TURNS), agent
            case Asked(type="open") | JobStarted():
                return IDLE, ""  # a command has begun: whatever lies before it, nobody worked on it
            case _:
                return _OWN.get(type(event), OTHER), self._initiator
