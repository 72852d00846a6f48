"""What one check has found: whether all is well, and how to mend it if not."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

State = Literal["ok", "missing", "look", "wrong"]
"""``missing``: something optional is not installed. ``look``: this may be a problem. ``wrong``: this is a problem."""


@dataclass(frozen=True)
class HealthFinding:
    """What one check has found.

    Attributes
    ----------
    topic : str
        The group of checks, such as ``"Extras"``.
    name : str
        What was checked.
    state : {"ok", "missing", "look", "wrong"}
        Whether all is well.
    says : str
        What was found, in words.
    remedy : str, default=""
        What to type or to do, if something must be done.
    """

    topic: str
    name: str
    state: State
    says: str
    remedy: str = ""
