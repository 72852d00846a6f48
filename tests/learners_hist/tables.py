"""Tables that the tests of histogram trees share."""

import numpy as np
from sklearn.datasets import make_classification


def whole_numbers(n_samples=600, n_classes=3, seed=0):
    """A table of few distinct values, so that binning loses nothing; labels that depend on it; weights without ties."""
    rng = np.random.RandomState(seed)
    X = rng.randint(0, 12, size=(n_samples, 4)).astype(np.float64)
    y = ((X[:, 0] > 5).astype(int) + (X[:, 1] + rng.normal(size=n_samples) > 7) * (n_classes > 2)) % n_classes
    flipped = rng.rand(n_samples) < 0.1
    y[flipped] = rng.randint(0, n_classes, flipped.sum())
    return X, y, rng.exponential(size=n_samples)


def real_numbers(n_samples=2_000, n_classes=3, seed=0):
    return make_classification(
        n_samples, 8, n_informative=6, n_redundant=0, n_classes=n_classes, flip_y=0.05, random_state=seed
    )
