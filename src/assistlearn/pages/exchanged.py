"""Count the messages and bytes exchanged with each helper, by type, from events or from the ledger."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Literal

from assistlearn.pages.messages_in_words import WORDS
from assistlearn.pages.view import MessageRow, Traffic
from assistlearn.protocol.entries import Entry

PLACES = tuple(WORDS)


class Exchanged:
    """Counts messages by helper, direction and type."""

    def __init__(self) -> None:
        self._counts: dict[tuple[str, str, str], list[int]] = {}

    @classmethod
    def of_ledger(cls, entries: Iterable[Entry]) -> Exchanged:
        """Count the messages among a ledger's entries of a run."""
        found = cls()
        for entry in entries:
            if entry.direction in ("sent", "received"):
                found.count(entry.peer, entry.direction, entry.type, entry.bytes)
        return found

    def count(self, helper: str, direction: Literal["sent", "received"], type: str, n_bytes: int) -> None:
        """Count one more message."""
        counts = self._counts.setdefault((helper, direction, type), [0, 0])
        counts[0] += 1
        counts[1] += n_bytes

    @property
    def names(self) -> list[str]:
        """The agents with which messages were exchanged."""
        return sorted({who for who, _, _ in self._counts if who})

    def rows_of(self, helper: str) -> tuple[MessageRow, ...]:
        """Return the counts of one helper, in the order of a run."""
        found: list[MessageRow] = []
        for (who, direction, type_), (messages, n_bytes) in self._counts.items():
            if who == helper and direction in ("sent", "received"):
                found.append(MessageRow("sent" if direction == "sent" else "received", type_, messages, n_bytes))
        return tuple(sorted(found, key=lambda row: (row.direction == "received", _place(row.type), row.type)))

    def exchanges(self, helpers: Sequence[str], turns: dict[str, int], n_samples: int | None) -> tuple[Traffic, ...]:
        """Return what was exchanged with each helper; ``turns`` is the number of turns that each has taken."""
        return tuple(self._exchange(helper, turns.get(helper, 0), n_samples or 0) for helper in helpers)

    def _exchange(self, helper: str, turns: int, n_samples: int) -> Traffic:
        rows = self.rows_of(helper)
        bits = [
            8 * sum(row.bytes for row in rows if row.type in types) / (turns * n_samples) if turns * n_samples else None
            for types in (("take-turn", "take-again"), ("turn-taken",))
        ]
        return Traffic(helper, rows, turns, *bits)


def _place(type_: str) -> int:
    return PLACES.index(type_) if type_ in PLACES else len(PLACES)
