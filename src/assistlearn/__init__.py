"""Organisations that hold different columns about the same people help one of them to classify better."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from assistlearn.release import __version__ as __version__

if TYPE_CHECKING:
    from assistlearn.core import Contribution
    from assistlearn.estimators import AssistedClassifier, assistance_gain, load, save
    from assistlearn.evaluation.shares import mean_shares
    from assistlearn.events import StopReason
    from assistlearn.report.displays import AssistanceDisplay, SharesDisplay, WorthDisplay, save_report
    from assistlearn.tables.preparation import TablePreprocessor

__all__ = [
    "AssistanceDisplay",
    "AssistedClassifier",
    "Contribution",
    "SharesDisplay",
    "StopReason",
    "TablePreprocessor",
    "WorthDisplay",
    "assistance_gain",
    "load",
    "mean_shares",
    "save",
    "save_report",
]

_HOMES = {
    "AssistanceDisplay": "report.displays",
    "AssistedClassifier": "estimators",
    "Contribution": "core",
    "SharesDisplay": "report.displays",
    "StopReason": "events",
    "TablePreprocessor": "tables.preparation",
    "WorthDisplay": "report.displays",
    "assistance_gain": "estimators",
    "load": "estimators",
    "mean_shares": "evaluation.shares",
    "save": "estimators",
    "save_report": "report.displays",
}
_LAYERS = ("core", "errors", "estimators", "events", "learners", "methods", "session")


def __getattr__(name: str) -> Any:
    """Import what is asked for when it is asked for: the command line's help must not wait for scikit-learn."""
    if name in _HOMES:
        return getattr(import_module(f"assistlearn.{_HOMES[name]}"), name)
    if name in _LAYERS:
        return import_module(f"assistlearn.{name}")
    raise AttributeError(f"module 'assistlearn' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted([*__all__, *_LAYERS, "__version__"])
