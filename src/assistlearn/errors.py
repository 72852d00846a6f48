"""All errors, in one tree: each says what is wrong, where, with the numbers, and what to do."""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Iterator
from contextlib import contextmanager

# All of them are also the built-in error that scikit-learn's users expect (``ValueError``, mostly), so that existing
# ``except`` clauses keep working.


class AssistLearnError(Exception):
    """The root of the tree: catch this to catch them all.

    Attributes
    ----------
    others : tuple of AssistLearnError
        What else is wrong, where several things were checked. Only the first error is raised.
    """

    others: tuple[AssistLearnError, ...] = ()


class SettingsError(AssistLearnError, ValueError):
    """A setting, parameter or option has a value that it cannot have.

    What to do: Use one of the values that the message names.
    """


class ColumnsError(AssistLearnError, ValueError):
    """The columns of an agent are unknown, empty, or given twice.

    What to do: Compare the names of the columns with those of the data.
    """


class LearnerError(AssistLearnError, ValueError):
    """The learner of an agent failed, or its answer cannot be used.

    What to do: Try the learner alone on the same table. The message says what it raised.
    """


class LearnerTypeError(LearnerError, TypeError):
    """The learner of an agent raised a ``TypeError``.

    What to do: As for :class:`LearnerError`; often a parameter of the learner has the wrong type.
    """


class DescriptionError(AssistLearnError, ValueError):
    """An agent file or task file has a wrong key, type or value.

    What to do: Correct the key that the message names, then run ``assistlearn check``.
    """


class WrongKeyError(DescriptionError):
    """A key of a file has a wrong value, or one that does not fit another key.

    What to do: Correct the key that the message names, then run ``assistlearn check``.
    """

    def __init__(self, key: str, message: str) -> None:
        super().__init__(message)
        self.key = key


class TableError(AssistLearnError, ValueError):
    """An agent's table cannot be read, or cannot be used as it is.

    What to do: Correct the table, or the keys of the agent file that say how to read it.
    """


class MissingTableError(TableError, FileNotFoundError):
    """There is no file where the agent's table should be.

    What to do: Check the path in the agent file. Relative paths begin at the folder of that file.
    """


class UntrustedFileError(AssistLearnError, ValueError):
    """A saved model holds types that you have not said to trust.

    What to do: If you know who made the file, name the types in ``trusted``. If not, do not load it.
    """


class AlignmentError(AssistLearnError, ValueError):
    """The agents cannot agree on the samples that they share, or a table is no longer what a run was begun with.

    What to do: Compare ``alignment``, the secret and the ids at both sides. Where a table has changed, bring the old
    one back and resume; or train on with the new one: ``assistlearn train --from RUN``.
    """


class IdsError(AlignmentError):
    """Ids are missing, given twice, or of a type that cannot name a sample.

    The message shows ids: it is for their owner.

    What to do: Correct the ids in the table, or name the right id columns in the agent file.
    """


class OverlapError(AlignmentError):
    """The agents share no samples, or too few.

    What to do: Compare how both sides write their ids: ``assistlearn check`` with all agent files. Check that both have
    the same secret.
    """


class MissingExtraError(AssistLearnError, ImportError):
    """A package is needed that is not installed.

    What to do: Type the install line at the end of the message.
    """


class ProtocolError(AssistLearnError, ValueError):
    """A message is malformed, or says something that cannot be true.

    What to do: Use the same release at all agents. If they are the same, ask the sender what runs there.
    """


class OutOfOrderError(ProtocolError):
    """A message is well formed, but cannot come at this moment.

    What to do: Resume the run. If it comes again, report it.
    """


class RefusedError(AssistLearnError):
    """Another agent refused a request. The message says why.

    What to do: Do what the reason says, or ask the owner of that agent.
    """


class FailedThereError(RefusedError):
    """Another agent failed: it may do what it was asked for, but something went wrong there.

    What to do: Ask the owner of that agent to look into ``problems.log`` in its folder of models.
    """


class NoConsentError(RefusedError):
    """The owner of an agent has not decided yet whether a run is allowed.

    What to do: Nothing: ``train`` asks for consent by itself.
    """


class ConsentAwaitedError(AssistLearnError):
    """Owners were asked for consent and have not answered yet. The message says who, and since when.

    What to do: Wait, and give the same command again; or add ``--wait MINUTES``.
    """


class RequestsError(AssistLearnError, ValueError):
    """A request for consent is unknown at an agent, or its file was changed or damaged.

    What to do: List the requests: ``assistlearn requests FILE``.
    """


class SitsOutError(RefusedError):
    """Another agent sits out a turn because its owner has set limits. The run goes on.

    What to do: Nothing, or ask its owner for higher limits.
    """


