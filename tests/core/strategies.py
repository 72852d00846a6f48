"""Hypothesis strategies: problems of a few samples, with answers that are right here and wrong there."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from hypothesis import strategies as st

WEIGHTS = st.floats(0.01, 100.0)


@dataclass
class Problem:
    """Labels, initial weights, and the class codes that a few models answer."""

    n_classes: int
    labels: np.ndarray
    start: np.ndarray
    answers: list[np.ndarray]

    @property
    def rewards(self) -> list[np.ndarray]:
        return [answers == self.labels for answers in self.answers]


@st.composite
def problems(draw: st.DrawFn, min_models: int = 1, max_models: int = 5, mixed: bool = True) -> Problem:
    """Draw a problem; with ``mixed`` every model is right somewhere and wrong somewhere."""
    n_classes = draw(st.integers(2, 7))
    n_samples = draw(st.integers(2, 25))
    codes = st.integers(0, n_classes - 1)
    labels = np.array(draw(st.lists(codes, min_size=n_samples, max_size=n_samples)))
    start = np.array(draw(st.lists(WEIGHTS, min_size=n_samples, max_size=n_samples)))
    answers = []
    for _ in range(draw(st.integers(min_models, max_models))):
        own = np.array(draw(st.lists(codes, min_size=n_samples, max_size=n_samples)))
        if mixed:
            right = draw(st.integers(0, n_samples - 1))
            wrong = (right + draw(st.integers(1, n_samples - 1))) % n_samples
            own[right] = labels[right]
            own[wrong] = (labels[wrong] + draw(st.integers(1, n_classes - 1))) % n_classes
        answers.append(own)
    return Problem(n_classes, labels, start, answers)
