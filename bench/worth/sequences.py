"""Sequences of differences that are drawn, and what the two ways to look make of them."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from assistlearn.evaluation.pilots import Weighing
from assistlearn.evaluation.words import Terms
from bench.worth.naive import first_alarm

LONGEST = 2_000
"""Samples of a sequence."""


@dataclass(frozen=True)
class Case:
    """How often help puts a sample right, and how often wrong."""

    better: float
    worse: float


CASES = {"gain .05": Case(0.075, 0.025), "no gain": Case(0.05, 0.05), "gain .02": Case(0.06, 0.04)}


@dataclass(frozen=True)
class Looked:
    """What came out of a sequence: an answer, after how many samples; and when McNemar's test first found something."""

    answer: str
    n_opened: int
    exact: int | None
    normal: int | None


def looked_at(case: Case, seed: int) -> Looked:
    """Draw a sequence, and look at it in both ways."""
    differences = drawn_differences(case, seed)
    terms = Terms(at_least=0.0)
    weighing = Weighing(terms, ["helper"])
    while weighing.n_opened < LONGEST and not weighing.answered:
        block = differences[weighing.n_opened :][: terms.block]
        weighing.hear(np.array([block > 0, block < 0], dtype=np.float64))
    [gain] = weighing.gains()
    exact, normal = (first_alarm(differences, terms.block, exact=exact) for exact in (True, False))
    return Looked(gain.answer, weighing.n_opened, exact, normal)


def drawn_differences(case: Case, seed: int) -> NDArray[np.float64]:
    """Return a sequence of differences in the 0/1 loss."""
    chances = [case.better, 1 - case.better - case.worse, case.worse]
    return np.random.default_rng(seed).choice([1.0, 0.0, -1.0], p=chances, size=LONGEST)
