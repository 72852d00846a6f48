"""AssistedClassifier, and how it is saved and loaded."""

from assistlearn.estimators.classifier import AssistedClassifier
from assistlearn.estimators.keeping_estimators import load, save

__all__ = ["AssistedClassifier", "load", "save"]
