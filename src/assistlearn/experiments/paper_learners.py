"""The learners that the paper names, from a figure's settings."""

from __future__ import annotations

from typing import Any

from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.neural_network import MLPClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.tree import DecisionTreeClassifier

from assistlearn.errors import SettingsError
from assistlearn.experiments.figures import LearnerSettings

KINDS = {
    "decision tree": DecisionTreeClassifier,
    "random forest": RandomForestClassifier,
    "logistic regression": LogisticRegression,
    "network": MLPClassifier,
}


def make_learner(learner: LearnerSettings) -> Any:
    """Return an unfitted classifier.

    >>> make_learner(LearnerSettings("decision tree", {"max_depth": 3}))
    DecisionTreeClassifier(max_depth=3)
    """
    kind = KINDS[learner.kind]
    try:
        made = kind(**learner.parameters)
    except TypeError as error:
        raise SettingsError(f"The learner {learner.kind!r} refuses its parameters: {error}.") from None
    return make_pipeline(StandardScaler(), made) if learner.standardise else made
