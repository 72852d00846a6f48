"""How a private estimator is fitted under an ignorance: prepare once, refit every round."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from assistlearn.learners.folds import Honesty
    from assistlearn.learners.hist import HistBoostClassifier, HistTreeClassifier
    from assistlearn.learners.learner import BestOf, Learner, Prepares
    from assistlearn.learners.model import Model, Panel

__all__ = [
    "BestOf",
    "HistBoostClassifier",
    "HistTreeClassifier",
    "Honesty",
    "Learner",
    "Model",
    "Panel",
    "Prepares",
]

_HOMES = {
    "BestOf": "learner",
    "HistBoostClassifier": "hist",
    "HistTreeClassifier": "hist",
    "Honesty": "folds",
    "Learner": "learner",
    "Model": "model",
    "Panel": "model",
    "Prepares": "learner",
}


def __getattr__(name: str) -> Any:
    """Import a name only when it is used, so that reading a run's result does not wait for scikit-learn."""
    if name in _HOMES:
        return getattr(import_module(f"assistlearn.learners.{_HOMES[name]}"), name)
    raise AttributeError(f"module 'assistlearn.learners' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(__all__)
