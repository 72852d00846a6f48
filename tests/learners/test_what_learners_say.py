"""Probabilities that are none are refused, whoever's learner says them."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.tree import DecisionTreeClassifier

from assistlearn import AssistedClassifier
from assistlearn.errors import LearnerError

X = np.random.default_rng(0).normal(size=(60, 2))
Y = (X[:, 0] + X[:, 1] > 0).astype(int)


class Says(DecisionTreeClassifier):
    """A tree that says the same two numbers of everybody."""

    def __init__(self, first=0.5, second=0.5):
        super().__init__(max_depth=1)
        self.first = first
        self.second = second

    def predict_proba(self, X, check_input=True):
        return np.tile([self.first, self.second], (len(X), 1))


@pytest.mark.parametrize(
    ("said", "words"),
    [
        ((-1.0, 2.0), "the smallest is -1"),
        ((0.9, 0.9), "those of row 0 sum to 1.8"),
        ((0.0, 0.0), "those of row 0 sum to 0"),
        ((np.nan, 0.5), "not all finite"),
    ],
)
def test_what_is_no_probability_is_refused_by_agent_and_number(said, words):
    agents = [("clinic", DecisionTreeClassifier(max_depth=1), [0]), ("lab", Says(*said), [1])]
    with pytest.raises(LearnerError, match=f"'lab'.*{words}"):
        AssistedClassifier(agents, method="soft", n_rounds=1).fit(X, Y)


def test_single_precision_is_no_offence():
    agents = [
        ("clinic", DecisionTreeClassifier(max_depth=1), [0]),
        ("lab", Says(np.float32(0.3), np.float32(0.7)), [1]),
    ]
    AssistedClassifier(agents, method="soft", n_rounds=1).fit(X, Y)
