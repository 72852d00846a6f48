"""What an agent has, and never shows."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from assistlearn.agent_files.allowance import ANSWER_WITHIN
from assistlearn.alignment import Ids
from assistlearn.core.groups import Groups
from assistlearn.protocol import messages as m
from assistlearn.service.limits import OwnerLimits
from assistlearn.service.privacy.privacy_keeper import PrivacyKeeper


@dataclass(frozen=True)
class Holdings:
    """What an agent has, and never shows.

    Attributes
    ----------
    name : str
        The agent's name.
    estimator : classifier or None
        Its learner, preprocessing included; None for an initiator that has labels alone.
    ids : Ids
        The ids of its table.
    features : table
        Its features, with rows in the order of the ids; without columns where there is no learner.
    home : path
        Where it keeps its runs and its ledger.
    secret : bytes, optional
        The secret that it shares with the other agents for alignment by keyed hashes.
    allow : callable, optional
        Given the opening of a run, raises ``RefusedError`` if the agent does not allow it, or ``NoConsentError`` if its
        owner can be asked for consent. It is called before every answer, except to ``Forget``.
    answer_within : int, default=14
        Days in which its owner can answer a request for consent before the request expires.
    limits : OwnerLimits, optional
        How much may be asked of it. None: any amount, as where all agents are on one machine of one owner.
    privacy : PrivacyKeeper, optional
        What may be told about the people in its table, and what was told. None: anything may be told, and nothing is
        counted.
    min_effective : float, default=0
        The least effective sample size with which the agent takes a turn.
    proof : bool, default=False
        Whether it tells nothing about a model unless the model is better than chance beyond doubt, on samples that it
        was not fitted to (:mod:`assistlearn.service.proof`).
    fingerprint : str, default=""
        The fingerprint of its table, to notice a change in the middle of a run.
    schema : mapping, optional
        The names and kinds of its columns, as plain values: kept with the models.
    read_as : callable, optional
        Given an earlier schema, returns the features with its columns, found by their names; raises if they do not fit.
    columns : callable, optional
        Returns how the columns are distributed, as plain values: kept with the models.
    accepts_moved_columns : bool, default=False
        Whether it votes although columns have moved far since training.
    known : ndarray of bool, optional
        Which rows have a value in any feature. A helper does not hold the people of the others. All rows by default.
    ignores_case : bool, default=False
        Whether ids that differ only by case are the same.
    groups : ndarray of int, optional
        Which rows are about the same person, as far as its own table says; None where no two are.
    at_home : bool, default=False
        Whether this is the initiator's own agent in a run that it leads: nothing that it says leaves.
    """

    name: str
    estimator: Any
    ids: Ids
    features: Any
    home: Path
    secret: bytes | None = None
    allow: Callable[[m.Open], None] | None = None
    answer_within: int = ANSWER_WITHIN
    limits: OwnerLimits | None = None
    privacy: PrivacyKeeper | None = None
    min_effective: float = 0.0
    proof: bool = False
    fingerprint: str = ""
    schema: Mapping[str, Any] | None = None
    read_as: Callable[[Mapping[str, Any]], Any] | None = None
    columns: Callable[[], Mapping[str, Any]] | None = None
    accepts_moved_columns: bool = False
    known: NDArray[np.bool_] | None = None
    ignores_case: bool = False
    groups: Groups | None = None
    at_home: bool = False

    def held(self) -> tuple[Ids, NDArray[np.intp] | None]:
        """Return the ids of the people whom the agent holds as a helper, and their rows; None for all rows."""
        if self.known is None:
            return self.ids, None
        rows = np.flatnonzero(self.known)
        return Ids(self.ids.take(rows), f"Agent {self.name!r}"), rows

    def features_as(self, schema: Mapping[str, Any] | None) -> Any:
        """Return the features with the columns of this schema, for models that were trained with it."""
        if schema is None or schema == self.schema or self.read_as is None:
            return self.features
        return self.read_as(schema)
