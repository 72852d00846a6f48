"""Figures as people read them, and what they are called; for pages and for the command line."""

from __future__ import annotations

TITLES = {
    "accuracy": "accuracy",
    "balanced_accuracy": "balanced accuracy",
    "log_loss": "log loss (low is good)",
    "brier": "Brier (low is good)",
    "roc_auc": "ROC AUC",
    "average_precision": "average precision",
}
"""What the metrics are called."""

COMBINATIONS = {
    "sum": "they are added up",
    "linear": "a linear model of all agents' scores",
    "boosted": "small trees over all agents' scores and the initiator's own columns",
    "stack": "small trees over all agents' scores and the initiator's own columns",
    "offset": "a weighted sum of all agents' scores, and small trees over the initiator's own columns after it",
    "offset alone": "small trees over the initiator's own scores and columns, as the others did not help",
    "alone": "the initiator's alone count, as the others did not help",
    "linear alone": "a linear model of the initiator's own scores, as the others did not help",
}
"""What a combination is, in words."""


def size(n_bytes: float) -> str:
    """Return a number of bytes in people's words.

    >>> size(999), size(12_345_678)
    ('999 bytes', '12.3 MB')
    """
    for unit, factor in (("GB", 1e9), ("MB", 1e6), ("kB", 1e3)):
        if n_bytes >= factor:
            return f"{n_bytes / factor:.1f} {unit}"
    return f"{n_bytes:.0f} bytes"


def counted(number: int, noun: str) -> str:
    """Return a number with its noun.

    >>> counted(1, "sample"), counted(1200, "sample")
    ('1 sample', '1,200 samples')
    """
    return f"{number:,} {noun}" + ("" if number == 1 else "s")
