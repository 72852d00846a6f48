"""The ways to learn that are compared, and the learners."""

from __future__ import annotations

from typing import Any

from sklearn.calibration import CalibratedClassifierCV
from sklearn.ensemble import HistGradientBoostingClassifier, RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.naive_bayes import GaussianNB
from sklearn.neural_network import MLPClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC
from sklearn.tree import DecisionTreeClassifier

LEARNERS: dict[str, tuple[Any, ...]] = {  # a mix is given to the agents in turn
    "tree-3": (DecisionTreeClassifier(max_depth=3),),
    "tree": (DecisionTreeClassifier(),),
    "logistic": (make_pipeline(StandardScaler(), LogisticRegression(max_iter=200)),),
    "bayes": (GaussianNB(),),
    "forest": (RandomForestClassifier(20),),
    "boosted": (HistGradientBoostingClassifier(max_iter=20, max_leaf_nodes=15, early_stopping=False),),
    "network": (make_pipeline(StandardScaler(), MLPClassifier((32,), max_iter=60)),),
    "svm": (make_pipeline(StandardScaler(), CalibratedClassifierCV(SVC(), ensemble=False)),),
}
LEARNERS["mix"] = (LEARNERS["forest"][0], LEARNERS["logistic"][0])
ROUNDS = {"forest": 3, "boosted": 3, "network": 3, "mix": 3, "svm": 3}
"""Rounds at most, where fewer than :data:`MOST_ROUNDS`."""
MOST_ROUNDS = 10

RECOMMENDED: dict[str, Any] = {"method": "soft", "reward": "auto", "combine": "auto", "models_per_turn": 20}
SOFT: dict[str, Any] = {"method": "soft", "reward": "auto", "combine": "sum", "models_per_turn": 1}
ASCII: dict[str, Any] = {"method": "ascii"}

WAYS: dict[str, tuple[str, dict[str, Any]]] = {
    "combined": ("counted", RECOMMENDED),
    "soft": ("counted", SOFT),
    "ascii": ("plain", ASCII),
    "single": ("single", ASCII),
    "alone, combined": ("single", RECOMMENDED),
    "oracle": ("oracle", ASCII),
}
"""Name -> (how it is measured, settings). The recommended way is ``combined``; ``soft`` adds the votes up."""
GAL = "GAL"
"""The peer: :mod:`bench.accuracy.gal`."""
UNCHANGED = ("ascii", "single", "oracle", "pooled boosting", "pooled forest")
"""Ways whose arithmetic is what it was for ``results_before.csv``: not measured again where that has them."""
AGAIN = ("network", "boosted")
"""Learners that are measured again all the same: networks had fewer rounds then, and boosted trees other bins."""

POOLED = {
    "pooled boosting": HistGradientBoostingClassifier(max_iter=100, early_stopping=False),
    "pooled forest": RandomForestClassifier(200),
}
