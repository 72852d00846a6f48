"""What cannot be meant is refused in words of ours, before any work begins."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.tree import DecisionTreeClassifier

from assistlearn import AssistedClassifier
from assistlearn.errors import SettingsError

X = np.random.default_rng(0).normal(size=(40, 2))
Y = (X.sum(axis=1) > 0).astype(int)
TREE = DecisionTreeClassifier(max_depth=1)


@pytest.mark.parametrize(
    ("agents", "words"),
    [
        (3, "agents must be a list of .name, estimator, columns., not 3"),
        ([(" ", TREE, [0]), ("b", TREE, [1])], "' ' is not"),
        ([("a\nb", TREE, [0]), ("b", TREE, [1])], r"'a\\nb' is not"),
    ],
)
def test_agents_that_are_none(agents, words):
    with pytest.raises(SettingsError, match=words):
        AssistedClassifier(agents).fit(X, Y)


def test_labels_that_mix_texts_and_numbers_are_counted():
    mixed = np.array([1, *map(str, Y[1:])], dtype=object)
    with pytest.raises(SettingsError, match=r"mixes texts and 1 other values \(first: 1\)"):
        AssistedClassifier([("a", TREE, [0]), ("b", TREE, [1])]).fit(X, mixed)
