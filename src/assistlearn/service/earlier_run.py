"""Whether an agent's turns of an earlier run may be taken again: same initiator, same kind of task, same columns."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from assistlearn.errors import CannotGoOnError, RefusedError, RunError
from assistlearn.protocol import messages as m
from assistlearn.protocol.codec import decode
from assistlearn.service.holdings import Holdings
from assistlearn.service.moved_columns import moved_columns
from assistlearn.service.problem_log import note_problem
from assistlearn.service.run_here import RunHere
from assistlearn.service.store import RunStore
from assistlearn.storage.file_digests import REMEDY

SAME = ("method", "n_classes", "loss", "score_bits", "epsilon")
"""The settings that must not change, so that earlier answers mean the same now."""


def check_earlier(run: RunHere, earlier: RunStore) -> None:
    """Raise ``CannotGoOnError`` where turns of an earlier run may not be taken again.

    The error does not reveal whether there is a run with this name of another initiator.
    """
    name, initiator = earlier.folder.name, run.store.opened()["initiator"]
    if not earlier.exists or earlier.opened()["initiator"] != initiator:
        raise CannotGoOnError(f"it knows no run {name!r} of {initiator!r}; if there was one, it was forgotten")
    if earlier.ended() is None:
        raise CannotGoOnError(f"run {name!r} is not finished here")
    try:
        run.permits(m.Open(**earlier.opened()))
    except RefusedError as error:
        raise CannotGoOnError(f"its owner no longer allows run {name!r}: {error}") from None
    _check_task(run, earlier)
    _check_table(run.own, earlier)


def _check_task(run: RunHere, earlier: RunStore) -> None:
    before, now = earlier.task(), run.store.task()
    if before is None or now is None:
        raise RunError(f"{earlier.folder / 'begin.msg'} is missing. {REMEDY}")
    tasks = decode(before), decode(now)
    other = [key for key in SAME if getattr(tasks[0], key) != getattr(tasks[1], key)]
    if other:
        raise CannotGoOnError(f"run {earlier.folder.name!r} had another value of {other[0]}")


def _check_table(own: Holdings, earlier: RunStore) -> None:
    """Refuse models for columns that are no longer there, or that have moved far."""
    if _columns(earlier.schema()) != _columns(own.schema):
        raise CannotGoOnError("the columns of its table are not those that its models were fitted to")
    words = moved_columns(own, earlier)
    if words and not own.accepts_moved_columns:
        told = f"Run {earlier.folder.name!r}: the table has changed, as if units had changed:"
        note_problem(own.home, "\n".join([told, *words]))
        raise CannotGoOnError(f"{len(words)} of its columns have moved far since then, as if their units had changed")


def _columns(schema: Mapping[str, Any] | None) -> list[tuple[str, str]]:
    """Return the names and kinds of the columns."""
    return [] if schema is None else [(column["name"], column["kind"]) for column in schema["columns"]]