class CannotGoOnError(RefusedError):
    """Turns of an earlier run cannot be taken again. The message says why.

    What to do: Train anew without ``--from``; or leave out ``--require-kept``, so that this agent trains anew.
    """


class StartedAnewError(RefusedError):
    """Another agent was started again in the middle of its work, and has lost what was not on its disk.

    What to do: Give the command again, or resume the run.
    """


class UnreachableError(AssistLearnError, ConnectionError):
    """An agent does not answer: its process has ended, hangs, or cannot be reached.

    What to do: Check that it runs, then resume. For a slow learner, raise ``--timeout``.
    """


class AgentGoneError(UnreachableError):
    """An agent cannot be reached, and the run goes on without it.

    What to do: Nothing; set ``absent`` to "stop" if runs should stop instead.
    """

    def __init__(self, agent: str, reason: str) -> None:
        super().__init__(f"Agent {agent!r} is gone: {reason}")
        self.agent = agent
        self.reason = reason


class DoubtedError(AgentGoneError):
    """An agent sent something that cannot be true. The run goes on without it, and nothing that it said counts.

    What to do: Talk to its owner before you work with it again.
    """


class NetworkError(AssistLearnError, ConnectionError):
    """The network between organisations does not work: the relay, a certificate, a kit or a job.

    What to do: Run ``assistlearn site check`` at the organisation that the message names.
    """


class BusyError(AssistLearnError, BlockingIOError):
    """More is asked for at the same time than can be answered soon.

    What to do: Ask again later, or ask less at a time.
    """


class RunError(AssistLearnError, ValueError):
    """The folder of a run is missing, damaged, or belongs to another run.

    What to do: Check the path. A damaged run cannot be resumed: restore it from a backup, or train again.
    """


class DiskError(RunError, OSError):
    """A file cannot be written: the disk is full, or writing is not allowed.

    What to do: Make room or change the rights of the folder, then resume.
    """


class InterruptedRunError(RunError):
    """You have interrupted a run.

    What to do: Resume it with the command that the message names.
    """


class LedgerError(AssistLearnError, ValueError):
    """A ledger was changed after it was written.

    What to do: Bring the ledger back from a backup, and ask who changed it.
    """


class Problems:
    """Gathers the errors of several checks, so that all of them can be said at once.

    Examples
    --------
    >>> problems = Problems()
    >>> for key in ("colour", "size"):
    ...     with problems.gathered():
    ...         raise SettingsError(f"{key} is wrong")
    >>> try:
    ...     problems.settle()
    ... except SettingsError as error:
    ...     print(error, error.others)
    colour is wrong (SettingsError('size is wrong'),)
    """

    def __init__(self) -> None:
        self.found: list[AssistLearnError] = []

    @contextmanager
    def gathered(self) -> Iterator[None]:
        """Keep an error of the checks inside, and go on after them."""
        try:
            yield
        except AssistLearnError as error:
            self.add(error)

    def add(self, error: AssistLearnError) -> None:
        self.found += [error, *error.others]
        error.others = ()

    def settle(self) -> None:
        """Raise the first error, with the others; do nothing if there is none."""
        if self.found:
            first, *more = self.found
            first.others = tuple(more)
            raise first


class AssistLearnWarning(UserWarning):
    """Something works, but probably not as the user hopes."""


def did_you_mean(word: str, known: Iterable[str]) -> str:
    """Return a blank and a sentence with the nearest known word; an empty text where no word is near.

    >>> did_you_mean("exlude", ["include", "exclude"])
    " Did you mean 'exclude'?"
    >>> did_you_mean("ID", ["id", "age"])
    " Did you mean 'id'?"
    >>> did_you_mean("weather", ["id", "age"])
    ''
    >>> did_you_mean("lable", ["table", "label"])
    " Did you mean 'label'?"
    """
    by_folded = {name.casefold(): name for name in known}
    folded = word.casefold()
    near = difflib.get_close_matches(folded, by_folded, n=3, cutoff=0.6)
    near.sort(key=lambda name: sorted(name) != sorted(folded))  # a word of the same letters comes first
    return f" Did you mean {by_folded[near[0]]!r}?" if near else ""


def listed(names: Iterable[object], at_most: int = 20) -> str:
    """Return names for an error message: the first ones, and how many more there are.

    >>> listed(["a", "b", "c"], at_most=2)
    "'a', 'b' and 1 more"
    """
    shown = list(names)
    text = ", ".join(repr(name) for name in shown[:at_most])
    return text if len(shown) <= at_most else f"{text} and {len(shown) - at_most} more"
