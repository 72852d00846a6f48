"""Organisations that hold different columns about the same people help one of them to classify better."""

from assistlearn.core import Contribution
from assistlearn.display import AssistanceDisplay
from assistlearn.estimators import AssistedClassifier, load, save
from assistlearn.session import StopReason

__all__ = ["AssistanceDisplay", "AssistedClassifier", "Contribution", "StopReason", "load", "save"]
__version__ = "0.1.0"
