"""AssistedClassifier, how it is saved and loaded, and what assistance would gain."""

from assistlearn.estimators.classifier import AssistedClassifier
from assistlearn.estimators.piloting import assistance_gain
from assistlearn.estimators.voting import load, save

__all__ = ["AssistedClassifier", "assistance_gain", "load", "save"]
