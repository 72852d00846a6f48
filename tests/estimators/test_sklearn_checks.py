"""scikit-learn's own checks, for the default and for several sets of agents."""

import math

import pytest
from sklearn.linear_model import LogisticRegression
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.tree import DecisionTreeClassifier
from sklearn.utils.estimator_checks import parametrize_with_checks

from assistlearn import AssistedClassifier

STUMP, TREE = DecisionTreeClassifier(max_depth=1), DecisionTreeClassifier(max_depth=2)


class Share:
    """A share of the table's columns, from one fraction to another; it looks the same in every process."""

    def __init__(self, start: float, stop: float):
        self.start, self.stop = start, stop

    def __call__(self, X):
        return slice(math.floor(self.start * X.shape[1]), math.ceil(self.stop * X.shape[1]))

    def __repr__(self):
        return f"Share({self.start}, {self.stop})"


left, right, every = Share(0, 0.5), Share(0.5, 1), Share(0, 1)

CONFIGURATIONS = {
    "default": AssistedClassifier(),
    "two trees": AssistedClassifier([("a", TREE, left), ("b", TREE, right)], n_rounds=4),
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
        [("a", GaussianNB(), every), ("b", TREE, right)], holdout=0.3, weak_agent="stop", n_rounds=4
    ),
}

REASON = (
    "cv is a number of folds, which every agent deals for itself; this check sets it to lists of rows, "
    "which are refused. Weights are compared with repeated samples in test_invariances.py."
)


def expected_failures(clf: AssistedClassifier) -> dict[str, str]:
    """Return the checks that fail for a reason; every other check must pass."""
    failing = {"check_sample_weight_equivalence_on_dense_data": REASON}
    if clf.__sklearn_tags__().input_tags.sparse:  # else a refusal is what the check looks for
        failing["check_sample_weight_equivalence_on_sparse_data"] = REASON
    return failing


# The checks' tables are small enough to be learned by heart, or hold nothing to learn, and then the user is told so.
@pytest.mark.filterwarnings("ignore::assistlearn.errors.AssistLearnWarning")
@pytest.mark.filterwarnings(
    "ignore:divide by zero encountered in log:RuntimeWarning"
)  # naive Bayes of a class of no weight
@parametrize_with_checks(list(CONFIGURATIONS.values()), expected_failed_checks=expected_failures)
def test_it_passes_scikit_learns_checks(estimator, check):
    check(estimator)
