"""Made tables whose truth is known: the exact chance of every class, for any row."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from scipy.special import log_softmax, logsumexp

from bench.accuracy.problems.problem import Cut, in_order

Rng = np.random.Generator


class World(Protocol):
    """Something that rows can be drawn from without end."""

    @property
    def columns(self) -> dict[str, list[int]]:
        """Who knows which columns."""

    def draw(self, n: int, rng: Rng) -> tuple[np.ndarray, np.ndarray]:
        """Draw rows and their classes."""

    def log_chances(self, X: np.ndarray) -> np.ndarray:
        """Return the logarithm of the chance of every class, given a whole row: rows x classes."""


@dataclass(frozen=True)
class Drawn:
    """A problem of which every replication is a world of its own: the seed is that of the world and of its rows."""

    make: Callable[[Rng], World]
    training: int
    test: int = 2_000

    def world(self, seed: int) -> World:
        """Return the world of a replication."""
        return self.make(np.random.default_rng([seed, 0]))

    def __call__(self, seed: int) -> Cut:
        """Draw the rows of a replication."""
        world = self.world(seed)
        X, y = world.draw(self.training + self.test, np.random.default_rng([seed, 1]))
        n = self.training
        return Cut(X[:n], y[:n], X[n:], y[n:], world.columns)


class Part(Protocol):
    """What one agent sees of a sample, given its class alone."""

    width: int

    def draw(self, y: np.ndarray, rng: Rng) -> np.ndarray:
        """Draw the agent's columns of samples of these classes."""

    def log_likelihood(self, X: np.ndarray) -> np.ndarray:
        """Return how likely the columns are under each class, up to what is the same for all: rows x classes."""


@dataclass(frozen=True)
class GivenTheClass:
    """Agents whose columns have nothing in common but the class. The log-odds are a sum over the agents."""

    shares: tuple[float, ...]
    parts: Sequence[Part]

    @property
    def columns(self) -> dict[str, list[int]]:
        """Who knows which columns."""
        return in_order(*(part.width for part in self.parts))

    def draw(self, n: int, rng: Rng) -> tuple[np.ndarray, np.ndarray]:
        """Draw rows and their classes."""
        y = rng.choice(len(self.shares), n, p=self.shares)
        return np.hstack([part.draw(y, rng) for part in self.parts]), y

    def log_chances(self, X: np.ndarray) -> np.ndarray:
        """Return the logarithm of the chance of every class: Bayes' rule."""
        known = zip(self.parts, self.columns.values(), strict=True)
        evidence = sum(part.log_likelihood(X[:, columns]) for part, columns in known)
        return log_softmax(np.log(self.shares) + evidence, axis=1)


class Mixture:
    """Each class is some round Gaussians of the same weight, each of its own width."""

    def __init__(self, rng: Rng, n_classes: int, n_blobs: int, width: int, distance: float) -> None:
        self.width = width
        self.centres = rng.normal(0, distance, (n_classes, n_blobs, width))
        self.spreads = rng.uniform(0.6, 1.4, (n_classes, n_blobs))

    def draw(self, y: np.ndarray, rng: Rng) -> np.ndarray:
        """Draw a Gaussian of the class, then a point of it."""
        which = y, rng.integers(self.spreads.shape[1], size=len(y))
        return self.centres[which] + self.spreads[which][:, None] * rng.normal(size=(len(y), self.width))

    def log_likelihood(self, X: np.ndarray) -> np.ndarray:
        """Return the density of the mixture, less what is the same for all classes."""
        squares = ((X[:, None, None, :] - self.centres) ** 2).sum(axis=-1)
        return logsumexp(-squares / (2 * self.spreads**2) - self.width * np.log(self.spreads), axis=-1)


class Words:
    """Counts of words: each class is a topic, and says some words more often. Texts are 3 to 12 words long."""

    def __init__(self, rng: Rng, n_topics: int, n_words: int, evenness: float) -> None:
        self.width = n_words
        self.chances = rng.dirichlet(np.full(n_words, evenness), n_topics) * 0.9 + 0.1 / n_words

    def draw(self, y: np.ndarray, rng: Rng) -> np.ndarray:
        """Draw the length of each text, then its words."""
        return rng.multinomial(rng.integers(3, 13, len(y)), self.chances[y]).astype(np.float64)

    def log_likelihood(self, X: np.ndarray) -> np.ndarray:
        """Return the chance of the counts, less the binomials, which are the same for all topics."""
        return X @ np.log(self.chances).T


class Noise:
    """Columns that have nothing to do with the class."""

    def __init__(self, width: int) -> None:
        self.width = width

    def draw(self, y: np.ndarray, rng: Rng) -> np.ndarray:
        """Draw the columns, whatever the classes are."""
        return rng.normal(size=(len(y), self.width))

    def log_likelihood(self, X: np.ndarray) -> np.ndarray:
        """Return zero: all classes are as likely as they were."""
        return np.zeros((len(X), 1))


class Beside:
    """Columns of two kinds at one agent."""

    def __init__(self, first: Part, second: Part) -> None:
        self.first, self.second = first, second
        self.width = first.width + second.width

    def draw(self, y: np.ndarray, rng: Rng) -> np.ndarray:
        """Draw both."""
        return np.hstack([self.first.draw(y, rng), self.second.draw(y, rng)])

    def log_likelihood(self, X: np.ndarray) -> np.ndarray:
        """Return the likelihood of both together."""
        end = self.first.width
        return self.first.log_likelihood(X[:, :end]) + self.second.log_likelihood(X[:, end:])
