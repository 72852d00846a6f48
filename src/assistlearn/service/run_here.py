"""A run at one agent: what the service has of it in memory and, through its store, on disk."""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal, TypeAlias

from assistlearn.alignment import Helper
from assistlearn.alignment.matching import Rows
from assistlearn.protocol import messages as m
from assistlearn.service.holdings import Holdings
from assistlearn.service.part import Part
from assistlearn.service.privacy.run_privacy import RunPrivacy
from assistlearn.service.store import RunStore

Purpose: TypeAlias = Literal["train", "predict"]


class RunHere:
    """What an exchange is given: the agent's holdings, and the run that a request is about.

    Parameters
    ----------
    own : Holdings
        What the agent has.
    store : RunStore
        What it keeps of the run on disk.

    Attributes
    ----------
    aligning : dict
        The alignments that are under way, by their purpose.
    rows_to_predict : ndarray or None
        The agent's rows of the samples that were aligned for prediction.
    voted_on : tuple of int or None
        The first and the last place (exclusive) of the samples that were voted on last.
    permits : callable
        Given the opening of a run, raises if the agent's owner does not allow it to the present asker.
    privacy : RunPrivacy or None
        The owner's rules of ``[privacy]`` in this run; None if there are none.
    """

    def __init__(self, own: Holdings, store: RunStore) -> None:
        self.own = own
        self.store = store
        self.aligning: dict[Purpose, Helper] = {}
        self.rows_to_predict: Rows | None = None
        self.voted_on: tuple[int, int] | None = None
        self.privacy = None if own.privacy is None else RunPrivacy(own.privacy, store, own.fingerprint)
        self.permits: Callable[[m.Open], None] = lambda opening: None
        self._part: Part | None = None

    def place(self, rows: Rows, purpose: Purpose) -> None:
        """Keep the agent's row of each sample: on disk for training, in memory for prediction."""
        if purpose == "train":
            self.store.keep_rows(rows, self.own.fingerprint, self.own.schema)
        else:
            self.rows_to_predict, self.voted_on = rows, None

    def part(self) -> Part:
        """Return the agent's part in the run, rebuilt from the store if it is not in memory."""
        if self._part is None:
            if self.store.ended() is None and self.store.rows() is not None:
                self.store.check_table(self.own.fingerprint, self.own.name)
            self._part = Part.recalled(self.own, self.store)
        return self._part

    def drop_part(self) -> None:
        """Drop the part from memory, where it may be half done. What is on disk is complete."""
        self._part = None
