"""Whether columns of an agent's table have moved: whether their values are far from those in training."""

from __future__ import annotations

from assistlearn.errors import MovedColumnsError
from assistlearn.service.holdings import Holdings
from assistlearn.service.problem_log import note_problem
from assistlearn.service.store import RunStore
from assistlearn.tables.distribution import moved


def moved_columns(own: Holdings, store: RunStore) -> list[str]:
    """Return which columns of a table have moved far since a run was trained, in words for its owner.

    The list is empty if the table is the same, or if the agent does not keep how columns are distributed.
    """
    then = store.columns()
    if then is None or own.columns is None or store.fingerprint() == own.fingerprint:
        return []
    return moved(then, own.columns())


def check_columns(own: Holdings, store: RunStore) -> None:
    """Tell the owner which columns have moved far, and refuse to vote with them unless the owner accepts it.

    Others are not told which columns these are, or how they have moved.
    """
    words = moved_columns(own, store)
    if not words:
        return
    lines = "".join(f"  {each}\n" for each in words)
    told = f"Run {store.folder.name!r}: the table has changed since training, as if units had changed:\n{lines}"
    note_problem(own.home, told)
    if not own.accepts_moved_columns:
        raise MovedColumnsError(
            f"Agent {own.name!r}: {len(words)} of the columns of its table have moved far since training, as if their "
            "units had changed. Its votes would mean nothing. Its owner finds the columns in problems.log, and "
            'corrects the table, or accepts the change: moved_columns = "accept" in the agent file.'
        )
