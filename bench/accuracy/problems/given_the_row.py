"""Worlds in which rows are drawn first, and the class then depends on all of a row: added up, or agent with agent."""

from __future__ import annotations

import numpy as np
from scipy.special import log_softmax
from scipy.stats import norm

from bench.accuracy.problems.problem import in_order
from bench.accuracy.problems.worlds import Rng


class Additive:
    """Every column has a wave of its own for every class, and the log-odds are the sum of the waves."""

    def __init__(self, rng: Rng, n_classes: int, widths: tuple[int, ...], strength: float) -> None:
        self.columns = in_order(*widths)
        self._strengths = rng.normal(0, strength, (sum(widths) * 4, n_classes))

    def draw(self, n: int, rng: Rng) -> tuple[np.ndarray, np.ndarray]:
        """Draw rows evenly from a box, and classes by their chances."""
        X = rng.uniform(-2, 2, (n, len(self._strengths) // 4))
        return X, _chosen(self.log_chances(X), rng)

    def log_chances(self, X: np.ndarray) -> np.ndarray:
        """Return the logarithm of the chance of every class."""
        angle = X * np.pi / 2
        waves = np.hstack([np.sin(angle), np.cos(angle), np.sin(2 * angle), np.cos(2 * angle)])
        return log_softmax(waves @ self._strengths, axis=1)


class Products:
    """Exclusive or: what a column of A means depends on the sign of a column of B. Alone, each agent knows little."""

    def __init__(self, rng: Rng, n_pairs: int, n_noise: int) -> None:
        self._n_pairs, width = n_pairs, n_pairs + n_noise
        self.columns = in_order(width, width)
        self._alone = np.zeros(2 * width)
        self._alone[[*range(n_pairs), *range(width, width + n_pairs)]] = rng.choice([-0.7, 0.7], 2 * n_pairs)
        self._together = rng.choice([-2.0, 2.0], n_pairs)

    def draw(self, n: int, rng: Rng) -> tuple[np.ndarray, np.ndarray]:
        """Draw rows from a Gaussian, and classes by their chances."""
        X = rng.normal(size=(n, len(self._alone)))
        return X, _chosen(self.log_chances(X), rng)

    def log_chances(self, X: np.ndarray) -> np.ndarray:
        """Return the logarithm of the chance of both classes."""
        a, b = (X[:, columns[: self._n_pairs]] for columns in self.columns.values())
        odds = X @ self._alone + np.sign(a * b) @ self._together
        return log_softmax(np.column_stack([np.zeros(len(X)), odds]), axis=1)


class Copies:
    """Both agents have noisy copies of the same two hidden numbers, whose signs are the class."""

    def __init__(self, rng: Rng, n_copies: int) -> None:
        self.columns = in_order(2 * n_copies, 2 * n_copies)
        self._noise = rng.uniform(0.5, 2.0, 4 * n_copies)  # even columns copy the first number, odd ones the second

    def draw(self, n: int, rng: Rng) -> tuple[np.ndarray, np.ndarray]:
        """Draw the hidden numbers, then their copies."""
        hidden = rng.normal(size=(n, 2))
        copies = np.tile(hidden, len(self._noise) // 2) + self._noise * rng.normal(size=(n, len(self._noise)))
        return copies, 2 * (hidden[:, 0] > 0) + (hidden[:, 1] > 0)

    def log_chances(self, X: np.ndarray) -> np.ndarray:
        """Return the logarithm of the chance of the four pairs of signs, given all copies."""
        signs = []
        for first in (0, 1):
            precision = self._noise[first::2] ** -2.0
            # The hidden number, given its copies, is normal; its mean over its standard deviation tells its sign.
            z = X[:, first::2] @ precision / np.sqrt(1 + precision.sum())
            signs.append(np.column_stack([norm.logcdf(-z), norm.logcdf(z)]))
        return (signs[0][:, :, None] + signs[1][:, None, :]).reshape(len(X), 4)


def _chosen(log_chances: np.ndarray, rng: Rng) -> np.ndarray:
    return np.argmax(log_chances + rng.gumbel(size=log_chances.shape), axis=1)
