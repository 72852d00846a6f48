"""AssistedClassifier, how it is saved and loaded, and what assistance would gain."""

from assistlearn.estimators.classifier import AssistedClassifier
from assistlearn.estimators.keeping_estimators import load, save
from assistlearn.estimators.piloting import assistance_gain

__all__ = ["AssistedClassifier", "assistance_gain", "load", "save"]
