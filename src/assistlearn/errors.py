"""Every error that assistlearn raises on purpose, in one tree.

Each says what is wrong, where (agent, column, round, file), and what to do. All of them are also the built-in error
that scikit-learn's users expect (``ValueError``, mostly), so that existing ``except`` clauses keep working.
"""

from __future__ import annotations


class AssistLearnError(Exception):
    """The root of the tree: catch this to catch them all."""


class SettingsError(AssistLearnError, ValueError):
    """A parameter has a value it cannot have."""


class ColumnsError(AssistLearnError, ValueError):
    """An agent's columns are unknown, empty or ambiguous."""


class LearnerError(AssistLearnError, ValueError):
    """An agent's private estimator failed, or answered something that cannot be used."""


class LearnerTypeError(LearnerError, TypeError):
    """The same, where the estimator itself raised a ``TypeError``."""


class DescriptionError(AssistLearnError, ValueError):
    """An agent's file says something that cannot be: a key, a type, a value."""


class WrongKeyError(DescriptionError):
    """A key of a file has a value that cannot be, or that does not go with those of other keys."""

    def __init__(self, key: str, message: str) -> None:
        super().__init__(message)
        self.key = key


class TableError(AssistLearnError, ValueError):
    """An agent's table cannot be read, or cannot be used as it is."""


class MissingTableError(TableError, FileNotFoundError):
    """There is no file where the agent's table should be."""


class UntrustedFileError(AssistLearnError, ValueError):
    """A saved model holds types that nobody has said to trust."""


class AlignmentError(AssistLearnError, ValueError):
    """The agents cannot agree on the samples they share."""


class IdsError(AlignmentError):
    """Ids that are missing, repeated, or of a type that cannot name a sample; shows ids, so it is for their owner."""


class OverlapError(AlignmentError):
    """The agents share no samples, or too few."""


class TableChangedError(AlignmentError):
    """A table no longer holds the samples that a run was aligned on."""


class MovedColumnsError(AlignmentError):
    """The values of a table's columns are far from those that its models were trained with."""


class MissingExtraError(AssistLearnError, ImportError):
    """A part that needs a package which is not installed."""


class MissingDataError(AssistLearnError, FileNotFoundError):
    """A data set's file was not found, and could not be downloaded."""


class CorruptDataError(AssistLearnError, ValueError):
    """A data set's file is not what it should be."""


class ProtocolError(AssistLearnError, ValueError):
    """A message is malformed, or says something that cannot be."""


class OutOfOrderError(ProtocolError):
    """A message that is well formed, but not what can come now."""


class RefusedError(AssistLearnError):
    """Another agent refused a request; says why."""


class FailedThereError(RefusedError):
    """An agent could not do what it was asked for: not that it may not, but that something went wrong there."""


class NoConsentError(RefusedError):
    """An agent's owner has not said whether a run is allowed; the initiator may ask for that."""


class ConsentAwaitedError(AssistLearnError):
    """Agents' owners have been asked whether a run is allowed, and have not answered yet; says who, and since when."""


class RequestsError(AssistLearnError, ValueError):
    """A request for consent is unknown at an agent, or its file has been changed or damaged."""


class SitsOutError(RefusedError):
    """Another agent sits a turn out, as its owner has set limits; the run goes on."""


class CannotGoOnError(RefusedError):
    """Turns of an earlier run cannot be taken again, for a reason that the initiator may know."""


class StartedAnewError(RefusedError):
    """Another agent has started anew in the middle of something, and has forgotten what was not on its disk."""


class UnreachableError(AssistLearnError, ConnectionError):
    """An agent does not answer: its process ended, hangs, or cannot be reached."""


class AgentGoneError(UnreachableError):
    """An agent cannot be reached, and the run goes on without it."""

    def __init__(self, agent: str, reason: str) -> None:
        super().__init__(f"Agent {agent!r} is gone: {reason}")
        self.agent = agent
        self.reason = reason


class DoubtedError(AgentGoneError):
    """An agent is not believed, and the run goes on without it: nothing that it has said counts."""


class NetworkError(AssistLearnError, ConnectionError):
    """The network between organisations does not work: relay, certificates, kits, jobs."""


class BusyError(AssistLearnError, BlockingIOError):
    """More is asked for at once than can be answered soon."""


class RunError(AssistLearnError, ValueError):
    """A run's folder is missing, damaged, or of another run."""


class DiskError(RunError, OSError):
    """A file cannot be written: the disk is full, or refuses."""


class InterruptedRunError(RunError):
    """A run was interrupted by whoever started it; says how to go on."""


class LedgerError(AssistLearnError, ValueError):
    """A ledger has been changed after it was written."""


class AssistLearnWarning(UserWarning):
    """Something works, but probably not as the user hopes."""
