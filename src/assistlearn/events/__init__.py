"""Every fact of a run, typed, and the log that they are appended to as they happen."""

from assistlearn.events.facts import (
    AgentLeft,
    Answered,
    Asked,
    Event,
    Forgotten,
    JobStarted,
    Predicted,
    RoundFinished,
    RunFinished,
    SamplesDone,
    SamplesMatched,
    SamplesSettled,
    StopReason,
    TroubleMet,
    TurnFinished,
    UnknownEvent,
)
from assistlearn.events.log import EventLog, Recorded, read

__all__ = [
    "AgentLeft",
    "Answered",
    "Asked",
    "Event",
    "EventLog",
    "Forgotten",
    "JobStarted",
    "Predicted",
    "Recorded",
    "RoundFinished",
    "RunFinished",
    "SamplesDone",
    "SamplesMatched",
    "SamplesSettled",
    "StopReason",
    "TroubleMet",
    "TurnFinished",
    "UnknownEvent",
    "read",
]
