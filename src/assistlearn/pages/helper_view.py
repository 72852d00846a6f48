"""What a helper's page shows: what its own store and ledger know, and nothing of a person, a column or a file."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field
from typing import Any

from assistlearn.pages.view import Released, Traffic


@dataclass(frozen=True)
class HelpedRun:
    """A run in which the agent has helped.

    Attributes
    ----------
    run, initiator, method : str
        Which, whose, and how it was trained; no method where it never began.
    first, last : str
        When its first and last messages went, in UTC, to the minute.
    n_training, n_holdout : int
        How many of the agent's samples were trained on, and held out.
    weights : tuple of float or None
        The model weight of each of its turns; None where it had no model.
    ended : bool
        Whether training is over.
    votes : int
        How many votes it was asked for.
    released : tuple of Released
        What it said about a sample, by kind.
    epsilon : float or None
        How far chance had changed the labels that it was told.
    """

    run: str
    initiator: str
    method: str
    first: str
    last: str
    n_training: int
    n_holdout: int
    weights: tuple[float | None, ...]
    ended: bool
    votes: int
    released: tuple[Released, ...]
    epsilon: float | None = None


@dataclass(frozen=True)
class ToldOf:
    """What an initiator was told of the agent's people, of any one at the most; counted where its file says so."""

    initiator: str
    people: int
    bits: float
    predictions: int
    epsilon: float


@dataclass(frozen=True)
class HelperView:
    """Everything that a helper's page shows.

    Attributes
    ----------
    agent : str
        Its name.
    runs : tuple of HelpedRun
        Those that it remembers.
    forgotten : dict of str to int
        Runs of which only the ledger knows, with the bits that it answered.
    traffic : tuple of Traffic
        What went to and fro with each other agent, in all runs.
    counted : dict of str to dict
        What was counted for each initiator, for good.
    told : tuple of ToldOf
        What was told of people.
    refused : int
        Messages that were turned away at the door.
    entries : int
        Of the ledger, which is whole.
    """

    agent: str
    runs: tuple[HelpedRun, ...]
    forgotten: dict[str, int] = field(default_factory=dict)
    traffic: tuple[Traffic, ...] = ()
    counted: dict[str, dict[str, int]] = field(default_factory=dict)
    told: tuple[ToldOf, ...] = ()
    refused: int = 0
    entries: int = 0

    def to_dict(self) -> dict[str, Any]:
        """Return it as plain values."""
        return asdict(self)
