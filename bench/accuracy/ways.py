"""The ways to learn that are compared, and the learners."""

from __future__ import annotations

from typing import Any

from sklearn.ensemble import AdaBoostClassifier, HistGradientBoostingClassifier, RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.naive_bayes import GaussianNB
from sklearn.neural_network import MLPClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.tree import DecisionTreeClassifier

LEARNERS: dict[str, tuple[Any, ...]] = {  # a mix is given to the agents in turn
    "tree-3": (DecisionTreeClassifier(max_depth=3),),
    "tree": (DecisionTreeClassifier(),),
    "logistic": (make_pipeline(StandardScaler(), LogisticRegression(max_iter=200)),),
    "bayes": (GaussianNB(),),
    "forest": (RandomForestClassifier(20),),
    "boosted": (HistGradientBoostingClassifier(max_iter=20, max_leaf_nodes=15, early_stopping=False),),
    "network": (make_pipeline(StandardScaler(), MLPClassifier((32,), max_iter=60)),),
}
LEARNERS["5 trees"] = (AdaBoostClassifier(LEARNERS["tree-3"][0], n_estimators=5),)
LEARNERS["mix"] = (LEARNERS["forest"][0], LEARNERS["logistic"][0])
ROUNDS = {"forest": 3, "boosted": 3, "network": 2, "mix": 3, "5 trees": 2}
"""Rounds, where fewer than :data:`MOST_ROUNDS`."""
MOST_ROUNDS = 10

WAYS: dict[str, dict[str, Any]] = {
    "ascii": {"method": "ascii"},
    "ascii, out-of-fold": {"method": "ascii", "reward": "out-of-fold"},
    "ascii, auto": {"method": "ascii", "reward": "auto"},
    "simple": {"method": "simple"},
    "random": {"method": "ascii", "order": "random"},
    "soft": {"method": "soft", "reward": "auto"},
    "soft, in-sample": {"method": "soft"},
    "soft, out-of-fold": {"method": "soft", "reward": "out-of-fold"},
    "soft, no shrinkage": {"method": "soft", "reward": "auto", "shrinkage": 1.0},
    "soft, exponential": {"method": "soft", "reward": "auto", "loss": "exponential", "shrinkage": 1.0},
}
"""Recommended: ``soft``, that is, logistic loss, shrinkage 0.5, 8 bits, auto reward."""

BITS: dict[str, dict[str, Any]] = {
    f"soft, {bits} bits": {"method": "soft", "reward": "auto", "score_bits": bits} for bits in (4, 16, 32)
}
ORDERS: dict[str, dict[str, Any]] = {
    f"{method}, {order}": base | {"order": order}
    for method, base in (("ascii", {"method": "ascii"}), ("soft", {"method": "soft", "reward": "auto"}))
    for order in ("greedy", "strongest")
}
REWARDS = ("ascii", "ascii, out-of-fold", "ascii, auto", "soft", "soft, in-sample", "soft, out-of-fold")
FEW = {
    "network": ("ascii", "ascii, auto", "soft"),
    "mix": ("ascii", "ascii, auto", "soft"),
    "boosted": ("ascii", "ascii, auto", "soft", "soft, in-sample"),
    "forest": REWARDS,
    "tree": REWARDS,
}
"""Slow learners, and those that need honest rewards anyway, are tried with some of the ways only."""
FIVE_TREES = "soft, 5 trees a turn"
"""Not the same learner: five small trees, boosted by the agent itself, are one model, and one message."""

POOLED = {
    "pooled boosting": HistGradientBoostingClassifier(max_iter=100, early_stopping=False),
    "pooled forest": RandomForestClassifier(200),
}
