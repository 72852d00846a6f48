"""Two agents' tables on one machine, side by side: whether their ids match, and whether a helper has the label."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import polars as pl

from assistlearn.agent_files.suggestion import listed
from assistlearn.alignment.id_column import normalise, without_case
from assistlearn.alignment.samples import Minimum
from assistlearn.errors import OverlapError
from assistlearn.tables.label_column import tells_labels
from assistlearn.tables.loading import LoadedAgent

FEW = 0.1
"""If a helper holds a smaller share of the initiator's samples, the ids are probably written differently."""

IGNORE_CASE = 'If ids that differ only by case mean the same person, add to the files of both: id_case = "ignore".'
_CASE = "upper and lower case were the same"

_OTHER_WAYS: dict[str, Callable[[pl.Series], pl.Series]] = {
    "leading zeros were removed": lambda ids: ids.str.replace(r"^0+(\d)", "$1"),
    _CASE: without_case,
    "only letters and digits counted": lambda ids: ids.str.replace_all(r"[^\pL\pN]", ""),
    "only digits counted": lambda ids: ids.str.replace_all(r"\D", "").str.replace(r"^0+(\d)", "$1"),
}


def overlap(initiator: LoadedAgent, helper: LoadedAgent) -> int:
    """Return how many of the initiator's samples a helper holds; raise ``OverlapError`` if they are too few."""
    own, theirs = normalise(initiator.table.ids), _held(helper)
    shared = _shared(own, theirs)
    try:
        Minimum().check(shared, len(own), f"Agent {helper.description.name!r} holds")
    except OverlapError as error:
        hint = _hint(own, theirs, shared)
        if hint:
            error.add_note(hint)
        raise
    return shared


def notes_together(initiator: LoadedAgent, helper: LoadedAgent) -> Iterator[str]:
    """Yield what the owners of two tables should check."""
    own, theirs = normalise(initiator.table.ids), _held(helper)
    shared, name, features = _shared(own, theirs), helper.description.name, helper.table.features.columns
    hint = _hint(own, theirs, shared)
    folded = _shared(without_case(own), without_case(theirs))
    if shared < FEW * len(own) and hint:
        yield f"{name!r} holds {shared:,} of the {len(own):,} samples. {hint}"
    elif folded > shared:
        yield (
            f"{name!r} holds {shared:,} of the {len(own):,} samples, and would hold {folded:,} if upper and lower case "
            f"were the same. {IGNORE_CASE}"
        )
    label = initiator.description.label
    if label in features:
        yield (
            f"{name!r} has a feature {label!r}, which is the name of the label. If it is the label, exclude it in its "
            "file."
        )
    copies = [column for column in features if column != label and _tells(initiator, helper, column)]
    if copies:
        yield f"{name!r} has the values of the label in {listed(copies)}. If that is the label, exclude it in its file."


def _held(helper: LoadedAgent) -> pl.Series:
    """Return the ids of the people about whom a helper knows anything."""
    ids, known = normalise(helper.table.ids), helper.table.says_something()
    return ids if known is None else ids.filter(known)


def _shared(own: pl.Series, theirs: pl.Series) -> int:
    return int(own.is_in(theirs.implode()).sum())


def _hint(own: pl.Series, theirs: pl.Series, shared: int) -> str:
    """Return advice on how to write ids so that many more match; an empty text where no such way is known."""
    for way, change in _OTHER_WAYS.items():
        here, there = change(own), change(theirs)
        found = _shared(here, there)
        if found > 2 * shared + 10 and here.n_unique() == len(here):
            remedy = IGNORE_CASE if way == _CASE else "Write ids in the same way in both tables."
            return f"{found:,} would match if {way}. {remedy}"
    return ""


def _tells(initiator: LoadedAgent, helper: LoadedAgent, column: str) -> bool:
    """Return whether a helper's column is the label, on the samples that both agents hold."""
    labels = initiator.table.labels
    assert labels is not None
    left = pl.DataFrame({"id": normalise(initiator.table.ids), "label": labels}).drop_nulls()
    right = pl.DataFrame({"id": normalise(helper.table.ids), "value": helper.table.features[column]})
    both = left.join(right, on="id")
    return tells_labels(both["value"], both["label"])
