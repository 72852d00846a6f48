"""The problems that the methods were made on, and the same tables in the hands of more agents."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np
from sklearn.datasets import load_breast_cancer, load_digits, load_wine

from bench.accuracy.problems.problem import Cut, Problem, Shape, cut, dealt, of
from paper import datasets

FORM = "score, loss, shrinkage (0 to 2)"
REWARD = "reward, abstaining (1000 to 1005)"
BITS = "bits (0 to 4)"
COMBINATION = "first trials of a learned combination (0 to 4)"
"""What was chosen while the table was looked at, and on the splits of which seeds.

More of it is in bench/defaults.md.
"""

TARGETS = ("logistic", "svm", "boosted")
"""Linear, kernel and boosted learners, on tables that GAL, a peer, has published accuracies of, and on some more."""


def digits(seed: int) -> Cut:
    pixels = np.arange(64).reshape(8, 8)
    return digits_of({"left": pixels[:, :4].ravel().tolist(), "right": pixels[:, 4:].ravel().tolist()}, seed)


def digits_of(columns: dict[str, list[int]], seed: int) -> Cut:
    X, y = load_digits(return_X_y=True)
    return cut(X, y, columns, seed, 0.7, 4_000)


def breast(columns: dict[str, list[int]], seed: int) -> Cut:
    X, y = load_breast_cancer(return_X_y=True)
    return cut(X, y, columns, seed, 0.7, 4_000)


def wine(seed: int) -> Cut:
    X, y = load_wine(return_X_y=True)
    return cut(X, y, dealt(13, 8), seed, 0.7, 4_000)


def qsar_of_eight(seed: int) -> Cut:
    return replace(of(datasets.qsar(), seed), columns=dealt(41, 8))


def blob(family: str, spread: float) -> Callable[[int], Cut]:
    def draw(seed: int) -> Cut:
        wide = replace(datasets.FAMILIES[family], spread=spread)
        train = datasets.blobs(wide, random_state=seed)
        test = datasets.blobs(wide, "test", n_samples=5_000, random_state=seed)
        columns = {agent: train.columns(agent).tolist() for agent in train.agents}
        return Cut(train.features, train.labels, test.features, test.labels, columns)

    return draw


def fashion(seed: int) -> Cut:
    data = datasets.fashion_mnist(cut=seed)
    return of(data.take(np.random.RandomState(seed).permutation(len(data))[:4_000]), seed, 2_000, 2_000)


USED = (
    Problem(
        "digits",
        digits,
        ("tree-3", "tree", "forest", "logistic", "network", "mix"),
        shape=Shape(1_257, 540, 10, (32, 32)),
        choices=(FORM, REWARD, BITS, COMBINATION),
    ),
    Problem(
        "red wine",
        lambda s: of(datasets.red_wine(2), s),
        ("tree-3", "tree", "forest", "logistic"),
        shape=Shape(1_119, 480, 6, (6, 5)),
        choices=(FORM, REWARD, COMBINATION),
    ),
    Problem(
        "red wine x 11",
        lambda s: of(datasets.red_wine(11), s),
        ("tree-3", "bayes"),
        shape=Shape(1_119, 480, 6, (1,) * 11),
        choices=(FORM, REWARD, COMBINATION),
    ),
    Problem(
        "qsar",
        lambda s: of(datasets.qsar(), s),
        ("tree-3", "tree", "forest", "logistic"),
        shape=Shape(738, 317, 2, (20, 21)),
        choices=(FORM, REWARD),
    ),
    Problem(
        "letter",
        lambda s: of(datasets.letter(2), s, 2_000),
        ("tree-3", "tree", "forest", "bayes"),
        shape=Shape(2_000, 4_000, 26, (8, 8)),
        choices=(FORM, REWARD, COMBINATION),
    ),
    Problem(
        "letter x 4",
        lambda s: of(datasets.letter(4), s, 2_000),
        ("tree-3", "bayes", *TARGETS),
        shape=Shape(2_000, 4_000, 26, (4,) * 4),
        choices=(FORM, REWARD, COMBINATION),
    ),
    Problem(
        "vehicle",
        lambda s: of(datasets.fate("vehicle_scale"), s),
        ("tree-3", "tree", "forest", "logistic", "mix"),
        shape=Shape(592, 254, 4, (9, 9)),
        choices=(FORM, REWARD, COMBINATION),
    ),
    Problem(
        "default credit",
        lambda s: of(datasets.fate("default_credit"), s, 3_000),
        ("tree-3", "logistic", "boosted"),
        shape=Shape(3_000, 4_000, 2, (13, 10)),
        choices=(REWARD,),
    ),
    Problem(
        "breast cancer",
        lambda s: breast({"A": list(range(10)), "B": list(range(10, 30))}, s),
        ("tree-3", "logistic", "forest"),
        shape=Shape(398, 171, 2, (10, 20)),
        choices=(REWARD, BITS),
    ),
    Problem(
        "blob-10",
        blob("fig3a", 2.0),
        ("tree-3", "bayes"),
        shape=Shape(1_000, 5_000, 10, (2,) * 4),
        choices=(FORM, REWARD),
        interacts=False,
    ),
    Problem(
        "blob-20",
        blob("fig6a", 2.0),
        ("tree-3", "bayes"),
        shape=Shape(1_000, 5_000, 20, (1,) * 20),
        interacts=False,
    ),
    Problem("fashion", fashion, ("forest",), replications=2, shape=Shape(2_000, 2_000, 10, (392, 392))),
    Problem("wine", wine, TARGETS, shape=Shape(124, 54, 3, (2, 2, 2, 2, 2, 1, 1, 1)), choices=(BITS,)),
    Problem(
        "breast cancer x 8",
        lambda s: breast(dealt(30, 8), s),
        TARGETS,
        shape=Shape(398, 171, 2, (4,) * 6 + (3,) * 2),
        choices=(REWARD, BITS),
    ),
    Problem("qsar x 8", qsar_of_eight, TARGETS, shape=Shape(738, 317, 2, (6,) + (5,) * 7), choices=(FORM, REWARD)),
    Problem(
        "digits x 8",
        lambda s: digits_of(dealt(64, 8), s),
        TARGETS,
        shape=Shape(1_257, 540, 10, (8,) * 8),
        choices=(FORM, REWARD, BITS, COMBINATION),
    ),
    Problem(
        "digits x 3",
        lambda s: digits_of(dealt(64, 3), s),
        ("logistic",),
        shape=Shape(1_257, 540, 10, (22, 21, 21)),
        choices=(FORM, REWARD, BITS, COMBINATION),
    ),
)
