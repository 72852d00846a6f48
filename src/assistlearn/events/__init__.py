"""Every fact of a run, typed, and the log that they are appended to as they happen."""

from assistlearn.events.facts import (
    AgentLeft,
    Answered,
    Asked,
    Event,
    JobStarted,
    Predicted,
    RoundFinished,
    RunFinished,
    RunForgotten,
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
    "JobStarted",
    "Predicted",
    "Recorded",
    "RoundFinished",
    "RunFinished",
    "RunForgotten",
    "SamplesDone",
    "SamplesMatched",
    "SamplesSettled",
    "StopReason",
    "TroubleMet",
    "TurnFinished",
    "UnknownEvent",
    "read",
]
