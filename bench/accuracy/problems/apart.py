"""The problems that no choice of a method or of a default has looked at, and none may."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache, partial

import numpy as np
from sklearn.datasets import (
    load_diabetes,
    load_iris,
    make_circles,
    make_classification,
    make_gaussian_quantiles,
    make_hastie_10_2,
    make_moons,
)

from bench.accuracy.problems.given_the_row import Additive, Copies, Products
from bench.accuracy.problems.problem import Cut, Problem, Shape, cut, dealt, in_order, of
from bench.accuracy.problems.worlds import Beside, Drawn, GivenTheClass, Mixture, Noise, Rng, Words, World
from paper import datasets


def iris(seed: int) -> Cut:
    X, y = load_iris(return_X_y=True)
    return cut(X, y, {"sepals": [0, 1], "petals": [2, 3]}, seed, 0.7, 4_000)


def diabetes(seed: int) -> Cut:
    """Whether the disease went on a little, more or much: thirds of the patients. A doctor asks a laboratory."""
    X, progress = load_diabetes(return_X_y=True)
    thirds = np.digitize(progress, np.quantile(progress, [1 / 3, 2 / 3]))
    return cut(X, thirds, {"doctor": [0, 1, 2, 3], "laboratory": [4, 5, 6, 7, 8, 9]}, seed, 0.7, 4_000)


def long_stay(seed: int) -> Cut:
    """Who stays in hospital for more than a week. What was not measured is the median of the training samples."""
    found = of(stays(), seed, 0.6)
    medians = np.nanmedian(found.X_train, axis=0)
    filled = (np.where(np.isnan(X), medians, X) for X in (found.X_train, found.X_test))
    return Cut(next(filled), found.y_train, next(filled), found.y_test, found.columns)


@cache
def stays() -> datasets.DataSet:
    return datasets.mimic_long_stay(demo=True, stay="hospital")


def redundant(seed: int) -> Cut:
    """Six columns tell, six mix them, eight are noise; one label in ten is drawn by chance."""
    X, y = make_classification(
        3_000, 20, n_informative=6, n_redundant=6, n_classes=4, flip_y=0.1, shuffle=False, random_state=seed
    )
    return cut(X, y, dealt(20, 3), seed, 1_000, 2_000)


def hastie(seed: int) -> Cut:
    """Whether ten squares add up to more than their median."""
    X, y = make_hastie_10_2(3_500, random_state=seed)
    return cut(X, y.astype(np.int64), in_order(5, 5), seed, 1_500, 2_000)


def shells(seed: int) -> Cut:
    """Five shells, one in the other, around the middle."""
    X, y = make_gaussian_quantiles(n_samples=3_000, n_features=6, n_classes=5, random_state=seed)
    return cut(X, y, in_order(3, 3), seed, 1_000, 2_000)


def moons_and_rings(seed: int) -> Cut:
    """Which of two moons and which of two rings: A has the first coordinates, B the second, each with two of noise."""
    rng = np.random.default_rng(seed)
    first, second = (int(each) for each in rng.integers(2**32, size=2))
    moons, moon = make_moons(3_000, noise=0.2, random_state=first)
    rings, ring = make_circles(3_000, noise=0.15, factor=0.5, random_state=second)
    noise = rng.normal(size=(3_000, 4))
    X = np.column_stack([moons[:, 0], rings[:, 0], noise[:, :2], moons[:, 1], rings[:, 1], noise[:, 2:]])
    return cut(X, 2 * moon + ring, in_order(4, 4), seed, 1_000, 2_000)


def even(n_classes: int) -> tuple[float, ...]:
    return (1 / n_classes,) * n_classes


def mixtures(rng: Rng) -> World:
    return GivenTheClass(even(6), [Mixture(rng, 6, 2, 3, 1.2) for _ in range(3)])


def topics(rng: Rng) -> World:
    return GivenTheClass(even(8), [Words(rng, 8, n_words, 0.7) for n_words in (20, 30)])


def imbalanced(rng: Rng) -> World:
    return GivenTheClass((0.8, 0.15, 0.05), [Mixture(rng, 3, 1, 3, 0.8) for _ in range(2)])


def useless_columns(rng: Rng) -> World:
    return GivenTheClass(even(3), [Mixture(rng, 3, 1, 3, 0.6), Beside(Mixture(rng, 3, 1, 2, 1.0), Noise(60))])


def empty_helper(rng: Rng) -> World:
    return GivenTheClass(even(3), [Mixture(rng, 3, 2, 4, 0.9), Noise(8)])


def made(name: str, make: Callable[[Rng], World], shape: Shape, interacts: bool, *learners: str) -> Problem:
    drawn = Drawn(make, shape.training, shape.test)
    return Problem(name, drawn, learners, shape=shape, kept_apart=True, interacts=interacts)


APART = (
    Problem("iris", iris, ("tree-3", "logistic", "bayes", "svm"), shape=Shape(105, 45, 3, (2, 2)), kept_apart=True),
    Problem("diabetes", diabetes, ("logistic", "forest", "svm"), shape=Shape(309, 133, 3, (4, 6)), kept_apart=True),
    Problem("long stay", long_stay, ("tree-3", "logistic", "forest"), shape=Shape(59, 40, 2, (3, 13)), kept_apart=True),
    Problem(
        "redundant",
        redundant,
        ("logistic", "forest", "boosted"),
        shape=Shape(1_000, 2_000, 4, (7, 7, 6)),
        kept_apart=True,
    ),
    Problem("hastie", hastie, ("tree-3", "boosted", "svm"), shape=Shape(1_500, 2_000, 2, (5, 5)), kept_apart=True),
    Problem(
        "shells",
        shells,
        ("bayes", "boosted", "svm"),
        shape=Shape(1_000, 2_000, 5, (3, 3)),
        kept_apart=True,
        interacts=True,
    ),
    Problem(
        "moons and rings",
        moons_and_rings,
        ("tree-3", "forest", "svm"),
        shape=Shape(1_000, 2_000, 4, (4, 4)),
        kept_apart=True,
        interacts=True,
    ),
    made(
        "additive",
        partial(Additive, n_classes=5, widths=(4, 4, 4), strength=0.7),
        Shape(1_500, 2_000, 5, (4, 4, 4)),
        False,
        *("tree-3", "logistic", "boosted"),
    ),
    made("mixtures", mixtures, Shape(1_000, 2_000, 6, (3, 3, 3)), False, "forest", "boosted", "svm"),
    made("topics", topics, Shape(800, 2_000, 8, (20, 30)), False, "logistic", "bayes", "boosted"),
    made("imbalanced", imbalanced, Shape(1_000, 2_000, 3, (3, 3)), False, "tree-3", "logistic", "forest"),
    made("useless columns", useless_columns, Shape(600, 2_000, 3, (3, 62)), False, "tree-3", "logistic", "forest"),
    made("empty helper", empty_helper, Shape(500, 2_000, 3, (4, 8)), False, "tree-3", "logistic", "forest", "boosted"),
    made(
        "xor",
        partial(Products, n_pairs=1, n_noise=2),
        Shape(1_000, 2_000, 2, (3, 3)),
        True,
        *("tree-3", "logistic", "boosted"),
    ),
    made(
        "noisy copies", partial(Copies, n_copies=2), Shape(600, 2_000, 4, (4, 4)), True, "bayes", "logistic", "forest"
    ),
)
