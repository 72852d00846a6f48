"""What a problem is: a table, its labels, who knows which columns, and how it is cut into training and test samples."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np
from sklearn.model_selection import train_test_split

from paper import datasets


@dataclass(frozen=True)
class Cut:
    """One replication of a problem."""

    X_train: np.ndarray
    y_train: np.ndarray
    X_test: np.ndarray
    y_test: np.ndarray
    columns: dict[str, list[int]]


@dataclass(frozen=True)
class Shape:
    """How large every replication of a problem is: samples, classes, and the columns of each agent."""

    training: int
    test: int
    classes: int
    columns: tuple[int, ...]


@dataclass(frozen=True)
class Problem:
    """A problem, the learners that are tried on it, and what is known of it beforehand.

    Attributes
    ----------
    name : str
        What it is called. Of a table that is cut up in another way, the table's name, " x ", and the number of agents.
    cut : callable
        From the seed of a replication to the replication; nothing else changes it.
    learners : tuple of str
        The learners that are tried on it.
    replications : int
        How many replications there are at the most.
    shape : Shape
        How large a replication is. It is stated here so that no data need be read to tell it.
    kept_apart : bool
        Whether no choice of a method or of a default has ever looked at the table, and none may.
    choices : tuple of str
        The choices that are known to have looked at the table, with the seeds of the splits that they looked at.
    interacts : bool or None
        False where the log-odds of the classes are a sum of one function per agent, by the way the data are made. True
        where they are not. None where nobody knows.
    """

    name: str
    cut: Callable[[int], Cut]
    learners: tuple[str, ...]
    replications: int = 100
    shape: Shape = field(kw_only=True)
    kept_apart: bool = field(default=False, kw_only=True)
    choices: tuple[str, ...] = field(default=(), kw_only=True)
    interacts: bool | None = field(default=None, kw_only=True)

    def __post_init__(self) -> None:
        if self.kept_apart and self.choices:
            raise ValueError(
                f"The problem {self.name!r} is said to be kept apart, but its table was looked at for "
                f"{', '.join(self.choices)}. Say kept_apart=False."
            )


def of(data: datasets.DataSet, seed: int, n_train: float | int = 0.7, n_test: int = 4_000) -> Cut:
    columns = {agent: data.columns(agent).tolist() for agent in data.agents}
    return cut(data.features.astype(np.float64), data.labels, columns, seed, n_train, n_test)


def cut(X, y, columns, seed: int, n_train: float | int, n_test: int) -> Cut:
    stratify = y if np.bincount(np.unique(y, return_inverse=True)[1]).min() > 1 else None
    parts = train_test_split(X, y, train_size=n_train, random_state=seed, stratify=stratify)
    return Cut(parts[0], parts[2], parts[1][:n_test], parts[3][:n_test], columns)


def dealt(n_columns: int, n_agents: int) -> dict[str, list[int]]:
    """Deal columns to agents by chance, as evenly as can be. It is the same chance for every replication."""
    shares = np.array_split(np.random.default_rng(0).permutation(n_columns), n_agents)
    return {chr(ord("A") + m): sorted(share.tolist()) for m, share in enumerate(shares)}


def in_order(*widths: int) -> dict[str, list[int]]:
    """Give the first columns to the agent A, the next ones to B, and so on."""
    ends = np.cumsum(widths).tolist()
    return {
        chr(ord("A") + m): list(range(end - width, end))
        for m, (width, end) in enumerate(zip(widths, ends, strict=True))
    }
