"""scikit-learn's own checks, for the default and for several sets of agents."""

import math

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.tree import DecisionTreeClassifier
from sklearn.utils.estimator_checks import parametrize_with_checks

from assistlearn import AssistedClassifier
from tests.learners.classifiers import OnlyLabels

STUMP, TREE = DecisionTreeClassifier(max_depth=1), DecisionTreeClassifier(max_depth=2)


class Share:
    """A share of the table's columns, from one fraction to another; it looks the same in every process."""

    def __init__(self, start: float, stop: float):
        self.start, self.stop = start, stop

    def __call__(self, X):
        return slice(math.floor(self.start * X.shape[1]), math.ceil(self.stop * X.shape[1]))

    def __repr__(self):
        return f"Share({self.start}, {self.stop})"


class EveryTenth:
    """Every tenth column from the n-th on; all columns of a small table. The ten agents know all columns together."""

    def __init__(self, start: int):
        self.start = start

    def __call__(self, X):
        return slice(None) if X.shape[1] < 20 else np.arange(self.start, X.shape[1], 10)

    def __repr__(self):
        return f"EveryTenth({self.start})"


left, right, every = Share(0, 0.5), Share(0.5, 1), Share(0, 1)

CONFIGURATIONS = {
    "default": AssistedClassifier(),
    "default of the paper": AssistedClassifier(method="ascii"),
    "three learners, simple, random order": AssistedClassifier(
        [("a", STUMP, left), ("b", make_pipeline(StandardScaler(), LogisticRegression()), every), ("c", TREE, right)],
        method="simple",
        order="random",
        n_rounds=3,
    ),
    "ensemble with neighbours": AssistedClassifier(
        [("a", KNeighborsClassifier(), every), ("b", TREE, right)], method="ensemble", n_rounds=3
    ),
    "hold-out, literal stop": AssistedClassifier(
        [("a", GaussianNB(), every), ("b", TREE, right)], method="ascii", holdout=0.3, weak_agent="stop", n_rounds=4
    ),
    "ten naive Bayes": AssistedClassifier(  # none of whose models is perfect
        [(f"agent {start}", GaussianNB(), EveryTenth(start)) for start in range(10)], method="simple", n_rounds=2
    ),
    "two agents": AssistedClassifier([("a", TREE, left), ("b", TREE, right)], n_rounds=1, models_per_turn=2),
    "exponential loss, without probabilities": AssistedClassifier(
        [("a", GaussianNB(), left), ("b", OnlyLabels(max_depth=2), right)],
        method="soft",
        reward="out-of-fold",
        loss="exponential",
        combine="sum",
        models_per_turn=1,
        n_rounds=2,
    ),
    "label-private": AssistedClassifier([("a", TREE, left), ("b", TREE, right)], method="label-private", epsilon=2.0),
}

# Checks that fail for a reason, by configuration. Every other check, and every other configuration, must pass.
EQUIVALENCE = ("check_sample_weight_equivalence_on_dense_data", "check_sample_weight_equivalence_on_sparse_data")
REASONS = {
    "default": "Folds are dealt by sample, and repeating one deals others; cv is a number, not a list of folds.",
    "exponential loss, without probabilities": "Folds are dealt by sample, and repeating one deals others.",
    "two agents": "The cap on a model's weight counts samples, and folds are dealt by sample.",
    "three learners, simple, random order": "A perfect model's capped weight counts samples, and repeating makes more.",
    "ensemble with neighbours": "Neighbours take no weights: rows are drawn by weight, and of repeated rows others.",
    "hold-out, literal stop": "Repeating rows, or leaving some out, holds out others.",
    "label-private": "Labels are changed row by row, and of repeated rows others; helpers are not told weights.",
}

CLASS_WEIGHTS = {
    "default of the paper": "Of these samples .82 and .84 are given to the class that counts, and .87 are asked for; "
    "AdaBoostClassifier gives it as many under the same weights.",
    "ensemble with neighbours": "Neighbours take no weights: rows are drawn by weight, but some of every class.",
}


def expected_failures(clf: AssistedClassifier) -> dict[str, str]:
    """Return the checks that are expected to fail, with the reason."""
    (name,) = [name for name, other in CONFIGURATIONS.items() if repr(other) == repr(clf)]
    by_class = {"check_class_weight_classifiers": CLASS_WEIGHTS[name]} if name in CLASS_WEIGHTS else {}
    if name not in REASONS:
        return by_class
    takes_sparse = clf.__sklearn_tags__().input_tags.sparse  # else a refusal is what the check looks for
    return by_class | dict.fromkeys(EQUIVALENCE if takes_sparse else EQUIVALENCE[:1], REASONS[name])


# The checks' tables are small enough to be learned by heart, or hold nothing to learn, and then the user is told so.
@pytest.mark.filterwarnings("ignore::assistlearn.errors.AssistLearnWarning")
@pytest.mark.filterwarnings(
    "ignore:divide by zero encountered in log:RuntimeWarning"
)  # naive Bayes of a class of no weight
@parametrize_with_checks(list(CONFIGURATIONS.values()), expected_failed_checks=expected_failures)
def test_it_passes_scikit_learns_checks(estimator, check):
    check(estimator)
