"""What a helper's page shows: facts from its own store and ledger, but nothing about a person, a column or a file."""

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
        The names of the run, of its initiator and of its method; the method is empty where training never began.
    first, last : str
        When its first and last messages were exchanged, in UTC, to the minute.
    n_training, n_holdout : int
        How many of the agent's samples were trained on, and held out.
    weights : tuple of float or None
        The model weight of each turn of the agent; None where it had no model.
    ended : bool
        Whether training is over.
    votes : int
        How many votes the agent was asked for.
    released : tuple of Released
        What the agent said about a sample, by kind.
    epsilon : float or None
        The epsilon of the labels that the agent was told, if chance had changed them; None for true labels.
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
    """The most that an initiator was told about any one of ``people`` people; counted where the agent file says so."""

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
        The runs that it remembers.
    forgotten : dict of str to int
        Runs that only the ledger knows, with the bits that the agent answered.
    traffic : tuple of Traffic
        What was exchanged with each other agent in all runs of others.
    counted : dict of str to dict
        What the ledger has counted for each initiator since its first entry.
    told : tuple of ToldOf
        What each initiator was told about people.
    refused : int
        How many messages were refused before they were read.
    entries : int
        How many entries the ledger has. None of them was changed or removed.
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
        """Return the view as plain values."""
        return asdict(self)
