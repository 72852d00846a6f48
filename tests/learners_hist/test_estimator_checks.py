"""Both learners keep scikit-learn's contract. No check is expected to fail."""

import pandas  # noqa: F401  a check skips itself, with a warning, where pandas has not been imported
from sklearn.utils.estimator_checks import parametrize_with_checks

from assistlearn.learners import HistBoostClassifier, HistTreeClassifier


@parametrize_with_checks(
    [
        HistTreeClassifier(),
        HistTreeClassifier(max_depth=None, max_bin=256, n_jobs=1),
        HistTreeClassifier(subsample=0.8, random_state=0),
        HistBoostClassifier(n_estimators=5),
    ]
)
def test_scikit_learns_checks_pass(estimator, check):
    check(estimator)
