"""Write figures as people read them, and name them, for pages and for the command line."""

from __future__ import annotations

from collections.abc import Sequence

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
    "offset alone": "small trees over the initiator's own scores and columns, because the others did not help",
    "alone": "only the initiator's votes count, because the others did not help",
    "linear alone": "a linear model of the initiator's own scores, because the others did not help",
}
"""What a combination is, in words."""


MOST_FREQUENT, LABEL_SHARES = "the most frequent class", "the shares of the labels"
"""What an initiator with labels alone answers without help, and what its probabilities are."""


def combination_in_words(kind: str, label_only: bool = False) -> str:
    """Return what a combination is; an initiator with labels alone has no scores and no columns of its own.

    >>> combination_in_words("linear alone", label_only=True)
    'the shares of the labels, because the helpers did not help'
    """
    if not label_only:
        return COMBINATIONS.get(kind, kind)
    if kind in ("alone", "linear alone", "offset alone"):
        return f"{LABEL_SHARES}, because the helpers did not help"
    said = {"boosted": "small trees over the helpers' scores", "offset": "a weighted sum of the helpers' scores"}
    return (said | {"stack": said["boosted"]}).get(kind, COMBINATIONS.get(kind, kind))


def compared_in_words(label_only: bool) -> str:
    """Return the caption of a table of metrics, which says what it compares.

    >>> compared_in_words(label_only=True)
    'With help, and the initiator alone: the most frequent class, by the shares of the labels'
    """
    alone = f": {MOST_FREQUENT}, by {LABEL_SHARES}" if label_only else " with as many models"
    return f"With help, and the initiator alone{alone}"


def alone_in_words(what: str) -> str:
    """Return what a figure of an initiator with labels alone is based on, without help.

    >>> alone_in_words("error rate"), alone_in_words("log loss")
    ('the most frequent class', 'the shares of the labels')
    """
    return MOST_FREQUENT if what in ("accuracy", "error rate") else LABEL_SHARES


def size(n_bytes: float) -> str:
    """Return a number of bytes with a unit that people can read.

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


def percent(value: float | None) -> str:
    r"""Return a share as a percentage. A line never breaks between the number and the sign.

    >>> percent(0.8125), percent(None)
    ('81.2\xa0%', '-')
    """
    return "-" if value is None else f"{100 * value:.1f}\N{NO-BREAK SPACE}%"


def points(value: float) -> str:
    """Return a difference of shares in percentage points.

    >>> points(0.052), points(-0.1), points(0.0)
    ('+5.2', '-10.0', '+0.0')
    """
    return f"{100 * value:+.1f}"


def figure(value: float | None, digits: int = 3) -> str:
    """Return a figure, or a dash where there is none.

    >>> figure(0.12345), figure(None)
    ('0.123', '-')
    """
    return "-" if value is None else f"{value:,.{digits}f}"


def duration(seconds: float) -> str:
    """Return how long something took.

    >>> duration(0.0123), duration(75), duration(7325)
    ('0.01 s', '1 min 15 s', '2 h 2 min')
    """
    if seconds < 60.0:
        return f"{seconds:.2f} s" if seconds < 10.0 else f"{seconds:.0f} s"
    minutes, rest = divmod(round(seconds), 60)
    return f"{minutes} min {rest} s" if minutes < 60 else f"{minutes // 60:,} h {minutes % 60} min"


def listed(names: Sequence[str]) -> str:
    """Return names as a list in a sentence.

    >>> listed(["lab"]), listed(["lab", "shop", "bank"])
    ('lab', 'lab, shop and bank')
    """
    return " and ".join([", ".join(names[:-1]), names[-1]]) if len(names) > 1 else "".join(names)
